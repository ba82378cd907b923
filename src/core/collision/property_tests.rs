//! Two pipelines are told to meet exactly when some Pod or ConfigMap of the one could have the name of one of the other.

use std::collections::HashSet;

use jiff::Timestamp;
use proptest::prelude::*;

use super::{NameIndex, NameSet, PipelineId};
use crate::api::StreamingPipelineSpec;
use crate::core::names::{WorkloadSet, base_name};

/// Parts of names that look like what the operator puts between and behind them.
fn part() -> impl Strategy<Value = String> {
    let words = ["a", "b", "pipeline", "canary", "0", "1", "A", "", "é"];
    let word = proptest::sample::select(words.to_vec());
    let joint = proptest::sample::select(vec!["-", "_", ".", ""]);
    proptest::collection::vec((word, joint), 1..5)
        .prop_map(|words| words.into_iter().flat_map(|(word, joint)| [word, joint]).collect())
}

fn spec(service: &str, pipeline: &str, segment: i64) -> StreamingPipelineSpec {
    let spec = serde_json::json!({
        "service_name": service, "pipeline_name": pipeline, "pipeline_module": "m", "image_name": "i:1",
        "cpu_per_process": 1, "memory_per_process": 1, "deployment_template": {}, "container_template": {},
        "pipeline_config": {}, "segment_id": segment,
    });
    serde_json::from_value(spec).expect("a spec")
}

/// Some of the names that Pods and, behind a slash, ConfigMaps of a pipeline can have: enough that two pipelines which
/// have any in common have one of these.
fn names(spec: &StreamingPipelineSpec) -> HashSet<String> {
    let pipeline = spec.pipeline_name.as_deref().unwrap_or_default();
    let base = |set| base_name(&spec.service_name, pipeline, spec.segment_id, set);
    let mut names = HashSet::new();
    for set in WorkloadSet::ALL {
        for ordinal in ["0", "1", "998"] {
            for generation in ["0", "1", "9999"] {
                names.insert(format!("{}-{ordinal}-{generation}", base(set)));
            }
        }
    }
    for hash in ["0000000000", "1111111111", "abcdef0123"] {
        names.insert(format!("configmap/{}-{hash}", base(WorkloadSet::Primary)));
    }
    names
}

fn id(name: &str) -> PipelineId {
    PipelineId {
        namespace: "ns".to_owned(),
        name: name.to_owned(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn two_pipelines_meet_exactly_when_they_could_have_a_name_in_common(
        one in (part(), part(), 0..3_i64),
        other in (part(), part(), 0..3_i64),
        same_letters in any::<bool>(),
    ) {
        let one = spec(&one.0, &one.1, one.2);
        // Unrelated ones seldom meet: half of the time the same letters are cut elsewhere.
        let other = if same_letters {
            let whole = format!("{}-pipeline-{}", one.service_name, one.pipeline_name.clone().unwrap_or_default());
            let (service, pipeline) = whole.rsplit_once("-pipeline-").unwrap_or((&whole, "a"));
            spec(&service.to_uppercase(), &pipeline.replace('-', "_"), other.2)
        } else {
            spec(&other.0, &other.1, other.2)
        };
        let mut index = NameIndex::default();
        index.insert(id("one"), NameSet::of("ns", "one", &one));
        let told = index.collision(&id("other"), &NameSet::of("ns", "other", &other), Timestamp::UNIX_EPOCH).is_some();
        // Names that are too long for any Pod are refused by another rule, and are in nobody's way.
        let fits = |spec: &StreamingPipelineSpec| !NameSet::of("ns", "x", spec).names.is_empty();
        let meet = fits(&one) && fits(&other) && !names(&one).is_disjoint(&names(&other));
        prop_assert_eq!(told, meet, "{:?} {:?}", names(&one), names(&other));
    }
}
