//! Which of several releases in a cluster runs a namespace's pipelines.
//!
//! A release says whose pipelines it runs by the namespaces of its ValidatingWebhookConfiguration: it is there from the
//! install to the uninstall, whether or not an operator runs at the moment, so that no release takes over another's
//! pipelines during an outage or an upgrade of that. Of two that share a namespace the one that was installed first runs
//! them, and the other none at all. Must never depend on a clock or on who started first.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jiff::Timestamp;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use crate::api::meta::{ANNOTATION_RUNS_PIPELINES, VALIDATING_WEBHOOK};

/// The label by which a webhook is limited to namespaces: every namespace has it, with its name.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// Namespaces of the pipelines that a release runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Watched {
    /// All.
    All,
    /// These.
    Only(BTreeSet<String>),
}

impl Watched {
    /// As `--watch-namespace` says them; none: all.
    #[must_use]
    pub fn of(namespaces: &[String]) -> Self {
        if namespaces.is_empty() {
            Self::All
        } else {
            Self::Only(namespaces.iter().cloned().collect())
        }
    }

    /// Those of a webhook.
    #[must_use]
    pub fn selected(selector: Option<&LabelSelector>) -> Self {
        let Some(selector) = selector else { return Self::All };
        let label = selector
            .match_labels
            .as_ref()
            .and_then(|labels| labels.get(NAMESPACE_NAME));
        if let Some(namespace) = label {
            return Self::Only(BTreeSet::from([namespace.clone()]));
        }
        let mut expressions = selector.match_expressions.iter().flatten();
        let named = expressions.find(|one| one.key == NAMESPACE_NAME && one.operator == "In");
        named.map_or(Self::All, |one| {
            Self::Only(one.values.iter().flatten().cloned().collect())
        })
    }

    /// What both have; `None` when that is nothing.
    fn shared(&self, other: &Self) -> Option<Self> {
        match (self, other) {
            (Self::All, shared) | (shared, Self::All) => Some(shared.clone()),
            (Self::Only(ours), Self::Only(theirs)) => {
                let shared: BTreeSet<String> = ours.intersection(theirs).cloned().collect();
                (!shared.is_empty()).then_some(Self::Only(shared))
            }
        }
    }
}

impl fmt::Display for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all namespaces"),
            Self::Only(names) => {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                let word = if names.len() == 1 { "namespace" } else { "namespaces" };
                write!(f, "{word} {}", names.join(", "))
            }
        }
    }
}

/// What a ValidatingWebhookConfiguration says of its release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The namespace of the release, where it names a Service.
    release: Option<String>,
    watched: Watched,
    /// When the release was installed; of two at the same time the uid decides. One that is not known comes last.
    rank: (Timestamp, String),
}

impl Claim {
    /// `None` when the configuration is none of ours, or of a release that runs no pipelines.
    #[must_use]
    pub fn of(configuration: &ValidatingWebhookConfiguration) -> Option<Self> {
        let metadata = &configuration.metadata;
        let annotations = metadata.annotations.as_ref();
        let runs = annotations.and_then(|annotations| annotations.get(ANNOTATION_RUNS_PIPELINES));
        if runs.is_some_and(|runs| runs == "false") {
            return None;
        }
        let mut entries = configuration.webhooks.iter().flatten();
        let entry = entries.find(|entry| entry.name == VALIDATING_WEBHOOK)?;
        let created = metadata.creation_timestamp.as_ref().map(|time| time.0);
        Some(Self {
            release: entry
                .client_config
                .service
                .as_ref()
                .map(|service| service.namespace.clone()),
            watched: Watched::selected(entry.namespace_selector.as_ref()),
            rank: (
                created.unwrap_or(Timestamp::MAX),
                metadata.uid.clone().unwrap_or_default(),
            ),
        })
    }
}

/// What to do about an [`Overlap`].
pub const REMEDY: &str = "give each release watchNamespaces of its own, or uninstall one of them";

/// Another release that runs what this one is to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// The name of its webhook configurations.
    pub configuration: String,
    /// Its namespace, where that is known.
    pub release: Option<String>,
    /// What both are to run.
    pub shared: Watched,
}

impl fmt::Display for Overlap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the pipelines of {} are run by the release ", self.shared)?;
        if let Some(namespace) = &self.release {
            write!(f, "in namespace {namespace}, ")?;
        }
        write!(
            f,
            "whose ValidatingWebhookConfiguration is {}; it was installed before this one",
            self.configuration
        )
    }
}

/// The releases that run what this one is to run, by the name of their configuration.
///
/// `own` is the name of this release's configuration; without one, or while it is not there, this release was installed
/// after every other.
#[must_use]
pub fn in_the_way(own: Option<&str>, watched: &Watched, claims: &BTreeMap<String, Claim>) -> Vec<Overlap> {
    let rank = own.and_then(|own| claims.get(own)).map(|claim| &claim.rank);
    let others = claims.iter().filter(|(name, _)| Some(name.as_str()) != own);
    let before = others.filter(|(_, claim)| rank.is_none_or(|rank| claim.rank < *rank));
    let overlaps = before.filter_map(|(name, claim)| {
        Some(Overlap {
            configuration: name.clone(),
            release: claim.release.clone(),
            shared: watched.shared(&claim.watched)?,
        })
    });
    overlaps.collect()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::admissionregistration::v1::{ServiceReference, ValidatingWebhook, WebhookClientConfig};
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelectorRequirement, ObjectMeta, Time};

    use super::*;

    /// The configuration of a release in the namespace `release`, installed at that second.
    fn configuration(name: &str, second: i64, namespaces: &[&str]) -> ValidatingWebhookConfiguration {
        let values: Vec<String> = namespaces.iter().map(|name| (*name).to_owned()).collect();
        let selector = LabelSelector {
            match_labels: None,
            match_expressions: Some(vec![LabelSelectorRequirement {
                key: NAMESPACE_NAME.to_owned(),
                operator: "In".to_owned(),
                values: Some(values),
            }]),
        };
        ValidatingWebhookConfiguration {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                uid: Some(format!("uid-of-{name}")),
                creation_timestamp: Some(Time(Timestamp::from_second(second).expect("a time"))),
                ..ObjectMeta::default()
            },
            webhooks: Some(vec![ValidatingWebhook {
                name: "validate.streamingpipelines.streams.sentry.io".to_owned(),
                client_config: WebhookClientConfig {
                    service: Some(ServiceReference {
                        namespace: format!("ns-of-{name}"),
                        name: name.to_owned(),
                        ..ServiceReference::default()
                    }),
                    ..WebhookClientConfig::default()
                },
                namespace_selector: (!namespaces.is_empty()).then_some(selector),
                ..ValidatingWebhook::default()
            }]),
        }
    }

    fn claims(all: &[ValidatingWebhookConfiguration]) -> BTreeMap<String, Claim> {
        let claims = all
            .iter()
            .filter_map(|one| Some((one.metadata.name.clone()?, Claim::of(one)?)));
        claims.collect()
    }

    fn watched(namespaces: &[&str]) -> Watched {
        let names: Vec<String> = namespaces.iter().map(|name| (*name).to_owned()).collect();
        Watched::of(&names)
    }

    /// The configurations in the way of the release `own`, which watches `namespaces`.
    fn before(own: Option<&str>, namespaces: &[&str], all: &[ValidatingWebhookConfiguration]) -> Vec<String> {
        let overlaps = in_the_way(own, &watched(namespaces), &claims(all));
        overlaps.into_iter().map(|overlap| overlap.configuration).collect()
    }

    const NONE: [&str; 0] = [];

    #[test]
    fn releases_of_disjoint_namespaces_are_in_nobodys_way() {
        let all = [configuration("a", 1, &["x"]), configuration("b", 2, &["y"])];
        assert_eq!(before(Some("a"), &["x"], &all), NONE);
        assert_eq!(before(Some("b"), &["y"], &all), NONE);
    }

    #[test]
    fn of_two_that_share_a_namespace_the_first_installed_runs_it() {
        let all = [configuration("a", 2, &["x", "y"]), configuration("b", 1, &["y", "z"])];
        assert_eq!(before(Some("a"), &["x", "y"], &all), ["b"]);
        assert_eq!(before(Some("b"), &["y", "z"], &all), NONE);
    }

    #[test]
    fn one_of_all_namespaces_shares_those_of_every_other() {
        let all = [
            configuration("a", 1, &[]),
            configuration("b", 2, &["x"]),
            configuration("c", 3, &[]),
        ];
        assert_eq!(before(Some("a"), &[], &all), NONE);
        assert_eq!(before(Some("b"), &["x"], &all), ["a"]);
        assert_eq!(before(Some("c"), &[], &all), ["a", "b"]);
    }

    #[test]
    fn two_of_the_same_second_are_told_apart_by_uid() {
        let all = [configuration("a", 1, &[]), configuration("b", 1, &[])];
        assert_eq!(before(Some("a"), &[], &all), NONE);
        assert_eq!(before(Some("b"), &[], &all), ["a"]);
    }

    #[test]
    fn a_release_without_a_configuration_of_its_own_comes_last() {
        let all = [configuration("a", 1, &["x"])];
        assert_eq!(before(None, &["x"], &all), ["a"]);
        assert_eq!(before(Some("b"), &["x", "y"], &all), ["a"]);
        assert_eq!(before(None, &["y"], &all), NONE);
    }

    #[test]
    fn other_webhooks_and_releases_that_run_no_pipelines_are_in_nobodys_way() {
        let mut foreign = configuration("a", 1, &[]);
        foreign.webhooks.as_mut().expect("webhooks")[0].name = "other.example".to_owned();
        let mut admission_only = configuration("b", 1, &[]);
        admission_only.metadata.annotations = Some(BTreeMap::from([(
            "streams.sentry.io/runs-pipelines".to_owned(),
            "false".to_owned(),
        )]));
        let all = [foreign, admission_only, configuration("c", 2, &[])];
        assert_eq!(before(Some("c"), &[], &all), NONE);
    }

    #[test]
    fn an_overlap_names_the_other_release_and_what_is_shared() {
        let all = [configuration("a", 1, &[]), configuration("b", 2, &["x", "y"])];
        let overlaps = in_the_way(Some("b"), &watched(&["x", "y"]), &claims(&all));
        assert_eq!(
            overlaps[0].to_string(),
            "the pipelines of namespaces x, y are run by the release in namespace ns-of-a, whose \
             ValidatingWebhookConfiguration is a; it was installed before this one"
        );
    }
}
