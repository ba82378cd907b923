//! What the operator may do: every right it uses, whether an account has it, and which role of the chart grants it.
//!
//! Asked at the start of a run, and by `streaming-operator check`. Must never ask for a right that is not used.

use std::collections::BTreeMap;
use std::fmt;

use futures::StreamExt as _;
use futures::stream;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec, SubjectAccessReview,
    SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client, ResourceExt as _};

use super::fault::Fault;
use super::settings::{Certificate, Settings};
use crate::api::manifests::crds;
use crate::api::meta::{ANALYSIS_PLURAL, GROUP, PLURAL};
use crate::certs::secret::SECRET_NAME;

/// How many questions are asked at once.
const QUESTIONS_AT_ONCE: usize = 8;

/// Everything that the operator does to the API server.
#[derive(Debug)]
pub struct Rights(Vec<Right>);

/// One verb on one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Right {
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
    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// What a run with these settings does; `namespace` is the operator's own.
    #[must_use]
    pub fn of(settings: &Settings, namespace: &str) -> Self {
        let mut rights = Self(Self::cluster(settings));
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
                    rights.add("apps", "replicasets", &["list"], place, None);
                }
                // The namespace itself, which a Role within it may grant.
                rights.add("", "namespaces", &["get"], place, place);
            }
        }
        rights.0.extend(Self::own(settings, namespace));
        rights
    }

    /// What is wanted once in the cluster, whatever is watched.
    fn cluster(settings: &Settings) -> Vec<Right> {
        let mut rights = Self(Vec::new());
        for crd in crds() {
            let name = crd.name_any();
            let group = "apiextensions.k8s.io";
            rights.add(group, "customresourcedefinitions", &["get"], None, Some(&name));
        }
        let (group, judges) = ("admissionregistration.k8s.io", "validatingwebhookconfigurations");
        // Of any name: those of other releases say whose pipelines these run.
        let all: &[&str] = if settings.controller_enabled {
            &["list", "watch"]
        } else {
            &[]
        };
        rights.add(group, judges, all, None, None);
        if let Some(webhook) = &settings.webhook {
            let name = Some(webhook.config_name.as_str());
            let mutating = ["get", "list", "watch", "patch"];
            rights.add(group, "mutatingwebhookconfigurations", &mutating, None, name);
            let ours: &[&str] = if all.is_empty() { &mutating } else { &["get", "patch"] };
            rights.add(group, judges, ours, None, name);
            if settings.guarded().is_some() {
                rights.add("authorization.k8s.io", "subjectaccessreviews", &["create"], None, None);
            }
        }
        rights.0
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

/// Whose rights are asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Account {
    /// Whoever asks. Everybody may.
    Asker,
    /// A ServiceAccount. The asker needs the right to create SubjectAccessReviews.
    Service {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asker => f.write_str("whoever asks"),
            Self::Service { namespace, name } => write!(f, "ServiceAccount {namespace}/{name}"),
        }
    }
}

/// Those of `rights` that `account` does not have. Fails when the API server cannot or will not say.
pub async fn missing<'a>(
    client: &Client,
    rights: &'a Rights,
    account: &Account,
) -> Result<Vec<&'a Right>, kube::Error> {
    let answers = stream::iter(&rights.0).map(|right| is_granted(client, right, account));
    let answers: Vec<_> = answers.buffered(QUESTIONS_AT_ONCE).collect().await;
    let mut missing = Vec::new();
    for (right, granted) in rights.0.iter().zip(answers) {
        if !granted? {
            missing.push(right);
        }
    }
    Ok(missing)
}

async fn is_granted(client: &Client, right: &Right, account: &Account) -> Result<bool, kube::Error> {
    let (resource, subresource) = match right.resource.split_once('/') {
        Some((resource, subresource)) => (resource, Some(subresource.to_owned())),
        None => (right.resource, None),
    };
    let attributes = ResourceAttributes {
        verb: Some(right.verb.to_owned()),
        group: Some(right.group.to_owned()),
        resource: Some(resource.to_owned()),
        subresource,
        namespace: right.namespace.clone(),
        name: right.name.clone(),
        ..ResourceAttributes::default()
    };
    let params = PostParams::default();
    let status = match account {
        Account::Asker => {
            let review = SelfSubjectAccessReview {
                spec: SelfSubjectAccessReviewSpec {
                    resource_attributes: Some(attributes),
                    non_resource_attributes: None,
                },
                ..SelfSubjectAccessReview::default()
            };
            let api = Api::<SelfSubjectAccessReview>::all(client.clone());
            api.create(&params, &review).await?.status
        }
        Account::Service { namespace, name } => {
            let review = SubjectAccessReview {
                spec: SubjectAccessReviewSpec {
                    resource_attributes: Some(attributes),
                    user: Some(format!("system:serviceaccount:{namespace}:{name}")),
                    // What the API server says of a token of the account.
                    groups: Some(vec![
                        "system:serviceaccounts".to_owned(),
                        format!("system:serviceaccounts:{namespace}"),
                        "system:authenticated".to_owned(),
                    ]),
                    ..SubjectAccessReviewSpec::default()
                },
                ..SubjectAccessReview::default()
            };
            let api = Api::<SubjectAccessReview>::all(client.clone());
            api.create(&params, &review).await?.status
        }
    };
    Ok(status.is_some_and(|status| status.allowed))
}

/// One fault for each role of the chart that would grant what is missing.
#[must_use]
pub fn not_granted(missing: &[&Right]) -> Vec<Fault> {
    let mut by_role: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for right in missing {
        by_role.entry(right.role()).or_default().push(right.to_string());
    }
    let faults = by_role.into_iter().map(|(role, rights)| Fault {
        what: format!("the API server does not grant: {}", rights.join(", ")),
        todo: format!("The {role} of the chart does (chart/templates/rbac.yaml): bind it to this account"),
    });
    faults.collect()
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
        let faults = not_granted(&[&create, &list, &delete]);
        assert_eq!(
            faults.iter().map(ToString::to_string).collect::<Vec<_>>(),
            [
                "the API server does not grant: create pods, delete pods. The ClusterRole streaming-operator of the \
                 chart does (chart/templates/rbac.yaml): bind it to this account",
                "the API server does not grant: list pods in namespace ingest. The Role streaming-operator in namespace \
                 ingest of the chart does (chart/templates/rbac.yaml): bind it to this account",
            ]
        );
    }
}
