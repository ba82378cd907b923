use serde_json::json;

use super::*;

const TTL: Duration = Duration::from_secs(30);

fn id(name: &str) -> PipelineId {
    PipelineId {
        namespace: "ns".to_owned(),
        name: name.to_owned(),
    }
}

fn names_in(namespace: &str, service: &str, pipeline: &str, segment: i64) -> NameSet {
    let spec = json!({
        "service_name": service, "pipeline_name": pipeline, "pipeline_module": "m", "image_name": "i:1",
        "cpu_per_process": 1, "memory_per_process": 1, "deployment_template": {}, "container_template": {},
        "pipeline_config": {}, "segment_id": segment,
    });
    let spec = serde_json::from_value(spec).expect("a spec");
    NameSet::of(namespace, "object", &spec)
}

fn names(service: &str, pipeline: &str, segment: i64) -> NameSet {
    names_in("work", service, pipeline, segment)
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time")
}

fn holder_beside(existing: &NameSet, asked: &NameSet) -> Option<String> {
    let mut index = NameIndex::default();
    index.insert(id("first"), existing.clone());
    index
        .collision(&id("second"), asked, at(0))
        .map(|collision| collision.holder.name)
}

#[test]
fn spellings_of_one_name_collide() {
    for spelling in ["a.b", "a_b", "A-b"] {
        assert_eq!(
            holder_beside(&names("svc", "a-b", 0), &names("svc", spelling, 0)),
            Some("first".to_owned()),
            "{spelling}"
        );
    }
    assert_eq!(
        holder_beside(&names("a", "b-pipeline-c", 0), &names("a-pipeline-b", "c", 0)),
        Some("first".to_owned())
    );
}

#[test]
fn names_that_only_begin_alike_do_not_collide() {
    for (pipeline, segment) in [("a-1", 0), ("a-0", 0), ("a-0-0", 0), ("a", 1), ("a-canary", 0)] {
        assert_eq!(
            holder_beside(&names("svc", "a", 0), &names("svc", pipeline, segment)),
            None,
            "{pipeline} {segment}"
        );
    }
}

/// The argument in the module's comment, tried: no Pod name of one base is a Pod name of another.
#[test]
fn the_base_is_read_back_from_every_pod_name_in_one_way() {
    use crate::core::names::PodName;
    for base in ["a-1", "a-1-0", "a-1-0-0", "a-1-0-canary", "a-1-2-3-4"] {
        for numbers in ["0-0", "0-9999", "998-0", "12-345"] {
            let name = PodName::parse(&format!("{base}-{numbers}")).expect("a Pod name");
            assert_eq!(name.base.as_str(), base);
        }
    }
}

#[test]
fn pipelines_of_two_namespaces_collide_where_they_share_a_workload_namespace() {
    assert!(holder_beside(&names_in("w", "s", "p", 0), &names_in("w", "s", "p", 0)).is_some());
    assert!(holder_beside(&names_in("w", "s", "p", 0), &names_in("v", "s", "p", 0)).is_none());
}

#[test]
fn a_collision_names_the_holder_and_the_name() {
    let mut index = NameIndex::default();
    index.insert(id("first"), names("svc", "a.b", 3));
    assert_eq!(
        index.collision(&id("second"), &names("svc", "a-b", 3), at(0)),
        Some(Collision {
            holder: id("first"),
            name: "svc-pipeline-a-b-3-canary".to_owned(),
            namespace: "work".to_owned(),
        })
    );
    assert_eq!(index.rivals(&id("second"), &names("svc", "a-b", 3)), [id("first")]);
}

#[test]
fn a_pipeline_never_collides_with_itself_and_frees_its_names_when_it_is_gone() {
    let mut index = NameIndex::default();
    index.insert(id("first"), names("s", "p", 0));
    assert_eq!(index.collision(&id("first"), &names("s", "p", 0), at(0)), None);
    index.insert(id("first"), names("s", "q", 0));
    assert_eq!(index.collision(&id("second"), &names("s", "p", 0), at(0)), None);
    assert!(index.collision(&id("second"), &names("s", "q", 0), at(0)).is_some());
    index.remove(&id("first"));
    assert_eq!(index.collision(&id("second"), &names("s", "q", 0), at(0)), None);
}

#[test]
fn one_of_two_that_share_a_name_keeps_it_when_the_other_goes() {
    let mut index = NameIndex::default();
    index.insert(id("first"), names("s", "p", 0));
    index.insert(id("second"), names("s", "p", 0));
    assert_eq!(index.rivals(&id("first"), &names("s", "p", 0)), [id("second")]);
    index.remove(&id("first"));
    assert!(index.collision(&id("third"), &names("s", "p", 0), at(0)).is_some());
}

#[test]
fn a_reservation_holds_until_it_expires_and_its_owner_may_renew_it() {
    let mut index = NameIndex::default();
    let wanted = names("s", "p", 0);
    assert_eq!(index.reserve(&id("first"), &wanted, at(0), TTL), Ok(()));
    assert!(index.reserve(&id("second"), &wanted, at(29), TTL).is_err());
    assert_eq!(index.reserve(&id("first"), &wanted, at(20), TTL), Ok(()));
    assert!(index.reserve(&id("second"), &wanted, at(49), TTL).is_err(), "renewed");
    assert_eq!(index.reserve(&id("second"), &wanted, at(50), TTL), Ok(()));
    assert!(index.collision(&id("first"), &wanted, at(51)).is_some());
}

#[test]
fn reservations_do_not_pile_up() {
    let mut index = NameIndex::default();
    for second in 0..100 {
        let wanted = names("s", &format!("p{second}"), 0);
        assert_eq!(index.reserve(&id("first"), &wanted, at(second * 30), TTL), Ok(()));
    }
    assert_eq!(index.reservations.len(), 2);
    assert_eq!(index.expiring.len(), 2);
}

#[test]
fn a_reservation_that_is_renewed_again_and_again_is_kept_once() {
    let mut index = NameIndex::default();
    let wanted = names("s", "p", 0);
    for second in 0..100 {
        assert_eq!(index.reserve(&id("first"), &wanted, at(second), TTL), Ok(()));
    }
    assert_eq!(index.expiring.len(), 2);
    index.insert(id("first"), wanted);
    assert_eq!(index.expiring.len(), 0);
}

#[test]
fn a_pipeline_that_was_seen_needs_its_reservation_no_more() {
    let mut index = NameIndex::default();
    let wanted = names("s", "p", 0);
    assert_eq!(index.reserve(&id("first"), &wanted, at(0), TTL), Ok(()));
    index.insert(id("first"), wanted.clone());
    index.remove(&id("first"));
    assert_eq!(index.collision(&id("second"), &wanted, at(1)), None);
}

#[test]
fn a_name_belongs_to_who_uses_it_then_to_the_older_then_to_the_lesser_uid() {
    let claim = |name: &str, created, uid: &str, in_use| Claim {
        pipeline: id(name),
        created: at(created),
        uid: uid.to_owned(),
        in_use,
    };
    let winner = |claims: &[Claim]| rightful_holder(claims).map(|claim| claim.pipeline.name.clone());
    assert_eq!(
        winner(&[claim("old", 1, "a", false), claim("user", 2, "b", true)]),
        Some("user".to_owned())
    );
    assert_eq!(
        winner(&[claim("young", 2, "a", true), claim("old", 1, "b", true)]),
        Some("old".to_owned())
    );
    assert_eq!(
        winner(&[claim("b", 1, "b", false), claim("a", 1, "a", false)]),
        Some("a".to_owned())
    );
    assert_eq!(winner(&[]), None);
}
