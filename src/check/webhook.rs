//! The two webhook configurations and the way from them to the operator. Must never write one.

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ServiceReference, ValidatingWebhookConfiguration, WebhookClientConfig,
};
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::Api;
use kube::api::ListParams;

use super::{Finding, State, Subject};
use crate::certs::pair::Certificate;
use crate::core::overlap::Watched;
use crate::operator::{Certificate as Source, WebhookSettings};
use crate::webhook::manifests::{PLURALS, mutating_entry, validating_entry};

const CHECK: &str = "webhook";

/// One entry of a webhook configuration.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Its name.
    pub(super) name: String,
    /// The kind of the configuration, its name, and the entry's.
    pub(super) what: String,
    /// By which name the API server calls it.
    pub(super) host: String,
    /// What it trusts, PEM.
    pub(super) bundle: Vec<u8>,
    service: Option<ServiceReference>,
    watched: Watched,
    ignores: bool,
}

/// Both configurations, then the Service behind them; and their entries, for whoever judges the certificate.
pub(super) async fn look(subject: &Subject<'_>, webhook: &WebhookSettings) -> (Vec<Finding>, Vec<Entry>) {
    let name = webhook.config_name.as_str();
    let (mut findings, mut entries) = (Vec::new(), Vec::new());
    for read in [mutating(subject, name).await, validating(subject, name).await] {
        match read {
            Ok(found) => entries.extend(found),
            Err(finding) => findings.push(finding),
        }
    }
    for entry in &entries {
        findings.extend(judge(entry, subject, webhook));
    }
    let mut services: Vec<&ServiceReference> = entries.iter().filter_map(|entry| entry.service.as_ref()).collect();
    services.dedup_by_key(|service| (&service.namespace, &service.name, service.port));
    for service in services {
        findings.push(reached(subject, service).await.unwrap_or_else(|finding| finding));
    }
    (findings, entries)
}

async fn mutating(subject: &Subject<'_>, name: &str) -> Result<Vec<Entry>, Finding> {
    let what = "MutatingWebhookConfiguration";
    let api = Api::<MutatingWebhookConfiguration>::all(subject.client.clone());
    let found = present(what, name, api.get_opt(name).await)?;
    let names = PLURALS.map(mutating_entry);
    let webhooks = found.webhooks.unwrap_or_default().into_iter();
    let entries = webhooks.filter(|entry| names.contains(&entry.name)).map(|entry| {
        let (selector, policy) = (entry.namespace_selector.as_ref(), entry.failure_policy.as_deref());
        Entry::new(what, name, &entry.name, &entry.client_config, selector, policy)
    });
    all_there(what, name, &names, entries.collect())
}

async fn validating(subject: &Subject<'_>, name: &str) -> Result<Vec<Entry>, Finding> {
    let what = "ValidatingWebhookConfiguration";
    let api = Api::<ValidatingWebhookConfiguration>::all(subject.client.clone());
    let found = present(what, name, api.get_opt(name).await)?;
    let names = PLURALS.map(validating_entry);
    let webhooks = found.webhooks.unwrap_or_default().into_iter();
    let entries = webhooks.filter(|entry| names.contains(&entry.name)).map(|entry| {
        let (selector, policy) = (entry.namespace_selector.as_ref(), entry.failure_policy.as_deref());
        Entry::new(what, name, &entry.name, &entry.client_config, selector, policy)
    });
    all_there(what, name, &names, entries.collect())
}

const INSTALL: &str = "install it again: `helm upgrade`, or streaming-operator webhook-config | kubectl apply \
                       --server-side -f -";

fn present<K>(what: &str, name: &str, got: Result<Option<K>, kube::Error>) -> Result<K, Finding> {
    let got = got.map_err(|error| Finding::unasked(CHECK, &format!("get {what} {name}"), &error))?;
    got.ok_or_else(|| Finding::wrong(CHECK, format!("{what} {name} is not there"), INSTALL))
}

/// The entries, if there is one of each of our names.
fn all_there(what: &str, name: &str, names: &[String], entries: Vec<Entry>) -> Result<Vec<Entry>, Finding> {
    let is_there = |wanted: &&String| entries.iter().any(|entry| entry.name == **wanted);
    let missing: Vec<&str> = names
        .iter()
        .filter(|name| !is_there(name))
        .map(String::as_str)
        .collect();
    if missing.is_empty() {
        return Ok(entries);
    }
    let missing = missing.join(" and no entry ");
    let message = format!("{what} {name} has no entry {missing}: the operator is not asked about that kind");
    Err(Finding::wrong(CHECK, message, INSTALL))
}

impl Entry {
    fn new(
        kind: &str,
        configuration: &str,
        name: &str,
        client: &WebhookClientConfig,
        selector: Option<&LabelSelector>,
        policy: Option<&str>,
    ) -> Self {
        let url = client.url.as_ref().and_then(|url| url.parse::<http::Uri>().ok());
        let host = match (&client.service, &url) {
            (Some(service), _) => format!("{}.{}.svc", service.name, service.namespace),
            (None, Some(url)) => url.host().unwrap_or_default().trim_matches(['[', ']']).to_owned(),
            (None, None) => String::new(),
        };
        Self {
            name: name.to_owned(),
            what: format!("{kind} {configuration} ({name})"),
            host,
            bundle: client.ca_bundle.clone().unwrap_or_default().0,
            service: client.service.clone(),
            watched: Watched::selected(selector),
            ignores: policy == Some("Ignore"),
        }
    }
}

fn judge(entry: &Entry, subject: &Subject<'_>, webhook: &WebhookSettings) -> Vec<Finding> {
    let what = &entry.what;
    let who_writes = match webhook.certificate {
        Source::SelfMade(_) => "the leading operator writes it within seconds: look at its log",
        Source::Files(_) => {
            "the leading operator writes it from ca.crt of its Secret, or cert-manager's injector does: look at both logs"
        }
    };
    let mut findings = vec![match Certificate::parse_all(&entry.bundle) {
        _ if entry.bundle.is_empty() => Finding::wrong(
            CHECK,
            format!("{what}: caBundle is empty, so the API server trusts no operator"),
            who_writes,
        ),
        Err(fault) => Finding::wrong(CHECK, format!("{what}: caBundle cannot be read: {fault}"), who_writes),
        Ok(authorities) => {
            let count = authorities.len();
            Finding::ok(
                CHECK,
                format!(
                    "{what}: caBundle has {count} certificate{}",
                    if count == 1 { "" } else { "s" }
                ),
            )
        }
    }];
    let watched = Watched::of(&subject.settings.watch_namespaces);
    if entry.watched != watched {
        let message = format!(
            "{what} is for {}, and the operator runs the pipelines of {watched}",
            entry.watched
        );
        findings.push(Finding::wrong(CHECK, message, INSTALL));
    }
    if entry.ignores {
        let message = format!("{what} has failurePolicy Ignore: while no replica answers, faulty pipelines are let in");
        let todo = "webhook.failurePolicy=Fail, unless it is meant so";
        findings.push(Finding::told(CHECK, State::Warning, message, todo));
    }
    findings
}

/// Whether something stands behind the Service.
async fn reached(subject: &Subject<'_>, reference: &ServiceReference) -> Result<Finding, Finding> {
    let (namespace, name) = (&reference.namespace, &reference.name);
    let unasked = |what: &str, error: &kube::Error| Finding::unasked(CHECK, &format!("{what} in {namespace}"), error);
    let api = Api::<Service>::namespaced(subject.client.clone(), namespace);
    let service = api
        .get_opt(name)
        .await
        .map_err(|error| unasked("get services", &error))?;
    let Some(service) = service else {
        let message = format!("Service {namespace}/{name} is not there: the API server cannot call the webhook");
        return Ok(Finding::wrong(CHECK, message, INSTALL));
    };
    let spec = service.spec.unwrap_or_default();
    if let Some(host) = spec
        .external_name
        .filter(|_| spec.type_.as_deref() == Some("ExternalName"))
    {
        return Ok(Finding::ok(
            CHECK,
            format!("Service {namespace}/{name} leads to {host}"),
        ));
    }
    let port = reference.port.unwrap_or(443);
    if !spec.ports.iter().flatten().any(|one| one.port == port) {
        let message = format!("Service {namespace}/{name} has no port {port}, which the configurations name");
        return Ok(Finding::wrong(CHECK, message, INSTALL));
    }
    let slices = Api::<EndpointSlice>::namespaced(subject.client.clone(), namespace);
    let params = ListParams::default().labels(&format!("kubernetes.io/service-name={name}"));
    let slices = slices
        .list(&params)
        .await
        .map_err(|error| unasked("list endpointslices", &error))?;
    let endpoints = slices.items.into_iter().flat_map(|slice| slice.endpoints);
    let ready = endpoints.filter(|endpoint| {
        endpoint
            .conditions
            .as_ref()
            .is_none_or(|conditions| conditions.ready != Some(false))
    });
    Ok(match ready.count() {
        0 => Finding::wrong(
            CHECK,
            format!(
                "Service {namespace}/{name} has no ready endpoint: creates and spec edits of pipelines are refused"
            ),
            "no replica is ready: look at the operator's Pods; the rescue is in docs/admission.md",
        ),
        ready => Finding::ok(CHECK, format!("Service {namespace}/{name} has {ready} ready endpoints")),
    })
}
