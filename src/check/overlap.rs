//! Whether another release runs the same pipelines. Must never judge it otherwise than the operator does.

use std::collections::BTreeMap;

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::api::ListParams;
use kube::{Api, ResourceExt as _};

use super::{Finding, Subject};
use crate::core::overlap::{Claim, REMEDY, Watched, in_the_way};

pub(super) async fn look(subject: &Subject<'_>) -> Vec<Finding> {
    if !subject.settings.controller_enabled {
        return Vec::new();
    }
    let api = Api::<ValidatingWebhookConfiguration>::all(subject.client.clone());
    let configurations = match api.list(&ListParams::default()).await {
        Ok(list) => list.items,
        Err(error) => {
            let what = "list validatingwebhookconfigurations";
            return vec![Finding::unasked("overlap", what, &error)];
        }
    };
    let claims = configurations
        .iter()
        .filter_map(|one| Some((one.name_any(), Claim::of(one)?)));
    let claims: BTreeMap<String, Claim> = claims.collect();
    let watched = Watched::of(&subject.settings.watch_namespaces);
    let own = subject
        .settings
        .webhook
        .as_ref()
        .map(|webhook| webhook.config_name.as_str());
    let overlaps = in_the_way(own, &watched, &claims);
    if overlaps.is_empty() {
        return vec![Finding::ok(
            "overlap",
            format!("no other release runs the pipelines of {watched}"),
        )];
    }
    let findings = overlaps
        .iter()
        .map(|overlap| Finding::wrong("overlap", format!("runs no pipelines: {overlap}"), REMEDY));
    findings.collect()
}
