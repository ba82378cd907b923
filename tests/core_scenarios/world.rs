//! A pipeline, the cluster it runs in, and what the operator keeps of it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use streaming_operator::api::{OnFailure, PodReplacementPolicy, StreamingPipelineStatus};
use streaming_operator::core::in_flight::Ledger;
use streaming_operator::core::names::{BaseName, PodName, Revision};
use streaming_operator::core::observed::PipelineFacts;
use streaming_operator::core::plan::{AnalysisVerdict, DeleteReason, PodPlan, Wanted};
use streaming_operator::core::settings::Settings;

use crate::cluster::{ANOTHER, Cluster, SimPod};
use crate::defects::Defect;
use crate::tally::Tally;

/// A pipeline, the cluster it runs in, and the operator.
#[allow(clippy::struct_excessive_bools, reason = "independent switches of what happens")]
pub(crate) struct World {
    pub(crate) cluster: Cluster,
    /// Uid of the pipeline; each life has one of its own.
    pub(crate) uid: String,
    /// What the spec asks for when it can be rendered.
    pub(crate) spec: Wanted,
    pub(crate) unrendered: bool,
    pub(crate) generation: i64,
    pub(crate) annotations: BTreeMap<String, String>,
    /// The Pods run in a namespace of their own.
    pub(crate) remote: bool,
    pub(crate) has_finalizer: bool,
    pub(crate) deleting: bool,
    /// Another pipeline has the names.
    pub(crate) collides: bool,
    pub(crate) status: StreamingPipelineStatus,
    pub(crate) ledger: Ledger,
    pub(crate) settings: Settings,
    pub(crate) analysis: AnalysisVerdict,
    /// People and faults are done.
    pub(crate) calm: bool,
    /// No Pod can be created.
    pub(crate) quota_full: bool,
    /// Uids of the Pods that the operator deleted since it started last.
    pub(crate) deleted: BTreeSet<String>,
    /// Why the operator deleted Pods, by uid, whether it remembers or not.
    pub(crate) deleted_for: BTreeMap<String, DeleteReason>,
    /// A pass that was shown everything had nothing to write, and nothing happened since.
    pub(crate) seen: bool,
    /// Names given out in this life of the pipeline.
    given_out: BTreeSet<PodName>,
    /// Pods of others as they were made.
    pub(crate) others: Vec<SimPod>,
    pub(crate) defect: Option<Defect>,
    pub(crate) tally: Tally,
    /// What each pass did to Pods, in a line.
    pub(crate) written: Vec<String>,
    /// Reasons of the Events about the rollout.
    pub(crate) told: Vec<&'static str>,
    /// What happened, to be printed with a failure.
    pub(crate) log: Vec<String>,
}

pub(crate) fn revision(digit: char) -> Revision {
    Revision::parse(&digit.to_string().repeat(10)).expect("a hex digit")
}

impl World {
    pub(crate) fn new(replicas: u16, digit: char) -> Self {
        let mut cluster = Cluster::new();
        Self {
            uid: format!("pipeline-{}", cluster.new_uid()),
            cluster,
            spec: Wanted {
                revision: Some(revision(digit)),
                config_map: Some(format!("svc-{digit}")),
                primary: BaseName::parse("svc").expect("a name"),
                canary: BaseName::parse("svc-canary"),
                replicas,
                with_canary: false,
                suspend: false,
                paused: false,
                max_unavailable: 1,
                min_ready: SignedDuration::ZERO,
                progress_deadline: SignedDuration::from_secs(600),
                policy: PodReplacementPolicy::TerminatingOrFailed,
                restart_at: None,
                require_analysis: false,
                on_failure: OnFailure::Pause,
                history_limit: 2,
            },
            unrendered: false,
            generation: 1,
            annotations: BTreeMap::new(),
            remote: false,
            has_finalizer: false,
            deleting: false,
            collides: false,
            status: StreamingPipelineStatus::default(),
            ledger: Ledger::default(),
            settings: Settings::default(),
            analysis: AnalysisVerdict::None,
            calm: false,
            quota_full: false,
            deleted: BTreeSet::new(),
            deleted_for: BTreeMap::new(),
            seen: false,
            given_out: BTreeSet::new(),
            others: Vec::new(),
            defect: None,
            tally: Tally::default(),
            written: Vec::new(),
            told: Vec::new(),
            log: Vec::new(),
        }
    }

    /// What the spec asks for as it is now.
    pub(crate) fn wanted(&self) -> Wanted {
        let mut wanted = self.spec.clone();
        if self.unrendered {
            wanted.revision = None;
            wanted.config_map = None;
        }
        wanted
    }

    pub(crate) fn edit(&mut self, what: &str, edit: impl FnOnce(&mut Wanted)) {
        edit(&mut self.spec);
        self.generation += 1;
        self.log.push(format!("USER {what}"));
    }

    pub(crate) fn edit_to(&mut self, digit: char) {
        self.unrendered = false;
        self.edit(&format!("edits to revision {digit}"), |wanted| {
            wanted.revision = Some(revision(digit));
            wanted.config_map = Some(format!("svc-{digit}"));
        });
    }

    pub(crate) fn pipeline(&self) -> PipelineFacts {
        PipelineFacts {
            namespace: "ns".to_owned(),
            name: "pipeline".to_owned(),
            uid: self.uid.clone(),
            generation: Some(self.generation),
            deleting: self.deleting,
            has_finalizer: self.has_finalizer,
            annotations: self.annotations.clone(),
            workload_namespace: if self.remote { "workloads" } else { "ns" }.to_owned(),
        }
    }

    /// The pipeline is gone, and made again: nothing is known of it but what its objects say.
    pub(crate) fn gone(&mut self) {
        self.log.push("the pipeline is gone, and is made again".to_owned());
        self.uid = format!("pipeline-{}", self.cluster.new_uid());
        self.generation = 1;
        self.annotations.clear();
        self.status = StreamingPipelineStatus::default();
        self.ledger = Ledger::default();
        self.cluster.restart(&mut self.ledger);
        self.deleted.clear();
        self.given_out.clear();
        self.deleting = false;
        self.has_finalizer = false;
    }

    /// A name is given out; within one life never twice.
    pub(crate) fn note_generation(&mut self, plan: &PodPlan) {
        let new = self.given_out.insert(plan.name.clone());
        assert!(new, "{} was given out before", plan.name);
    }

    /// The operator died before it could record what it gave out: a Pod that is gone by then leaves no trace.
    pub(crate) fn forget_unrecorded(&mut self) {
        let recorded = self.status.generations.clone().unwrap_or_default();
        let is_recorded = |name: &PodName| {
            let set = if name.base.as_str() == "svc" {
                &recorded.primary
            } else {
                &recorded.canary
            };
            let last = set.get(&name.ordinal.to_string());
            last.is_some_and(|last| *last >= name.generation.get())
        };
        let names = std::mem::take(&mut self.given_out);
        self.given_out = names.into_iter().filter(is_recorded).collect();
    }

    /// Its own Pods and those of its former lives.
    pub(crate) fn pods(&self) -> impl Iterator<Item = &SimPod> {
        self.cluster.pods.values().filter(|pod| pod.owner != ANOTHER)
    }

    /// Answers come late: the shell looks for Pods whose create got none.
    pub(crate) fn find_unanswered(&mut self) {
        let names: Vec<String> = self.ledger.unanswered().map(str::to_owned).collect();
        for name in names {
            match self.cluster.pods.get(&name).filter(|pod| pod.owner == self.uid) {
                Some(pod) => self.ledger.created(&name, &pod.uid.clone()),
                None => self.ledger.not_created(&name),
            }
        }
    }
}
