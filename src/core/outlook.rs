//! Where a rollout stands for somebody who waits for its end, read from the status alone. Must never say "done" of a spec
//! that the status was not computed from.

use crate::api::{Condition, ConditionStatus, ConditionType, Reason, StoredPipeline};

/// Where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outlook {
    /// All is as the spec asks.
    Done,
    /// It goes on by itself.
    UnderWay,
    /// A person paused it, and there is work left.
    Paused,
    /// It does not go on without a person.
    Failed,
}

/// Where the rollout of a pipeline stands, and why in words: `Reason: message` of its condition Ready.
#[must_use]
pub fn outlook(pipeline: &StoredPipeline) -> (Outlook, String) {
    let status = &pipeline.status;
    if status.observed_generation != pipeline.metadata.generation {
        return (
            Outlook::UnderWay,
            "the operator has not looked at this spec yet".to_owned(),
        );
    }
    let Some(ready) = condition(&status.conditions, ConditionType::Ready) else {
        return (Outlook::UnderWay, "the operator has not looked at it yet".to_owned());
    };
    let words = if ready.message.is_empty() {
        ready.reason.clone()
    } else {
        format!("{}: {}", ready.reason, ready.message)
    };
    let holds = |type_| condition(&status.conditions, type_).is_some_and(is_true);
    let outlook = if is_true(ready) {
        Outlook::Done
    } else if !holds(ConditionType::Stalled) {
        Outlook::UnderWay
    } else if ready.reason == Reason::RolloutPaused.as_str() {
        Outlook::Paused
    } else {
        Outlook::Failed
    };
    (outlook, words)
}

fn condition(conditions: &[Condition], type_: ConditionType) -> Option<&Condition> {
    conditions.iter().find(|condition| condition.type_ == type_.as_str())
}

fn is_true(condition: &Condition) -> bool {
    condition.status == ConditionStatus::True.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(generation: i64, ready: &str, reason: &str, stalled: &str) -> (Outlook, String) {
        let pipeline = json!({
            "metadata": {"name": "p", "generation": generation},
            "status": {"observedGeneration": 2, "conditions": [
                {"type": "Ready", "status": ready, "reason": reason, "message": "why"},
                {"type": "Stalled", "status": stalled, "reason": reason, "message": "why"}]}});
        // From text, as the API server sends it: its parts are read as they stand there.
        outlook(&serde_json::from_str(&pipeline.to_string()).expect("a pipeline"))
    }

    #[test]
    fn it_is_done_when_it_is_ready_for_the_spec_as_it_is() {
        assert_eq!(
            told(2, "True", "Ready", "False"),
            (Outlook::Done, "Ready: why".to_owned())
        );
        assert_eq!(told(3, "True", "Ready", "False").0, Outlook::UnderWay);
    }

    #[test]
    fn a_rollout_that_stalls_has_failed_unless_a_person_paused_it() {
        assert_eq!(told(2, "False", "RollingOut", "False").0, Outlook::UnderWay);
        assert_eq!(told(2, "False", "ProgressDeadlineExceeded", "True").0, Outlook::Failed);
        assert_eq!(told(2, "False", "RolledBack", "True").0, Outlook::Failed);
        assert_eq!(told(2, "False", "RolloutPaused", "True").0, Outlook::Paused);
    }

    #[test]
    fn a_pipeline_that_nobody_has_looked_at_is_under_way() {
        let pipeline = r#"{"metadata": {"generation": 1}, "status": {"observedGeneration": -1}}"#;
        let pipeline = serde_json::from_str(pipeline).expect("a pipeline");
        assert_eq!(outlook(&pipeline).0, Outlook::UnderWay);
    }
}
