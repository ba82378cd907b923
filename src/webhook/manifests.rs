//! The two webhook configurations, as typed structs. What `webhook-config/` holds is printed from here.
//!
//! Must never name a resource that is not ours, nor `status` or `scale`: while no replica answers, the API server
//! refuses whatever these rules match.

use std::fmt;
use std::str::FromStr;

use http::Uri;
use k8s_openapi::api::admissionregistration::v1::{
    MatchCondition, MutatingWebhook, MutatingWebhookConfiguration, RuleWithOperations, ServiceReference,
    ValidatingWebhook, ValidatingWebhookConfiguration, WebhookClientConfig,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement, ObjectMeta};

use crate::api::meta;

/// Path of the webhook that writes defaults.
pub const MUTATE_PATH: &str = "/mutate";
/// Path of the webhook that judges.
pub const VALIDATE_PATH: &str = "/validate";
/// Name of both configurations unless a flag says otherwise.
pub const CONFIGURATION_NAME: &str = "streaming-operator";
/// Name and namespace of the Service unless a flag says otherwise.
pub const SERVICE_NAME: &str = "streaming-operator";
/// Port of the Service unless its address says otherwise.
pub const SERVICE_PORT: u16 = 443;
/// How long the API server waits for an answer.
pub const TIMEOUT_SECONDS: u16 = 5;

/// Plural names of the kinds that are defaulted and judged. Each has an entry of its own, whose name users are shown when
/// it refuses something.
pub const PLURALS: [&str; 2] = [meta::PLURAL, meta::ANALYSIS_PLURAL];
/// The one version of `AdmissionReview` that there is.
const REVIEW_VERSION: &str = "v1";

/// Edits of metadata, finalizers and deletions pass without a call, so that they work while no replica answers. Not
/// judged by generation: the API server raises that only after mutation.
const SPEC_IS_WRITTEN: &str = "request.operation == 'CREATE' || !has(object.spec) || !has(oldObject.spec) || \
                               (!has(object.metadata.deletionTimestamp) && object.spec != oldObject.spec)";

/// What the configurations depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// Name of both objects.
    pub name: String,
    /// Where the API server finds us.
    pub endpoint: Endpoint,
    /// The namespaces whose pipelines are watched; empty for all.
    pub watch_namespaces: Vec<String>,
}

/// Where the API server finds the webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// A Service in the cluster.
    Service(ServiceAddress),
    /// Anywhere else, for an operator that runs outside the cluster.
    Url(BaseUrl),
}

/// A Service and its port, written `NAMESPACE/NAME[:PORT]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceAddress {
    /// Namespace of the Service.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its port, not that of the Pods behind it.
    pub port: u16,
}

impl Default for ServiceAddress {
    fn default() -> Self {
        Self {
            namespace: SERVICE_NAME.to_owned(),
            name: SERVICE_NAME.to_owned(),
            port: SERVICE_PORT,
        }
    }
}

impl FromStr for ServiceAddress {
    type Err = AddressFault;

    fn from_str(text: &str) -> Result<Self, AddressFault> {
        let (namespace, rest) = text.split_once('/').ok_or(AddressFault::Service)?;
        let (name, port) = match rest.split_once(':') {
            Some((name, port)) => (name, port.parse().map_err(|_| AddressFault::Service)?),
            None => (rest, SERVICE_PORT),
        };
        let names_are_labels = [namespace, name].into_iter().all(crate::core::names::is_dns_label);
        if !names_are_labels || port == 0 {
            return Err(AddressFault::Service);
        }
        Ok(Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            port,
        })
    }
}

/// The part of a URL before the paths of the webhooks: `https://HOST[:PORT]`, without a slash at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl(String);

impl FromStr for BaseUrl {
    type Err = AddressFault;

    /// Takes what the API server takes for `clientConfig.url`: https, no user, no query.
    fn from_str(text: &str) -> Result<Self, AddressFault> {
        let uri: Uri = text.parse().map_err(|_| AddressFault::Url)?;
        let authority = uri.authority().ok_or(AddressFault::Url)?;
        let plain = uri.query().is_none() && uri.path() == "/" && !authority.as_str().contains('@');
        // (`http` takes any text behind the colon)
        let has_port = authority.as_str().len() > authority.host().len();
        let port_is_valid = !has_port || authority.port_u16().is_some_and(|port| port > 0);
        if uri.scheme_str() != Some("https") || !plain || !port_is_valid || text.contains('#') {
            return Err(AddressFault::Url);
        }
        Ok(Self(format!("https://{authority}")))
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An address that the API server would not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressFault {
    /// Not an address of a Service.
    #[error("must be NAMESPACE/NAME or NAMESPACE/NAME:PORT, such as streaming-operator/streaming-operator:443")]
    Service,
    /// Not a base URL.
    #[error("must be https://HOST or https://HOST:PORT, without user, path, query and fragment")]
    Url,
}

impl Endpoint {
    fn client_config(&self, path: &str) -> WebhookClientConfig {
        match self {
            Self::Service(ServiceAddress { namespace, name, port }) => WebhookClientConfig {
                service: Some(ServiceReference {
                    namespace: namespace.clone(),
                    name: name.clone(),
                    path: Some(path.to_owned()),
                    port: Some(i32::from(*port)),
                }),
                ..WebhookClientConfig::default()
            },
            Self::Url(base) => WebhookClientConfig {
                url: Some(format!("{base}{path}")),
                ..WebhookClientConfig::default()
            },
        }
    }
}

/// The configuration that has defaults written.
#[must_use]
pub fn mutating(configuration: &Configuration) -> MutatingWebhookConfiguration {
    MutatingWebhookConfiguration {
        metadata: metadata(configuration),
        webhooks: Some(PLURALS.map(|plural| defaults(configuration, plural)).to_vec()),
    }
}

fn defaults(configuration: &Configuration, plural: &str) -> MutatingWebhook {
    MutatingWebhook {
        name: mutating_entry(plural),
        admission_review_versions: vec![REVIEW_VERSION.to_owned()],
        client_config: configuration.endpoint.client_config(MUTATE_PATH),
        failure_policy: Some("Fail".to_owned()),
        match_conditions: Some(match_conditions()),
        match_policy: Some("Equivalent".to_owned()),
        namespace_selector: namespace_selector(&configuration.watch_namespaces),
        object_selector: None,
        reinvocation_policy: Some("IfNeeded".to_owned()),
        rules: Some(rules(plural)),
        side_effects: "None".to_owned(),
        timeout_seconds: Some(i32::from(TIMEOUT_SECONDS)),
    }
}

/// The configuration that has objects judged.
#[must_use]
pub fn validating(configuration: &Configuration) -> ValidatingWebhookConfiguration {
    ValidatingWebhookConfiguration {
        metadata: metadata(configuration),
        webhooks: Some(PLURALS.map(|plural| judgement(configuration, plural)).to_vec()),
    }
}

/// Name of the entry that defaults the kind of that plural; the API server wants at least three labels.
#[must_use]
pub fn mutating_entry(plural: &str) -> String {
    format!("default.{plural}.{}", meta::GROUP)
}

/// Name of the entry that judges the kind of that plural.
#[must_use]
pub fn validating_entry(plural: &str) -> String {
    format!("validate.{plural}.{}", meta::GROUP)
}

fn judgement(configuration: &Configuration, plural: &str) -> ValidatingWebhook {
    ValidatingWebhook {
        name: validating_entry(plural),
        admission_review_versions: vec![REVIEW_VERSION.to_owned()],
        client_config: configuration.endpoint.client_config(VALIDATE_PATH),
        failure_policy: Some("Fail".to_owned()),
        match_conditions: Some(match_conditions()),
        match_policy: Some("Equivalent".to_owned()),
        namespace_selector: namespace_selector(&configuration.watch_namespaces),
        object_selector: None,
        rules: Some(rules(plural)),
        side_effects: "None".to_owned(),
        timeout_seconds: Some(i32::from(TIMEOUT_SECONDS)),
    }
}

fn metadata(configuration: &Configuration) -> ObjectMeta {
    ObjectMeta {
        name: Some(configuration.name.clone()),
        ..ObjectMeta::default()
    }
}

fn match_conditions() -> Vec<MatchCondition> {
    vec![MatchCondition {
        name: "spec-is-written".to_owned(),
        expression: SPEC_IS_WRITTEN.to_owned(),
    }]
}

/// Without watched namespaces there is no selector: one more thing that could be wrong would only hide our own kinds
/// from us.
fn namespace_selector(namespaces: &[String]) -> Option<LabelSelector> {
    (!namespaces.is_empty()).then(|| LabelSelector {
        match_labels: None,
        match_expressions: Some(vec![LabelSelectorRequirement {
            key: "kubernetes.io/metadata.name".to_owned(),
            operator: "In".to_owned(),
            values: Some(namespaces.to_vec()),
        }]),
    })
}

fn rules(plural: &str) -> Vec<RuleWithOperations> {
    let one = |text: &str| Some(vec![text.to_owned()]);
    vec![RuleWithOperations {
        api_groups: one(meta::GROUP),
        api_versions: one(meta::VERSION),
        operations: Some(vec!["CREATE".to_owned(), "UPDATE".to_owned()]),
        resources: one(plural),
        scope: Some("Namespaced".to_owned()),
    }]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configuration(endpoint: Endpoint) -> Configuration {
        Configuration {
            name: CONFIGURATION_NAME.to_owned(),
            endpoint,
            watch_namespaces: Vec::new(),
        }
    }

    #[test]
    fn a_service_is_namespace_name_and_port() {
        let parse = |text: &str| text.parse::<ServiceAddress>();
        let address = |namespace: &str, name: &str, port| ServiceAddress {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            port,
        };
        assert_eq!(parse("ns/svc"), Ok(address("ns", "svc", 443)));
        assert_eq!(parse("ns/svc:8443"), Ok(address("ns", "svc", 8443)));
        for text in [
            "svc",
            "/svc",
            "ns/",
            "ns/svc:",
            "ns/svc:0",
            "ns/svc:70000",
            "ns/a/b",
            "Ns/svc",
        ] {
            assert_eq!(parse(text), Err(AddressFault::Service), "{text}");
        }
    }

    #[test]
    fn a_url_is_taken_only_if_the_api_server_would_take_it() {
        let parse = |text: &str| text.parse::<BaseUrl>().map(|url| url.to_string());
        assert_eq!(parse("https://127.0.0.1:9443"), Ok("https://127.0.0.1:9443".to_owned()));
        assert_eq!(parse("https://host/"), Ok("https://host".to_owned()));
        assert_eq!(parse("https://[::1]:9443"), Ok("https://[::1]:9443".to_owned()));
        for text in [
            "http://host",
            "host",
            "https://",
            "https://u@host",
            "https://host/path",
            "https://host?a=b",
            "https://host#a",
            "https://host:0",
            "https://host:65536",
            "https://host:",
        ] {
            assert_eq!(parse(text), Err(AddressFault::Url), "{text}");
        }
    }

    #[test]
    fn a_url_gets_the_path_of_each_webhook() {
        let configuration = configuration(Endpoint::Url("https://10.0.0.1:9443".parse().expect("a URL")));
        let mutating = mutating(&configuration).webhooks.expect("entries");
        let validating = validating(&configuration).webhooks.expect("entries");
        assert_eq!(
            mutating[0].client_config.url.as_deref(),
            Some("https://10.0.0.1:9443/mutate")
        );
        assert_eq!(
            validating[0].client_config.url.as_deref(),
            Some("https://10.0.0.1:9443/validate")
        );
        assert_eq!(mutating[0].client_config.service, None);
    }

    #[test]
    fn namespaces_are_selected_only_when_some_are_watched() {
        let mut configuration = configuration(Endpoint::Service(ServiceAddress::default()));
        let selector = |configuration: &Configuration| {
            let webhooks = validating(configuration).webhooks.expect("entries");
            webhooks[0].namespace_selector.clone()
        };
        assert_eq!(selector(&configuration), None);
        configuration.watch_namespaces = vec!["a".to_owned(), "b".to_owned()];
        let selected = selector(&configuration)
            .and_then(|s| s.match_expressions)
            .expect("a selector");
        assert_eq!(selected[0].key, "kubernetes.io/metadata.name");
        assert_eq!(selected[0].values, Some(vec!["a".to_owned(), "b".to_owned()]));
    }

    #[test]
    fn no_rule_reaches_a_subresource_or_another_group() {
        let configuration = configuration(Endpoint::Service(ServiceAddress::default()));
        let webhooks = mutating(&configuration).webhooks.expect("entries");
        let names: Vec<_> = webhooks.iter().map(|webhook| webhook.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "default.streamingpipelines.streams.sentry.io",
                "default.rolloutanalyses.streams.sentry.io"
            ]
        );
        for (webhook, resource) in webhooks.iter().zip(["streamingpipelines", "rolloutanalyses"]) {
            let rules = webhook.rules.clone().expect("rules");
            assert_eq!(rules.len(), 1);
            assert_eq!(rules[0].resources, Some(vec![resource.to_owned()]));
            assert_eq!(rules[0].api_groups, Some(vec!["streams.sentry.io".to_owned()]));
        }
    }
}
