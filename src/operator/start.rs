//! Before anything starts: is the API server there, does it know our kind, may we do what we have to? Waits for the first
//! and names what is missing of the others. Must never ask for a right that is not used.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::time::{sleep, timeout};

use super::settings::{Certificate, Settings};
use crate::api::manifests::is_established;
use crate::api::meta::{ANALYSIS_PLURAL, GROUP, PLURAL};
use crate::certs::secret::SECRET_NAME;
use crate::client::in_words;

/// Time between two attempts to reach the API server.
const RETRY: Duration = Duration::from_secs(2);
/// How long one question may take.
const ANSWER: Duration = Duration::from_secs(10);
/// How many questions are asked at once.
const QUESTIONS_AT_ONCE: usize = 8;

/// Everything that the operator does to the API server.
#[derive(Debug)]
pub(super) struct Rights(Vec<Right>);

/// Which of our kinds the API server knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kinds {
    /// All of them.
    All,
    /// Pipelines alone, as an earlier release installed them. There are no analyses then.
    WithoutAnalyses,
}

/// One verb on one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Right {
    verb: &'static str,
    group: &'static str,
    /// With its subresource after a slash.
    resource: &'static str,
    /// `None`: in all namespaces, or of the cluster.
    namespace: Option<String>,
    /// `None`: of any name.
    name: Option<String>,
    /// Whether it is for what the operator keeps in its own namespace.
    own: bool,
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        if let Some(name) = &self.name {
            write!(f, " {name}")?;
        }
        match &self.namespace {
            Some(namespace) => write!(f, " in namespace {namespace}"),
            None => Ok(()),
        }
    }
}

impl Right {
    /// Whether analyses alone need it.
    fn is_for_analyses(&self) -> bool {
        self.resource.starts_with(ANALYSIS_PLURAL)
    }

    /// Which role of the chart grants it.
    fn role(&self) -> String {
        match &self.namespace {
            Some(namespace) if self.own => format!("Role {}-own in namespace {namespace}", super::NAME),
            Some(namespace) => format!("Role {} in namespace {namespace}", super::NAME),
            None => format!("ClusterRole {}", super::NAME),
        }
    }
}

impl Rights {
    /// What a run with these settings does; `namespace` is the operator's own.
    pub(super) fn of(settings: &Settings, namespace: &str) -> Self {
        let mut rights = Self(Vec::new());
        let watched: Vec<Option<&str>> = match settings.watch_namespaces.as_slice() {
            [] => vec![None],
            namespaces => namespaces.iter().map(|name| Some(name.as_str())).collect(),
        };
        for place in &watched {
            rights.add(GROUP, PLURAL, &["list", "watch"], *place, None);
        }
        if settings.controller_enabled {
            for place in &watched {
                rights.add(GROUP, PLURAL, &["get", "patch"], *place, None);
                rights.add(GROUP, "streamingpipelines/status", &["update"], *place, None);
                // Asked of whoever sets an owner reference that blocks deletion, where the admission plugin
                // OwnerReferencesPermissionEnforcement is on: no Pod could be made without it.
                rights.add(GROUP, "streamingpipelines/finalizers", &["update"], *place, None);
                let verbs = ["get", "list", "watch", "create", "patch", "delete"];
                rights.add("apps", "controllerrevisions", &verbs, *place, None);
                rights.add("events.k8s.io", "events", &["create", "patch"], *place, None);
                rights.add(GROUP, ANALYSIS_PLURAL, &["get", "list", "watch"], *place, None);
                rights.add(GROUP, "rolloutanalyses/status", &["update"], *place, None);
                if settings.deployment_targets {
                    rights.add("apps", "deployments", &["get", "list", "watch", "patch"], *place, None);
                    rights.add("apps", "replicasets", &["list"], *place, None);
                    rights.add("", "pods", &["list"], *place, None);
                }
            }
            let workloads = match &settings.workload_namespace {
                Some(namespace) => vec![Some(namespace.as_str())],
                None => watched,
            };
            for place in workloads {
                for resource in ["pods", "configmaps"] {
                    rights.add("", resource, &["get", "list", "watch", "create", "delete"], place, None);
                }
                // Of orphans, whose pipeline has no place of its own any more.
                if settings
                    .workload_namespace
                    .as_ref()
                    .is_some_and(|name| !settings.is_watched(name))
                {
                    rights.add("events.k8s.io", "events", &["create", "patch"], place, None);
                }
                if settings.legacy.takeover {
                    rights.add(
                        "apps",
                        "deployments",
                        &["list", "watch", "patch", "delete"],
                        place,
                        None,
                    );
                }
                // The namespace itself, which a Role within it may grant.
                rights.add("", "namespaces", &["get"], place, place);
            }
        }
        rights.0.extend(Self::own(settings, namespace));
        if let Some(webhook) = &settings.webhook {
            for resource in ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"] {
                let verbs = ["get", "list", "watch", "patch"];
                let name = Some(webhook.config_name.as_str());
                rights.add("admissionregistration.k8s.io", resource, &verbs, None, name);
            }
            if settings.guarded().is_some() {
                rights.add("authorization.k8s.io", "subjectaccessreviews", &["create"], None, None);
            }
        }
        rights
    }

    /// What it keeps in its own namespace.
    fn own(settings: &Settings, namespace: &str) -> Vec<Right> {
        let mut rights = Self(Vec::new());
        let place = Some(namespace);
        if settings.lease.is_some() {
            let group = "coordination.k8s.io";
            rights.add(group, "leases", &["create"], place, None);
            rights.add(group, "leases", &["get", "update"], place, Some(super::NAME));
        }
        if let Some(webhook) = &settings.webhook {
            if matches!(webhook.certificate, Certificate::SelfMade(_)) {
                let verbs = ["get", "list", "watch", "update"];
                rights.add("", "secrets", &["create"], place, None);
                rights.add("", "secrets", &verbs, place, Some(SECRET_NAME));
            }
            let watched = &settings.watch_namespaces;
            let has_them = watched.is_empty() || watched.iter().any(|name| name == namespace);
            if !(settings.controller_enabled && has_them) {
                // Else those on the Events of pipelines serve.
                rights.add("events.k8s.io", "events", &["create", "patch"], place, None);
            }
        }
        let own = rights.0.into_iter().map(|right| Right { own: true, ..right });
        own.collect()
    }

    fn add(
        &mut self,
        group: &'static str,
        resource: &'static str,
        verbs: &[&'static str],
        namespace: Option<&str>,
        name: Option<&str>,
    ) {
        let rights = verbs.iter().map(|verb| Right {
            verb,
            group,
            resource,
            namespace: namespace.map(str::to_owned),
            name: name.map(str::to_owned),
            own: false,
        });
        // Some are needed for more than one thing.
        let rights: Vec<_> = rights.filter(|right| !self.0.contains(right)).collect();
        self.0.extend(rights);
    }
}

/// Waits for the API server; then says everything that is missing, each with what to do.
pub(super) async fn check(client: &Client, rights: &Rights) -> Result<Kinds, Vec<String>> {
    let mut told = false;
    loop {
        match timeout(ANSWER, ask(client, rights)).await {
            Ok(Ok((kinds, faults))) if faults.is_empty() => {
                if kinds == Kinds::WithoutAnalyses {
                    tracing::warn!(
                        "the CustomResourceDefinition of RolloutAnalysis is not there: there are no analyses, and a gate that \
                         requires one stays shut. `streaming-operator crd | kubectl apply -f -` makes it; then restart the operator"
                    );
                }
                return Ok(kinds);
            }
            Ok(Ok((_, faults))) => return Err(faults),
            Ok(Err(error)) => wait_for_it(&in_words(&error), &mut told),
            Err(_) => wait_for_it("no answer in time", &mut told),
        }
        sleep(RETRY).await;
    }
}

fn wait_for_it(why: &str, told: &mut bool) {
    if !std::mem::replace(told, true) {
        tracing::warn!(why, "the API server cannot be asked; waits for it");
    }
}

/// What is missing; fails when the API server cannot say.
async fn ask(client: &Client, rights: &Rights) -> Result<(Kinds, Vec<String>), kube::Error> {
    let mut faults = Vec::new();
    faults.extend(missing_kind(client, PLURAL).await?.map(Missing::in_words));
    let kinds = match missing_kind(client, ANALYSIS_PLURAL).await? {
        None => Kinds::All,
        Some(Missing::Kind(_)) => Kinds::WithoutAnalyses,
        Some(other) => {
            faults.push(other.in_words());
            Kinds::All
        }
    };
    let used = |right: &&Right| kinds == Kinds::All || !right.is_for_analyses();
    let rights: Vec<&Right> = rights.0.iter().filter(used).collect();
    let answers = stream::iter(rights.iter().copied()).map(|right| is_granted(client, right));
    let answers: Vec<_> = answers.buffered(QUESTIONS_AT_ONCE).collect().await;
    let mut missing = Vec::new();
    for (right, granted) in rights.into_iter().zip(answers) {
        if !granted? {
            missing.push(right);
        }
    }
    faults.extend(not_granted(&missing));
    Ok((kinds, faults))
}

/// One fault for each role of the chart that would grant what is missing.
fn not_granted(missing: &[&Right]) -> Vec<String> {
    let mut by_role: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for right in missing {
        by_role.entry(right.role()).or_default().push(right.to_string());
    }
    let fault = |(role, rights): (String, Vec<String>)| {
        format!(
            "the API server does not grant: {}. The {role} of the chart does (chart/templates/rbac.yaml): bind it to \
             this account",
            rights.join(", ")
        )
    };
    by_role.into_iter().map(fault).collect()
}

/// Why one of our kinds is not there.
enum Missing {
    /// It has no CustomResourceDefinition of this name.
    Kind(String),
    /// Anything else, in words.
    Other(String),
}

impl Missing {
    fn in_words(self) -> String {
        match self {
            Self::Kind(name) => format!(
                "the CustomResourceDefinition {name} is not there: `streaming-operator crd | kubectl apply -f -` makes it"
            ),
            Self::Other(words) => words,
        }
    }
}

/// Why the kind of that plural is not there, if it is not.
async fn missing_kind(client: &Client, plural: &str) -> Result<Option<Missing>, kube::Error> {
    let name = format!("{plural}.{GROUP}");
    let crd = match Api::<CustomResourceDefinition>::all(client.clone())
        .get_opt(&name)
        .await
    {
        Ok(crd) => crd,
        Err(kube::Error::Api(status)) if matches!(status.code, 401 | 403) => {
            return Ok(Some(Missing::Other(format!(
                "the API server does not grant: get customresourcedefinitions.apiextensions.k8s.io {name} ({}). The \
                 ClusterRole {} of the chart does (chart/templates/rbac.yaml): bind it to this account",
                status.message,
                super::NAME
            ))));
        }
        Err(error) => return Err(error),
    };
    let Some(crd) = crd else {
        return Ok(Some(Missing::Kind(name)));
    };
    Ok((!is_established(&crd)).then(|| {
        Missing::Other(format!(
            "the CustomResourceDefinition {name} is not Established: `kubectl describe crd {name}` says why"
        ))
    }))
}

async fn is_granted(client: &Client, right: &Right) -> Result<bool, kube::Error> {
    let (resource, subresource) = match right.resource.split_once('/') {
        Some((resource, subresource)) => (resource, Some(subresource.to_owned())),
        None => (right.resource, None),
    };
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(ResourceAttributes {
                verb: Some(right.verb.to_owned()),
                group: Some(right.group.to_owned()),
                resource: Some(resource.to_owned()),
                subresource,
                namespace: right.namespace.clone(),
                name: right.name.clone(),
                ..ResourceAttributes::default()
            }),
            non_resource_attributes: None,
        },
        ..SelfSubjectAccessReview::default()
    };
    let api = Api::<SelfSubjectAccessReview>::all(client.clone());
    let answer = api.create(&PostParams::default(), &review).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_right_is_told_as_a_role_has_it() {
        let right = Right {
            verb: "update",
            group: "coordination.k8s.io",
            resource: "leases",
            namespace: Some("ops".to_owned()),
            name: Some("streaming-operator".to_owned()),
            own: true,
        };
        assert_eq!(
            right.to_string(),
            "update leases.coordination.k8s.io streaming-operator in namespace ops"
        );
        assert_eq!(right.role(), "Role streaming-operator-own in namespace ops");
    }

    fn right(verb: &'static str, resource: &'static str, namespace: Option<&str>) -> Right {
        Right {
            verb,
            group: "",
            resource,
            namespace: namespace.map(str::to_owned),
            name: None,
            own: false,
        }
    }

    #[test]
    fn what_is_missing_is_told_by_the_role_that_grants_it() {
        let (create, delete) = (right("create", "pods", None), right("delete", "pods", None));
        let list = right("list", "pods", Some("ingest"));
        assert_eq!(
            not_granted(&[&create, &list, &delete]),
            [
                "the API server does not grant: create pods, delete pods. The ClusterRole streaming-operator of the \
                 chart does (chart/templates/rbac.yaml): bind it to this account",
                "the API server does not grant: list pods in namespace ingest. The Role streaming-operator in namespace \
                 ingest of the chart does (chart/templates/rbac.yaml): bind it to this account",
            ]
        );
    }
}
