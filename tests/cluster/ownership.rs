//! Whose an object is, its owner-uid label says: what is not the pipeline's is neither changed nor deleted.

use serde_json::{Value, json};
use testkit::users;
use testkit::wait::{self, Seen};

use super::release::{Release, SOON, pipeline};

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_pod_under_our_name_stays_as_it_is_and_the_pipeline_says_name_collision() {
    let release = Release::get().await;
    let namespace = release.cluster.namespace("foreign-pod").await.unwrap();
    let foreign = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "svc-pipeline-p-0-1-0", "namespace": namespace, "labels": {"app": "someone-elses"}},
        "spec": {"containers": [{"name": "c", "image": "registry.example/other:1"}]},
    });
    release.cluster.apply(&[foreign]).await.unwrap();
    release.cluster.apply(&[pipeline(&namespace, "p", 3)]).await.unwrap();
    release.until_ready_is(&namespace, "p", "False/NameCollision").await;
    let stands = release.get_object(&namespace, "pod", "svc-pipeline-p-0-1-0").await;
    assert_eq!(stands["metadata"]["labels"], json!({"app": "someone-elses"}));
    assert_eq!(stands["metadata"]["deletionTimestamp"], Value::Null);
    assert_untouched_by_us(release, &namespace, "svc-pipeline-p-0-1-0");

    // When the name is free the pipeline goes on by itself.
    let delete = [
        "delete",
        "pod",
        "svc-pipeline-p-0-1-0",
        "--namespace",
        &namespace,
        "--grace-period=0",
        "--force",
    ];
    release.cluster.kubectl(&delete).await.unwrap();
    release.until_ready_is(&namespace, "p", "True/Ready").await;
    assert_eq!(release.list(&namespace, "pods").await.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_with_our_label_that_nobody_answers_for_holds_its_own_place_and_is_named() {
    let release = Release::get().await;
    let namespace = release.cluster.namespace("stray-pod").await.unwrap();
    let name = "svc-pipeline-p-0-1-4";
    let stray = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": {
            "streams.sentry.io/managed-by": "streaming-operator",
            "streams.sentry.io/owner-uid": "9f0c6a3e-0000-4000-8000-000000000000",
        }},
        "spec": {"containers": [{"name": "c", "image": "registry.example/other:1"}]},
    });
    release.cluster.apply(&[stray]).await.unwrap();
    release.cluster.apply(&[pipeline(&namespace, "p", 3)]).await.unwrap();
    release.until_ready_is(&namespace, "p", "False/NameCollision").await;
    let said = release.get_object(&namespace, "spipe", "p").await;
    let conditions = said["status"]["conditions"].as_array().unwrap();
    for type_ in ["Ready", "Applied"] {
        let condition = conditions.iter().find(|condition| condition["type"] == type_).unwrap();
        let message = condition["message"].as_str().unwrap();
        assert!(message.contains(name), "{type_}: {message}");
    }
    let told = async || {
        let events = release.list(&namespace, "events.events.k8s.io").await;
        let notes = events.iter().filter(|event| event["reason"] == "NameCollision");
        let notes: Vec<String> = notes.map(|event| event["note"].to_string()).collect();
        Ok(Seen::when(notes, |notes| notes.iter().any(|note| note.contains(name))))
    };
    wait::until("an Event that names the Pod", SOON, told).await.unwrap();
    assert_untouched_by_us(release, &namespace, name);

    // Another Pod of the pipeline is healed as ever.
    let lost = release.get_object(&namespace, "pod", "svc-pipeline-p-0-2-0").await;
    let delete = ["delete", "pod", "svc-pipeline-p-0-2-0", "--namespace", &namespace];
    release.cluster.kubectl(&delete).await.unwrap();
    let healed = async || {
        let pods = release.list(&namespace, "pods").await;
        let of_place = pods.into_iter().filter(|pod| {
            pod["metadata"]["labels"]["streams.sentry.io/ordinal"] == "2"
                && pod["metadata"]["uid"] != lost["metadata"]["uid"]
        });
        Ok(Seen::when(of_place.count(), |count| *count == 1))
    };
    wait::until("the lost Pod of ordinal 2 to be made again", SOON, healed)
        .await
        .unwrap();

    let delete = [
        "delete",
        "pod",
        name,
        "--namespace",
        &namespace,
        "--grace-period=0",
        "--force",
    ];
    release.cluster.kubectl(&delete).await.unwrap();
    release.until_ready_is(&namespace, "p", "True/Ready").await;
    assert_eq!(release.list(&namespace, "pods").await.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_config_map_under_our_name_stays_as_it_is_and_the_pipeline_says_name_collision() {
    let release = Release::get().await;
    // Its name depends on the config alone, so a first pipeline tells it.
    let elsewhere = release.cluster.namespace("config-name").await.unwrap();
    release.cluster.apply(&[pipeline(&elsewhere, "p", 1)]).await.unwrap();
    release.until_ready_is(&elsewhere, "p", "True/Ready").await;
    let config_maps = release.list(&elsewhere, "configmaps").await;
    let ours = config_maps
        .iter()
        .map(|object| object["metadata"]["name"].as_str().unwrap());
    let name = ours
        .into_iter()
        .find(|name| name.starts_with("svc-pipeline-p-0-"))
        .unwrap();

    let namespace = release.cluster.namespace("foreign-config").await.unwrap();
    let foreign = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": {"mine": "yes"},
    });
    release.cluster.apply(&[foreign]).await.unwrap();
    let before = release.get_object(&namespace, "configmap", name).await;
    release.cluster.apply(&[pipeline(&namespace, "p", 1)]).await.unwrap();
    release.until_ready_is(&namespace, "p", "False/NameCollision").await;
    assert_eq!(release.get_object(&namespace, "configmap", name).await, before);
    assert_eq!(
        release.list(&namespace, "pods").await,
        Vec::<Value>::new(),
        "no Pod mounts another's config"
    );
    assert_untouched_by_us(release, &namespace, name);
}

/// No write of ours to that object succeeded.
fn assert_untouched_by_us(release: &Release, namespace: &str, name: &str) {
    let records = release.cluster.audit().now().unwrap();
    let ours = records
        .iter()
        .filter(|record| record.user == users::OPERATOR && record.is_write() && record.succeeded());
    let touched: Vec<String> = ours
        .filter(|record| record.namespace == namespace && record.name == name)
        .map(ToString::to_string)
        .collect();
    assert_eq!(touched, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn creates_are_plain_deletes_carry_a_uid_and_nothing_made_is_ever_changed() {
    let release = Release::get().await;
    let namespace = release.cluster.namespace("plain").await.unwrap();
    release.cluster.apply(&[pipeline(&namespace, "p", 3)]).await.unwrap();
    release.until_ready_is(&namespace, "p", "True/Ready").await;
    let patch = |patch: &'static str| {
        let namespace = namespace.clone();
        async move {
            let arguments = [
                "patch",
                "spipe",
                "p",
                "--namespace",
                &namespace,
                "--type=merge",
                "--patch",
                patch,
            ];
            release.cluster.kubectl(&arguments).await.unwrap();
        }
    };
    // A new image, another config, fewer Pods, and no history: every kind of delete there is.
    patch(r#"{"spec": {"image_name": "registry.example/consumer:2"}}"#).await;
    release.until_ready_is(&namespace, "p", "True/Ready").await;
    patch(r#"{"spec": {"pipeline_config": {"env": {"a": "b"}}, "revisionHistoryLimit": 0}}"#).await;
    release.until_ready_is(&namespace, "p", "True/Ready").await;
    patch(r#"{"spec": {"replicas": 1}}"#).await;
    release.until_ready_is(&namespace, "p", "True/Ready").await;

    let admin = release.cluster.admin().await.unwrap();
    let records = release
        .cluster
        .audit()
        .since_by(users::OPERATOR, testkit::audit::Mark::default(), &admin)
        .await
        .unwrap();
    let made = ["pods", "configmaps", "controllerrevisions"];
    let writes: Vec<_> = records
        .iter()
        .filter(|record| record.is_write() && record.namespace == namespace && made.contains(&record.resource.as_str()))
        .collect();
    let deletes: Vec<_> = writes.iter().filter(|record| record.verb == "delete").collect();
    for kind in made {
        assert!(
            deletes.iter().any(|record| record.resource == kind),
            "no delete of {kind} was seen"
        );
    }
    for delete in deletes {
        assert!(delete.preconditions.uid.is_some(), "{delete}");
    }
    for write in writes {
        match write.verb.as_str() {
            "create" | "delete" => {}
            // That a revision has completed is noted on it; its content stays.
            "patch" if write.resource == "controllerrevisions" => {
                let body = write.body.as_ref().unwrap();
                assert_eq!(body.get("data"), None, "{write}");
                assert!(body["metadata"]["uid"].is_string(), "{write}");
            }
            _ => panic!("{write}"),
        }
    }
    for object in release.list(&namespace, "configmaps").await {
        let ours = object["metadata"]["labels"]["streams.sentry.io/managed-by"] == "streaming-operator";
        assert!(!ours || object["immutable"] == true, "{object}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_deleted_pipeline_of_the_same_name_left_behind_is_replaced_pod_by_pod() {
    let release = Release::get().await;
    let namespace = release.cluster.namespace("predecessor").await.unwrap();
    release.cluster.apply(&[pipeline(&namespace, "p", 3)]).await.unwrap();
    release.until_ready_is(&namespace, "p", "True/Ready").await;
    let before = release.get_object(&namespace, "spipe", "p").await;
    let delete = ["delete", "spipe", "p", "--namespace", &namespace, "--cascade=orphan"];
    release.cluster.kubectl(&delete).await.unwrap();
    assert_eq!(release.list(&namespace, "pods").await.len(), 3, "orphans");
    release.cluster.apply(&[pipeline(&namespace, "p", 3)]).await.unwrap();
    release.until_ready_is(&namespace, "p", "True/Ready").await;
    let after = release.get_object(&namespace, "spipe", "p").await;
    assert_ne!(before["metadata"]["uid"], after["metadata"]["uid"]);
    let label = |object: &Value| object["metadata"]["labels"]["streams.sentry.io/owner-uid"].clone();
    let uid = &after["metadata"]["uid"];
    let pods = release.list(&namespace, "pods").await;
    assert_eq!(pods.len(), 3);
    assert!(pods.iter().all(|pod| label(pod) == *uid), "{pods:#?}");
    let config_maps = release.list(&namespace, "configmaps").await;
    let ours = config_maps.iter().filter(|object| label(object) != Value::Null);
    assert_eq!(ours.map(label).collect::<Vec<_>>(), std::slice::from_ref(uid));
}
