//! What the variables of queries stand for: what the command line says, and for the rest what the live target has. Must never
//! guess: a query about no Pods has an answer too, and it would be the wrong one.

use super::super::server::Server;
use crate::analyses::{TargetNames, look_once};
use crate::api::rollout_analysis::TargetKind;
use crate::client::in_words;
use crate::core::analysis::valid::ValidAnalysis;
use crate::core::analysis::variables::{Variable, Variables};

/// A variable and what it stands for, of the command line.
#[derive(Clone, Debug)]
pub(super) struct Given {
    variable: Variable,
    value: String,
}

/// Reads NAME=VALUE.
pub(super) fn parse(text: &str) -> Result<Given, String> {
    let (name, value) = text
        .split_once('=')
        .ok_or("must be NAME=VALUE, such as canaryPods=a,b")?;
    let names: Vec<_> = Variable::ALL.iter().map(|variable| variable.name()).collect();
    let variable =
        Variable::of(name).ok_or_else(|| format!("{name:?} is no variable; there are {}", names.join(", ")))?;
    Ok(Given {
        variable,
        value: value.to_owned(),
    })
}

/// The queries of an analysis, as they are asked.
pub(super) struct Queries {
    /// Namespace of the target.
    pub(super) namespace: String,
    /// Revision of the target, where it is known.
    pub(super) revision: Option<String>,
    /// A query for each metric, in the order of the spec.
    pub(super) of_metrics: Vec<String>,
}

/// Why the variables of an analysis stand for nothing.
pub(super) struct Unresolved {
    /// For people.
    pub(super) why: String,
    /// Whether the API server could not be asked.
    pub(super) is_outage: bool,
}

/// Finds out what variables stand for. Asks the API server only where it must.
pub(super) struct Resolver<'a> {
    given: &'a [Given],
    workload_namespace: Option<&'a str>,
    server: Option<Server>,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(given: &'a [Given], workload_namespace: Option<&'a str>) -> Self {
        Self {
            given,
            workload_namespace,
            server: None,
        }
    }

    /// The queries of an analysis whose manifest names that namespace, or none.
    pub(super) fn resolve(&mut self, namespace: Option<&str>, analysis: &ValidAnalysis) -> Result<Queries, Unresolved> {
        let is_missing = |variable: Variable| self.given(variable).is_none();
        let mut missing = analysis.metrics.iter().flat_map(|metric| metric.query.variables());
        let looked_up = missing.find(|variable| variable.is_looked_up() && is_missing(*variable));
        let live = match looked_up {
            Some(variable) => Some(self.look(namespace, analysis, variable)?),
            None => None,
        };
        let (namespace, live) = match live {
            Some((namespace, live)) => (namespace, Some(live)),
            None => (self.namespace(namespace), None),
        };
        let revision = self.given(Variable::Revision).map(str::to_owned);
        let revision = revision.or_else(|| live.as_ref().map(|live| live.revision.clone()));
        let live = live.unwrap_or_default();
        let pods = |variable, live: Vec<String>| {
            let split = |value: &str| {
                value
                    .split(',')
                    .filter(|name| !name.is_empty())
                    .map(str::to_owned)
                    .collect()
            };
            self.given(variable).map_or(live, split)
        };
        let (canary_pods, primary_pods) = (
            pods(Variable::CanaryPods, live.updated_pods),
            pods(Variable::PrimaryPods, live.current_pods),
        );
        let variables = Variables {
            namespace: &namespace,
            name: self.given(Variable::Name).unwrap_or(&analysis.target.name),
            revision: revision.as_deref().unwrap_or_default(),
            canary_pods: &canary_pods,
            primary_pods: &primary_pods,
        };
        let of_metrics = analysis.metrics.iter().map(|metric| metric.query.resolve(&variables));
        Ok(Queries {
            of_metrics: of_metrics.collect(),
            namespace,
            revision,
        })
    }

    /// The last value that the command line gives to a variable.
    fn given(&self, variable: Variable) -> Option<&str> {
        let mut given = self.given.iter().rev();
        given
            .find(|given| given.variable == variable)
            .map(|given| given.value.as_str())
    }

    fn namespace(&self, of_manifest: Option<&str>) -> String {
        let of_server = self.server.as_ref().map(|server| server.namespace.as_str());
        let given = self.given(Variable::Namespace).or(of_manifest).or(of_server);
        given.unwrap_or("default").to_owned()
    }

    /// The namespace of the target and what it has there, for the sake of `variable`.
    fn look(
        &mut self,
        namespace: Option<&str>,
        analysis: &ValidAnalysis,
        variable: Variable,
    ) -> Result<(String, TargetNames), Unresolved> {
        self.server.get_or_insert_with(Server::connect);
        let namespace = self.namespace(namespace);
        let target = &analysis.target;
        let kind = match target.kind {
            TargetKind::StreamingPipeline => "StreamingPipeline",
            TargetKind::Deployment => "Deployment",
        };
        let named = format!("{kind} {namespace}/{}", target.name);
        let wanted = variable.name();
        let unresolved = |what: String, is_outage| Unresolved {
            why: format!("{what}, so nobody knows what $({wanted}) stands for; say it with --var {wanted}=…"),
            is_outage,
        };
        let Some(server) = &self.server else {
            return Err(unresolved("the API server was not asked".to_owned(), true));
        };
        let (runtime, client) = server
            .connection()
            .map_err(|why| unresolved(format!("the API server cannot be asked: {why}"), true))?;
        let look = look_once(client, &namespace, self.workload_namespace, target);
        match runtime.block_on(look) {
            Ok(Some(live)) => Ok((namespace, live)),
            Ok(None) => Err(unresolved(
                format!("there is no {named}, or no revision of it yet"),
                false,
            )),
            Err(error) => Err(unresolved(
                format!("{named} cannot be looked at: {}", in_words(&error)),
                true,
            )),
        }
    }
}
