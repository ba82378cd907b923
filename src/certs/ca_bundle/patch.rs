//! The patch that writes `caBundle` and nothing else, as an apply of our own field manager.
//!
//! Types of our own: those of Kubernetes would write their required fields too, and so take them from whoever applied
//! them.

use k8s_openapi::ByteString;
use k8s_openapi::Resource;
use k8s_openapi::api::admissionregistration::v1::{MutatingWebhookConfiguration, ValidatingWebhookConfiguration};
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde::Serialize;

use super::Kind;
use crate::api::meta;

#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
struct Configuration<'a> {
    api_version: &'static str,
    kind: &'static str,
    metadata: Metadata<'a>,
    webhooks: Vec<Webhook<'a>>,
}

#[derive(Serialize, Debug)]
struct Metadata<'a> {
    name: &'a str,
    /// Makes the API server refuse the patch when the object is gone or another one, instead of creating it.
    uid: &'a str,
}

#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
struct Webhook<'a> {
    name: &'a str,
    client_config: ClientConfig,
}

#[derive(Serialize, Debug)]
#[serde(rename_all = "camelCase")]
struct ClientConfig {
    ca_bundle: ByteString,
}

/// Writes `bundle` into the entries called `entries` of the configuration `name` with that uid.
pub(super) async fn patch(
    kind: Kind,
    client: &Client,
    name: &str,
    uid: &str,
    entries: &[&str],
    bundle: &[u8],
) -> Result<(), kube::Error> {
    let webhook = |name| Webhook {
        name,
        client_config: ClientConfig {
            ca_bundle: ByteString(bundle.to_vec()),
        },
    };
    let body = Patch::Apply(Configuration {
        api_version: MutatingWebhookConfiguration::API_VERSION,
        kind: kind.as_str(),
        metadata: Metadata { name, uid },
        webhooks: entries.iter().copied().map(webhook).collect(),
    });
    // Forced: whoever else set `caBundle` set one that does not trust what we serve.
    let params = PatchParams::apply(meta::FIELD_MANAGER_CA).force();
    match kind {
        Kind::Mutating => {
            let api = Api::<MutatingWebhookConfiguration>::all(client.clone());
            api.patch(name, &params, &body).await.map(|_| ())
        }
        Kind::Validating => {
            let api = Api::<ValidatingWebhookConfiguration>::all(client.clone());
            api.patch(name, &params, &body).await.map(|_| ())
        }
    }
}
