use super::*;

/// A Deployment of 2 replicas whose controller has made rollout 2.
fn deployment(generation: i64, updated: i32, available: i32) -> StoredDeployment {
    let text = format!(
        r#"{{"metadata":{{"name":"d","uid":"t","generation":{generation},
            "annotations":{{"deployment.kubernetes.io/revision":"2","streams.sentry.io/resume":"RESUME"}}}},
            "spec":{{"replicas":2,"template":{{"metadata":{{"labels":{{"app":"a"}}}},"spec":{{"containers":[{{"image":"i:1","name":"c"}}]}}}}}},
            "status":{{"observedGeneration":3,"updatedReplicas":{updated},"availableReplicas":{available}}}}}"#
    );
    serde_json::from_str(&text).expect("a Deployment")
}

fn owned(text: &str, owner: &str) -> String {
    format!(
        r#"{{{text},"ownerReferences":[{{"apiVersion":"v1","kind":"K","name":"n","uid":"{owner}","controller":true}}]}}"#
    )
}

/// The ReplicaSets of rollouts 1 and 2, and one of another Deployment.
fn replica_sets(available: i32) -> Vec<ReplicaSet> {
    let set = |uid: &str, rollout: &str, owner: &str, available: i32| {
        let metadata = format!(r#""uid":"{uid}","annotations":{{"deployment.kubernetes.io/revision":"{rollout}"}}"#);
        let (metadata, status) = (
            owned(&metadata, owner),
            format!(r#"{{"replicas":1,"availableReplicas":{available}}}"#),
        );
        let text = format!(r#"{{"metadata":{metadata},"status":{status}}}"#);
        serde_json::from_str(&text).expect("a ReplicaSet")
    };
    vec![
        set("old", "1", "t", 2),
        set("new", "2", "t", available),
        set("foreign", "2", "other", 9),
    ]
}

fn pods() -> Vec<ObjectMeta> {
    let pod = |name: &str, owner: &str, more: &str| {
        let text = owned(&format!(r#""name":"{name}"{more}"#), owner);
        serde_json::from_str(&text).expect("metadata")
    };
    vec![
        pod("d-old-1", "old", ""),
        pod("d-new-2", "new", ""),
        pod("d-new-1", "new", ""),
        pod("d-new-0", "new", r#","deletionTimestamp":"2026-01-01T00:00:00Z""#),
        pod("foreign", "foreign", ""),
    ]
}

#[test]
fn the_revision_is_the_digest_of_the_template() {
    let facts = facts(&deployment(3, 1, 2), &replica_sets(1), &pods());
    // printf '{"metadata":{"labels":{"app":"a"}},"spec":{"containers":[{"image":"i:1","name":"c"}]}}' | sha256sum
    assert_eq!(
        facts.revision,
        "d1becd612e646464fc6e9bfcf3f6e264ba208cea33cd059eae9ba1c02f463d54"
    );
    assert_eq!(facts.uid, "t");
}

#[test]
fn it_rolls_out_while_its_controller_lags_or_pods_are_not_updated_or_not_available() {
    let rolling = |generation, updated, available| {
        facts(&deployment(generation, updated, available), &replica_sets(1), &pods()).rolling
    };
    assert!(rolling(4, 2, 2), "lags");
    assert!(rolling(3, 1, 2), "not updated");
    assert!(rolling(3, 2, 1), "not available");
    assert!(!rolling(3, 2, 2));
}

#[test]
fn a_pod_of_the_revision_is_available_when_its_newest_replica_set_has_one() {
    let available = |generation, updated, of_newest| {
        facts(&deployment(generation, updated, 2), &replica_sets(of_newest), &pods()).available
    };
    assert!(available(3, 1, 1));
    assert!(!available(3, 1, 0));
    assert!(!available(4, 1, 1), "the newest set may be that of the template before");
    assert!(
        !available(3, 0, 1),
        "the template was changed while it is paused: it has no set yet"
    );
}

#[test]
fn pods_are_told_apart_by_the_set_that_they_belong_to() {
    let facts = facts(&deployment(3, 1, 2), &replica_sets(1), &pods());
    assert_eq!(facts.updated_pods, ["d-new-1", "d-new-2"]);
    assert_eq!(facts.current_pods, ["d-old-1"]);
}

#[test]
fn an_order_names_the_revision_by_its_first_digits() {
    let resume = |order: &str| {
        let mut live = deployment(3, 2, 2);
        let annotations = live.metadata.annotations.get_or_insert_default();
        annotations.insert("streams.sentry.io/resume".to_owned(), order.to_owned());
        facts(&live, &[], &[]).resume.map(|(_, time)| time.as_second())
    };
    assert_eq!(resume("d1becd612e@2026-01-01T00:00:07.9Z"), Some(1_767_225_607));
    assert_eq!(resume("0123456789@2026-01-01T00:00:07Z"), None);
    assert_eq!(resume("d1becd612@2026-01-01T00:00:07Z"), None);
    assert_eq!(resume("d1becd612e"), None);
}
