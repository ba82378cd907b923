//! The table of warnings: what each is called, and what it says. `docs/rules.md` is printed from here.
//!
//! Must never lack a name: a test compares with those in the source.

use super::UNKNOWN_FIELD;

/// What is admitted and should still be said.
#[derive(Clone, Copy, Debug)]
pub struct WarningRule {
    /// Its name; an API, as `rule` of the output of `validate`.
    pub name: &'static str,
    /// Everything it says; what stands in braces depends on the object.
    pub messages: &'static [&'static str],
}

/// Every warning, by name.
pub const WARNING_RULES: &[WarningRule] = &[
    WarningRule {
        name: "canary-without-replicas",
        messages: &["has no effect with fewer than 2 replicas"],
    },
    WarningRule {
        name: "emergency-patch",
        messages: &["is in force: it overrides what is rendered until it is removed"],
    },
    WarningRule {
        name: "grace-period",
        messages: &[
            "is {seconds}: under 30 a consumer may not commit",
            "is {seconds}: a Pod's place stays empty that long",
        ],
    },
    WarningRule {
        name: "image-and-config",
        messages: &["changes together with pipeline_config: if it goes wrong, either may be the cause"],
    },
    WarningRule {
        name: "image-tag",
        messages: &["has no tag, or latest: which version runs depends on when a node pulled it"],
    },
    WarningRule {
        name: "liveness-without-health",
        messages: &["not true: liveness kills it every 310 s"],
    },
    WarningRule {
        name: "more-warnings",
        messages: &["and {number} more warnings"],
    },
    WarningRule {
        name: "no-effect",
        messages: &[
            "has no effect: the operator manages Pods, not a Deployment",
            "reaches no Pod: no Deployment is made",
            "reaches no Pod; labels and annotations do",
        ],
    },
    WarningRule {
        name: "scale-to-zero",
        messages: &["goes from {replicas} to 0: every consumer stops"],
    },
    WarningRule {
        name: "single-replica-failed",
        messages: &["with 1 replica, no consumer runs until the new Pod is available"],
    },
    WarningRule {
        name: "suspend",
        messages: &["every consumer stops until it is false again"],
    },
    WarningRule {
        name: UNKNOWN_FIELD,
        messages: &[
            "is an unknown field: kubectl refuses it, other clients drop it",
            "is no field of a Deployment: it reaches no Pod",
            "is unknown to this release: passed on",
        ],
    },
];
