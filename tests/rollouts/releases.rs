//! What earlier releases left behind (`tests/fixtures/releases`), put into the store before this operator starts: it goes
//! on without a restart. How a fixture is made: CONTRIBUTING.md, "Release".

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::assets;
use testkit::wait::{self, Seen};

use super::bed::{Bed, SOON, condition, image};
use super::pods::Pods;

const OWNER_UID: &str = "/metadata/labels/streams.sentry.io~1owner-uid";

/// The folders of all releases.
fn releases() -> Vec<PathBuf> {
    let folder = assets::repository().join("tests/fixtures/releases");
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    folders.sort();
    assert!(!folders.is_empty(), "there is no fixture of a release");
    folders
}

/// The objects of a fixture, in the namespace of a bed, with uids of their own: the garbage collector knows objects by uid.
/// `load` is one hex digit for each test.
fn read(file: &Path, namespace: &str, load: char) -> Vec<Value> {
    let mut text = std::fs::read_to_string(file).unwrap();
    let first: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for object in first {
        let uid = object["metadata"]["uid"].as_str().unwrap();
        text = text.replace(uid, &format!("{load}{}", &uid[1..]));
    }
    let text = text.replace("\"releases\"", &format!("\"{namespace}\""));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn of_kind<'a>(objects: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    objects.iter().filter(move |object| object["kind"] == kind)
}

/// Name and uid of each.
fn identities<'a>(objects: impl Iterator<Item = &'a Value>) -> BTreeMap<String, String> {
    let text = |object: &Value, key: &str| object["metadata"][key].as_str().unwrap().to_owned();
    objects
        .map(|object| (text(object, "name"), text(object, "uid")))
        .collect()
}

impl Bed {
    /// Waits until the operator has looked at every pipeline of a fixture and has nothing left to write.
    async fn until_looked_at(&self, objects: &[Value]) {
        let names: Vec<String> = identities(of_kind(objects, "StreamingPipeline")).into_keys().collect();
        let look = async || {
            let metrics = self.operator().metrics().await?;
            let unseen = |name: &&String| !metrics.contains(&format!("name=\"{name}\""));
            let unseen: Vec<&String> = names.iter().filter(unseen).collect();
            let mark = self.mark().await;
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            let writes = self.writes_since(mark).await.len();
            Ok(Seen::when((unseen, writes), |(unseen, writes)| {
                unseen.is_empty() && *writes == 0
            }))
        };
        wait::until("every pipeline to be looked at", SOON, look).await.unwrap();
    }

    /// Starts the operator over a fixture: nothing happens to any Pod.
    async fn takes_over_without_a_write_to_a_pod(&mut self, objects: &[Value]) {
        self.cluster.store(objects).await.unwrap();
        let mark = self.mark().await;
        self.run().await;
        self.until_looked_at(objects).await;
        assert_eq!(self.pod_writes_since(mark).await, Vec::<String>::new());
        let pods = self.list("pods").await;
        assert_eq!(identities(pods.iter()), identities(of_kind(objects, "Pod")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_touches_no_pod_and_the_next_edit_and_the_next_failure_go_as_ever() {
    for release in releases() {
        let mut bed = Bed::new("upgrade", &[]).await;
        let objects = read(&release.join("objects.jsonl"), &bed.namespace, 'a');
        bed.takes_over_without_a_write_to_a_pod(&objects).await;
        for before in of_kind(&objects, "StreamingPipeline") {
            let name = before["metadata"]["name"].as_str().unwrap();
            let after = bed.pipeline(name).await;
            for field in ["currentRevision", "updateRevision", "generations", "totalReplicas"] {
                assert_eq!(after["status"][field], before["status"][field], "{name} {field}");
            }
            assert_eq!(
                condition(&after, "Ready")["reason"],
                condition(before, "Ready")["reason"]
            );
        }
        // Back to the revision before: its ControllerRevision and ConfigMap are that release's.
        bed.edit("single", image("1")).await;
        let single = bed.until_ready("single").await;
        assert_eq!(single["status"]["replicas"], json!({"primary": 1}));
        let stored = bed.list("controllerrevisions").await;
        let before = identities(of_kind(&objects, "ControllerRevision"));
        assert_eq!(identities(stored.iter()), before, "nothing is stored twice");
        // On from where it was paused.
        bed.edit(
            "halfway",
            json!({"spec": {"rollout": {"paused": false, "requireAnalysis": false}}}),
        )
        .await;
        bed.until_ready("halfway").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_that_renders_differently_restarts_nothing_and_heals_with_what_was_stored() {
    for release in releases() {
        let mut bed = Bed::new("renders", &[]).await;
        let objects = read(&release.join("other-renderer.jsonl"), &bed.namespace, 'b');
        let other = |pod: &Value| pod.to_string().contains("\"--verbosity\"");
        assert!(
            of_kind(&objects, "Pod").all(other),
            "the fixture differs from what we render"
        );
        bed.takes_over_without_a_write_to_a_pod(&objects).await;
        let is_first = |pod: &&Value| pod["metadata"]["annotations"]["streams.sentry.io/owner-name"] == "single";
        let lost = of_kind(&objects, "Pod").find(is_first).unwrap()["metadata"]["name"].clone();
        bed.kubectl(&["delete", "pod", lost.as_str().unwrap()]).await.unwrap();
        let look = async || {
            let pods = bed.list("pods").await;
            let new = pods
                .into_iter()
                .find(|pod| is_first(&pod) && pod["metadata"]["name"] != lost);
            Ok(new.map_or(Seen::NotYet("none yet".to_owned()), Seen::Yes))
        };
        let made = wait::until("the lost Pod to be made again", SOON, look).await.unwrap();
        assert!(other(&made), "made of the stored template: {made}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_status_touches_no_pod_and_the_current_revision_is_found_again() {
    for release in releases() {
        let mut bed = Bed::new("lost-status", &[]).await;
        let mut objects = read(&release.join("objects.jsonl"), &bed.namespace, 'c');
        let before = objects.clone();
        for object in objects
            .iter_mut()
            .filter(|object| object["kind"] == "StreamingPipeline")
        {
            object.as_object_mut().unwrap().remove("status");
        }
        bed.takes_over_without_a_write_to_a_pod(&objects).await;
        for before in of_kind(&before, "StreamingPipeline") {
            let name = before["metadata"]["name"].as_str().unwrap();
            let after = bed.pipeline(name).await;
            let current = |pipeline: &Value| pipeline["status"]["currentRevision"].clone();
            assert_eq!(current(&after), current(before), "{name}");
        }
    }
}

/// What a restore from backup makes: pipelines with new uids and without status, and beside them Pods, ConfigMaps and
/// revisions that carry the old ones. References to owners that are not there are dropped, or the garbage collector would
/// remove all of it.
fn restored(objects: &mut Vec<Value>) {
    for object in objects.iter_mut() {
        if object["kind"] == "StreamingPipeline" {
            object.as_object_mut().unwrap().remove("status");
            let uid = object["metadata"]["uid"].as_str().unwrap().replace('-', "");
            let (a, b) = (&uid[8..16], &uid[..8]);
            object["metadata"]["uid"] = json!(format!(
                "{a}-{}-4{}-8{}-{b}{}",
                &uid[16..20],
                &uid[20..23],
                &uid[23..26],
                &uid[26..30]
            ));
        } else {
            object["metadata"].as_object_mut().unwrap().remove("ownerReferences");
        }
    }
    // One that is paused keeps what it has: that is another test's.
    objects.retain(|object| {
        let owner = object["metadata"]["annotations"]["streams.sentry.io/owner-name"].as_str();
        owner != Some("halfway") && object["metadata"]["name"] != "halfway"
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_restore_from_backup_every_pod_is_replaced_within_the_budget() {
    // Ready ones of each at the least: replicas - maxUnavailable, and one where there is only one.
    let floors = [
        ("canary", 2),
        ("segment-zero", 1),
        ("segment-one", 1),
        ("single", 1),
        ("processes", 1),
        ("patched", 1),
    ];
    for release in releases() {
        let mut bed = Bed::new("restored", &[]).await;
        let mut objects = read(&release.join("objects.jsonl"), &bed.namespace, 'd');
        restored(&mut objects);
        bed.cluster.store(&objects).await.unwrap();
        let pods = Pods::watch(&bed.admin, &bed.namespace);
        let there = of_kind(&objects, "Pod").count();
        let look = async || Ok(Seen::when(pods.now().len(), |seen| *seen == there));
        wait::until("the witness to see all Pods", SOON, look).await.unwrap();
        for (name, _) in floors {
            pods.fewest_ready(name);
        }
        bed.run().await;
        for (name, floor) in floors {
            bed.until_ready(name).await;
            let fewest = pods.fewest_ready(name);
            assert!(fewest >= floor, "{name} had {fewest} Ready Pods");
        }
        let uids: Vec<Value> = of_kind(&objects, "StreamingPipeline")
            .map(|pipeline| pipeline["metadata"]["uid"].clone())
            .collect();
        for pod in bed.list("pods").await {
            let owner = pod.pointer(OWNER_UID).unwrap();
            assert!(
                uids.contains(owner),
                "{} is of a pipeline that is gone",
                pod["metadata"]["name"]
            );
        }
    }
}
