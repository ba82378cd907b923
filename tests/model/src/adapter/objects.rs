//! The Pods of a state as the API server would hand them out.
//!
//! There are few different ones, so all are made once and lent out.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{
    ContainerState, ContainerStateTerminated, ContainerStatus, Pod, PodCondition, PodStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use streaming_operator::api::meta;
use streaming_operator::core::names::{PodName, Revision, WorkloadSet};

use crate::state::{CANARY, Live, PLACES, State, is_available, revision_of};

/// Uid of the pipeline.
pub(super) const UID: &str = "uid-of-the-pipeline";
/// Uid of the pipeline of the same name that was there before.
const PREDECESSOR: &str = "uid-of-a-deleted-pipeline";

/// What a Pod is in a state.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Role {
    Failed(u8),
    First(Live),
    /// A predecessor's.
    Foreign(Live),
    /// Older than `restartAt`.
    Old(Live),
    Second(Live),
    /// The first or the second one.
    Terminating(u8),
}

impl Role {
    /// Pods of one place that can be there together have different generations.
    const fn generation(self) -> u8 {
        match self {
            Self::Failed(_) => 1,
            Self::First(_) | Self::Foreign(_) | Self::Old(_) => 2,
            Self::Second(_) => 3,
            Self::Terminating(which) => 4 + which,
        }
    }
}

/// All Pods that a state can have.
pub(super) struct Pods(BTreeMap<(usize, Role), Pod>);

impl Pods {
    pub(super) fn new() -> Self {
        let lives = |kind: fn(Live) -> Role| (1..=6).map(kind).collect::<Vec<_>>();
        let roles = [
            (1..=3).map(Role::Failed).collect(),
            lives(Role::First),
            lives(Role::Foreign),
            lives(Role::Old),
            lives(Role::Second),
            vec![Role::Terminating(0), Role::Terminating(1)],
        ]
        .concat();
        let of_place = |place| {
            roles
                .iter()
                .map(move |role| ((place, *role), pod(place, *role)))
                .collect::<Vec<_>>()
        };
        Self((0..PLACES).flat_map(of_place).collect())
    }

    /// The Pods of a state; with `too_old` marked ones are older than `restartAt`, else a predecessor's.
    pub(super) fn of(&self, state: &State, too_old: bool) -> Vec<&Pod> {
        let mut pods = Vec::new();
        for (place, there) in state.places.iter().enumerate() {
            if there.failed > 0 {
                pods.push(self.get(place, Role::Failed(there.failed)));
            }
            if there.live > 0 {
                pods.push(self.get(place, first(state, place, too_old)));
            }
            let second = state.second_of(place);
            if second > 0 {
                pods.push(self.get(place, Role::Second(second)));
            }
            pods.extend((0..there.terminating).map(|which| self.get(place, Role::Terminating(which))));
        }
        pods
    }

    pub(super) fn get(&self, place: usize, role: Role) -> &Pod {
        &self.0[&(place, role)]
    }
}

/// What the earlier live Pod of a place is.
pub(super) fn first(state: &State, place: usize, too_old: bool) -> Role {
    let live = state.places[place].live;
    match (state.is_foreign(place), too_old) {
        (true, true) => Role::Old(live),
        (true, false) => Role::Foreign(live),
        (false, _) => Role::First(live),
    }
}

/// Second 0 of the model, in which every pass is made.
pub(super) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).expect("a time")
}

/// Revision A is ten times `a`; 0, which is none of the three, ten times `0`.
pub(super) fn revision(number: u8) -> Revision {
    let digit = ['0', 'a', 'b', 'c'][usize::from(number)];
    Revision::parse(&digit.to_string().repeat(10)).expect("a revision")
}

/// The number of a revision.
pub(super) fn revision_number(revision: &Revision) -> u8 {
    match revision.as_str().chars().next() {
        Some('a') => 1,
        Some('b') => 2,
        Some('c') => 3,
        _ => 0,
    }
}

/// Name of the Pod of a role.
pub(super) fn name(place: usize, role: Role) -> PodName {
    let generation = role.generation();
    let text = if place == CANARY {
        format!("svc-canary-0-{generation}")
    } else {
        format!("svc-{place}-{generation}")
    };
    PodName::parse(&text).expect("a Pod name")
}

/// Uid of the Pod of a role: it tells both.
pub(super) fn uid(place: usize, role: Role) -> String {
    let kind = match role {
        Role::Failed(_) => "failed",
        Role::First(_) | Role::Foreign(_) | Role::Old(_) => "first",
        Role::Second(_) => "second",
        Role::Terminating(0) => "terminating",
        Role::Terminating(_) => "terminating-too",
    };
    format!("{place}/{kind}")
}

fn pod(place: usize, role: Role) -> Pod {
    let (revision_is, created) = match role {
        Role::Failed(revision) => (revision, -40),
        Role::First(live) | Role::Foreign(live) => (revision_of(live), -30),
        Role::Old(live) => (revision_of(live), -1000),
        Role::Second(live) => (revision_of(live), -20),
        Role::Terminating(_) => (0, -50),
    };
    let owner = if matches!(role, Role::Foreign(_)) {
        PREDECESSOR
    } else {
        UID
    };
    let (set, ordinal) = if place == CANARY {
        (WorkloadSet::Canary, 0)
    } else {
        (WorkloadSet::Primary, place)
    };
    let labels = [
        (meta::LABEL_MANAGED_BY, meta::MANAGED_BY_VALUE.to_owned()),
        (meta::LABEL_OWNER_UID, owner.to_owned()),
        (meta::LABEL_WORKLOAD_SET, set.to_string()),
        (meta::LABEL_ORDINAL, ordinal.to_string()),
        (meta::LABEL_GENERATION, role.generation().to_string()),
        (meta::LABEL_REVISION, revision(revision_is).to_string()),
    ];
    let annotations = [
        (meta::ANNOTATION_FAILURES, "0"),
        (meta::ANNOTATION_OWNER_NAME, "pipeline"),
        (meta::ANNOTATION_OWNER_NAMESPACE, "ns"),
    ];
    Pod {
        metadata: ObjectMeta {
            name: Some(name(place, role).to_string()),
            namespace: Some("ns".to_owned()),
            uid: Some(uid(place, role)),
            creation_timestamp: Some(Time(at(created))),
            deletion_timestamp: matches!(role, Role::Terminating(_)).then(|| Time(at(30))),
            labels: Some(labels.map(|(key, value)| (key.to_owned(), value)).into()),
            annotations: Some(
                annotations
                    .map(|(key, value)| (key.to_owned(), value.to_owned()))
                    .into(),
            ),
            ..ObjectMeta::default()
        },
        spec: None,
        status: Some(status(role)),
    }
}

fn status(role: Role) -> PodStatus {
    let phase = |phase: &str| PodStatus {
        phase: Some(phase.to_owned()),
        ..PodStatus::default()
    };
    let ready = PodCondition {
        type_: "Ready".to_owned(),
        status: "True".to_owned(),
        last_transition_time: Some(Time(at(-2000))),
        ..PodCondition::default()
    };
    let ended = ContainerStateTerminated {
        exit_code: 1,
        reason: Some("Error".to_owned()),
        finished_at: Some(Time(at(-35))),
        ..ContainerStateTerminated::default()
    };
    match role {
        Role::Failed(_) => PodStatus {
            container_statuses: Some(vec![ContainerStatus {
                name: "consumer".to_owned(),
                state: Some(ContainerState {
                    terminated: Some(ended),
                    ..ContainerState::default()
                }),
                ..ContainerStatus::default()
            }]),
            ..phase("Failed")
        },
        Role::First(live) | Role::Foreign(live) | Role::Old(live) | Role::Second(live) if is_available(live) => {
            PodStatus {
                conditions: Some(vec![ready]),
                ..phase("Running")
            }
        }
        Role::First(_) | Role::Foreign(_) | Role::Old(_) | Role::Second(_) => phase("Pending"),
        Role::Terminating(_) => phase("Running"),
    }
}
