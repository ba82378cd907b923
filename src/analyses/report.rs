//! Publishes what happened to an analysis, and counts it. Must never fail a pass.

use k8s_openapi::api::core::v1::ObjectReference;

use super::context::AnalysisContext;
use super::pass::Visit;
use crate::api::analysis_status::Verdict;
use crate::api::meta::{ANALYSIS_KIND, API_VERSION, KIND};
use crate::api::rollout_analysis::TargetKind;
use crate::api::{AnalysisConditionType, ConditionStatus, RolloutAnalysisStatus};
use crate::controller::report::publish_as;
use crate::core::analysis::notices::notices;
use crate::core::analysis::status::previous;
use crate::telemetry::labels::AnalysisVerdict;

/// Publishes what happened since the status was `before`, as far as it is written down.
pub(super) async fn happened(ctx: &AnalysisContext, visit: &Visit, before: &RolloutAnalysisStatus) {
    let metadata = &visit.stored.metadata;
    let analysis = ObjectReference {
        api_version: Some(API_VERSION.to_owned()),
        kind: Some(ANALYSIS_KIND.to_owned()),
        name: metadata.name.clone(),
        namespace: metadata.namespace.clone(),
        uid: metadata.uid.clone(),
        resource_version: metadata.resource_version.clone(),
        ..ObjectReference::default()
    };
    let target = target(visit);
    for notice in notices(before, &visit.stored.status) {
        let (reason, warns) = (notice.reason.as_str(), notice.reason.is_warning());
        publish_as(&ctx.base, &analysis, reason, warns, &notice.message).await;
        if let Some(target) = target.as_ref().filter(|_| notice.of_target) {
            let message = format!("analysis {}: {}", visit.id.name, notice.message);
            publish_as(&ctx.base, target, reason, warns, &message).await;
        }
    }
}

/// The target, if it is there.
fn target(visit: &Visit) -> Option<ObjectReference> {
    let (names, facts) = (visit.names.as_ref()?, visit.facts()?);
    let (api_version, kind) = match names.kind {
        TargetKind::StreamingPipeline => (API_VERSION, KIND),
        TargetKind::Deployment => ("apps/v1", "Deployment"),
    };
    Some(ObjectReference {
        api_version: Some(api_version.to_owned()),
        kind: Some(kind.to_owned()),
        name: Some(names.name.clone()),
        namespace: Some(visit.id.namespace.clone()),
        uid: Some(facts.uid.clone()),
        ..ObjectReference::default()
    })
}

/// Counts the analysis by its verdict.
pub(super) fn figures(ctx: &AnalysisContext, visit: &Visit) {
    let status = &visit.stored.status;
    let verdict = match status.verdict {
        Some(Verdict::Measuring) => AnalysisVerdict::Measuring,
        Some(Verdict::Passed) => AnalysisVerdict::Passed,
        Some(Verdict::Failed) => AnalysisVerdict::Failed,
        Some(Verdict::Unavailable) => AnalysisVerdict::Unavailable,
        Some(Verdict::Pending) | None => AnalysisVerdict::Pending,
    };
    let is_unavailable = previous(status, AnalysisConditionType::MetricsUnavailable)
        .is_some_and(|condition| condition.status == ConditionStatus::True.as_str());
    let (namespace, name) = (&visit.id.namespace, &visit.id.name);
    ctx.base.metrics.analyses.saw(namespace, name, verdict, is_unavailable);
}
