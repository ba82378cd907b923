//! Builders of the tests of analyses.

use std::time::Duration;

use jiff::Timestamp;

use crate::api::analysis_status::Outcome;
use crate::api::rollout_analysis::{AnalysisMode, AnalysisTarget, OnNoData, TargetKind};

use super::answer::QueryError;
use super::judge::{Measured, Reading};
use super::run::Run;
use super::target::TargetFacts;
use super::valid::{Limits, ValidAnalysis, ValidMetric};
use super::variables::QueryTemplate;

/// A second of the tests' time.
pub(super) fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_767_225_600 + second).expect("a time")
}

/// 3 failures fail, 2 passes pass, every 30 s.
pub(super) fn analysis() -> ValidAnalysis {
    ValidAnalysis {
        target: AnalysisTarget {
            kind: TargetKind::StreamingPipeline,
            name: "p".to_owned(),
        },
        metrics: vec![ValidMetric {
            name: "p99-latency".to_owned(),
            query: QueryTemplate::parse("up").expect("a query"),
            limits: Limits {
                max: Some(0.25),
                min: None,
            },
            source: "default".to_owned(),
        }],
        interval: Duration::from_secs(30),
        failure_limit: 3,
        required_passes: 2,
        initial_delay: Duration::ZERO,
        on_no_data: OnNoData::Pause,
        mode: AnalysisMode::Enforce,
    }
}

/// A target that rolls out revision `bbbbbbbbbb`, of which a Pod is available.
pub(super) fn target() -> TargetFacts {
    TargetFacts {
        uid: "t".to_owned(),
        revision: "bbbbbbbbbb".to_owned(),
        rolling: true,
        available: true,
        can_hold: true,
        resume: None,
        updated_pods: vec!["p-canary-0-1".to_owned()],
        current_pods: vec!["p-0-1".to_owned()],
    }
}

pub(super) fn ended() -> TargetFacts {
    TargetFacts {
        rolling: false,
        can_hold: false,
        ..target()
    }
}

pub(super) fn unavailable() -> TargetFacts {
    TargetFacts {
        available: false,
        ..target()
    }
}

/// A measurement with that outcome.
pub(super) fn measured(outcome: Outcome) -> Measured {
    let value = match outcome {
        Outcome::Pass => Some(0.2),
        Outcome::Fail => Some(0.31),
        Outcome::NoData | Outcome::Error => None,
    };
    Measured {
        outcome,
        worst: value.map(|value| Reading {
            metric: "p99-latency".to_owned(),
            value,
            limit: 0.25,
            is_max: true,
        }),
        metrics: Vec::new(),
        error: (outcome == Outcome::Error).then(|| QueryError::Unavailable("default answers 503".to_owned())),
        without_data: (outcome == Outcome::NoData).then(|| "p99-latency".to_owned()),
    }
}

/// The run of `target` after measurements with these outcomes, 30 s apart.
pub(super) fn after(analysis: &ValidAnalysis, target: &TargetFacts, outcomes: &[Outcome]) -> Run {
    let (run, _) = Run::default().enter(analysis, target, false, at(0));
    go_on(run, analysis, target, outcomes)
}

/// The same from a run on.
pub(super) fn go_on(run: Run, analysis: &ValidAnalysis, target: &TargetFacts, outcomes: &[Outcome]) -> Run {
    let mut now = run.measured_at.unwrap_or(at(0));
    let mut run = run;
    for outcome in outcomes {
        now += jiff::SignedDuration::from_secs(30);
        let (entered, _) = run.enter(analysis, target, false, now);
        run = entered.count(analysis, target, &measured(*outcome), now, now);
    }
    run
}
