//! `streaming-operator webhook-config`: prints the webhook configurations. Must never print a `caBundle`: the running
//! operator writes that.

use std::process::ExitCode;

use clap::Args;

use crate::webhook::manifests::{self, BaseUrl, CONFIGURATION_NAME, Configuration, Endpoint, ServiceAddress};

/// Where the API server finds the webhook, and which namespaces it asks about.
#[derive(Debug, Args)]
pub(super) struct WebhookConfigArgs {
    /// The Service in front of the operator, as NAMESPACE/NAME or NAMESPACE/NAME:PORT [default:
    /// streaming-operator/streaming-operator:443]
    #[arg(long, value_name = "NS/NAME[:PORT]", conflicts_with = "url")]
    service: Option<ServiceAddress>,

    /// The operator's address when it runs outside the cluster, as https://HOST:PORT
    #[arg(long, value_name = "URL")]
    url: Option<BaseUrl>,

    /// Name of both configurations
    #[arg(long, value_name = "NAME", default_value = CONFIGURATION_NAME)]
    webhook_config_name: String,

    /// Namespace whose pipelines the operator watches; repeatable; all without it
    #[arg(long = "watch-namespace", value_name = "NAMESPACE", value_parser = super::namespace::namespace)]
    watch_namespaces: Vec<String>,
}

/// Prints both configurations as YAML documents.
pub(super) fn run(args: WebhookConfigArgs) -> ExitCode {
    let endpoint = match (args.url, args.service) {
        (Some(url), _) => Endpoint::Url(url),
        (None, service) => Endpoint::Service(service.unwrap_or_default()),
    };
    let configuration = Configuration {
        name: args.webhook_config_name,
        endpoint,
        watch_namespaces: args.watch_namespaces,
    };
    let printed = super::print_documents(std::iter::once(&manifests::mutating(&configuration)));
    if printed != ExitCode::SUCCESS {
        return printed;
    }
    super::print_documents(std::iter::once(&manifests::validating(&configuration)))
}
