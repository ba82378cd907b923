//! A pipeline as a tree for people: pipeline, workload sets, Pods, and of each Pod why it is not as it should be. Must never
//! leave a Pod out.

use std::fmt::Write as _;

use crate::api::status::PodReport;
use crate::api::{StoredPipeline, StreamingPipelineStatus};

use super::outlook::outlook;

/// A Pod as far as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Leaf {
    /// Its workload set, as its label has it; empty for a Pod of the Python operator.
    pub set: String,
    /// Its name.
    pub name: String,
    /// Its revision, as its label has it.
    pub revision: String,
    /// Its phase.
    pub phase: String,
    /// Whether it is Ready.
    pub ready: bool,
    /// Whether it is being deleted.
    pub terminating: bool,
}

impl Leaf {
    fn state(&self, status: &StreamingPipelineStatus) -> String {
        let state = match (self.terminating, self.ready) {
            (true, _) => "Terminating",
            (false, true) => "Ready",
            (false, false) => &self.phase,
        };
        match reports(status).find(|report| report.name == self.name) {
            Some(report) => {
                let parts = [report.reason.as_deref(), report.message.as_deref()];
                let why: Vec<&str> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
                format!("{state}  {}", why.join(": "))
            }
            None => state.to_owned(),
        }
    }
}

fn reports(status: &StreamingPipelineStatus) -> impl Iterator<Item = &PodReport> {
    let pods = status.pods.iter();
    pods.flat_map(|pods| pods.permanent_errors.iter().chain(&pods.unhealthy_pods))
}

/// The tree, each line with its end.
#[must_use]
pub fn tree(pipeline: &StoredPipeline, pods: &[Leaf]) -> String {
    let status = &pipeline.status;
    let name = pipeline.metadata.name.as_deref().unwrap_or_default();
    let phase = status.rollout.as_ref().map_or("", |rollout| rollout.phase.as_str());
    let (_, words) = outlook(pipeline);
    let mut text = format!("{name}  {phase}  {words}\n");
    let mut pods: Vec<&Leaf> = pods.iter().collect();
    pods.sort();
    let sets: Vec<&[&Leaf]> = pods.chunk_by(|a, b| a.set == b.set).collect();
    for (number, set) in sets.iter().enumerate() {
        let is_last = number + 1 == sets.len();
        let (branch, stem) = if is_last {
            ("└─", "   ")
        } else {
            ("├─", "│  ")
        };
        let name = set.first().map_or("", |pod| pod.set.as_str());
        let name = if name.is_empty() { "legacy" } else { name };
        let ready = set.iter().filter(|pod| pod.ready && !pod.terminating).count();
        // A String takes every write.
        let _ = writeln!(text, "{branch} {name}  {ready} of {} ready", set.len());
        for (number, pod) in set.iter().enumerate() {
            let branch = if number + 1 == set.len() { "└─" } else { "├─" };
            let _ = writeln!(
                text,
                "{stem}{branch} {}  {}  {}",
                pod.name,
                pod.revision,
                pod.state(status)
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIPELINE: &str = r#"{
        "metadata": {"name": "checkout", "generation": 1},
        "status": {"observedGeneration": 1, "rollout": {"phase": "Progressing"},
            "pods": {"unhealthyPods": [{"name": "c-0-1-2", "reason": "ErrImagePull", "message": "not found"}]},
            "conditions": [{"type": "Ready", "status": "False", "reason": "RollingOut", "message": "1/3 pods not ready"}]}}"#;

    fn leaf(set: &str, name: &str, ready: bool) -> Leaf {
        Leaf {
            set: set.to_owned(),
            name: name.to_owned(),
            revision: "a1b2c3d4e5".to_owned(),
            phase: if ready { "Running" } else { "Pending" }.to_owned(),
            ready,
            terminating: false,
        }
    }

    #[test]
    fn every_pod_stands_under_its_set_with_the_reason_that_the_status_has() {
        let pipeline = serde_json::from_str(PIPELINE).expect("a pipeline");
        let leaving = Leaf {
            terminating: true,
            ..leaf("primary", "c-0-0-1", true)
        };
        let pods = [
            leaf("primary", "c-0-1-2", false),
            leaf("canary", "c-canary-0-0-0", true),
            leaving,
        ];
        assert_eq!(
            tree(&pipeline, &pods),
            "checkout  Progressing  RollingOut: 1/3 pods not ready\n\
             ├─ canary  1 of 1 ready\n\
             │  └─ c-canary-0-0-0  a1b2c3d4e5  Ready\n\
             └─ primary  0 of 2 ready\n   \
                ├─ c-0-0-1  a1b2c3d4e5  Terminating\n   \
                └─ c-0-1-2  a1b2c3d4e5  Pending  ErrImagePull: not found\n"
        );
    }

    #[test]
    fn a_pipeline_without_pods_is_one_line() {
        let pipeline = serde_json::from_str(PIPELINE).expect("a pipeline");
        assert_eq!(tree(&pipeline, &[]).lines().count(), 1);
    }
}
