//! One attempt at a measurement: all queries at once, each within a time. Must never outlast its deadline.

use std::time::Duration;

use futures::future::join_all;

use super::context::AnalysisContext;
use crate::core::analysis::judge::{Asked, Measured, judge};
use crate::core::analysis::target::TargetFacts;
use crate::core::analysis::valid::ValidAnalysis;
use crate::core::analysis::variables::Variables;

/// Asks for every metric and judges the answers.
pub(super) async fn measure(
    ctx: &AnalysisContext,
    namespace: &str,
    analysis: &ValidAnalysis,
    target: &TargetFacts,
    deadline: Duration,
) -> Measured {
    let variables = Variables {
        namespace,
        name: &analysis.target.name,
        revision: &target.revision,
        canary_pods: &target.updated_pods,
        primary_pods: &target.current_pods,
    };
    let asked = analysis.metrics.iter().map(|metric| {
        let query = metric.query.resolve(&variables);
        async move {
            let answer = ctx.sources.ask(&metric.source, &query, deadline).await;
            (metric, Asked { query, answer })
        }
    });
    judge(&join_all(asked).await)
}
