//! Which installed operator a command is about: found by its Deployment, as the chart labels it. Must never choose among
//! several.

use kube::Client;
use tokio::runtime::Runtime;

use super::server::Server;
use crate::check::{self, Installed};
use crate::client::in_words;

/// Where the operator is.
#[derive(Debug, clap::Args)]
pub(super) struct Place {
    /// Namespace of the operator. Without it: that of the one operator in the cluster, if it may be looked for; else the
    /// kubeconfig's.
    #[arg(short, long, value_name = "NAMESPACE", value_parser = super::namespace::namespace)]
    namespace: Option<String>,
}

/// What was found.
pub(super) enum Found {
    /// This one.
    One(Box<Installed>),
    /// None; with where it was looked for.
    None(String),
    /// Several, by namespace: one is to be named.
    Several(Vec<String>),
    /// It may not be looked for, or the API server failed; why.
    Unasked(String),
}

impl Place {
    /// Looks for the operator.
    pub(super) fn find(&self, runtime: &Runtime, client: &Client) -> Found {
        let found = runtime.block_on(check::find(client, self.namespace.as_deref()));
        match (found, &self.namespace) {
            (Err(kube::Error::Api(status)), None) if status.code == 403 => {
                let namespace = client.default_namespace().to_owned();
                let found = runtime.block_on(check::find(client, Some(&namespace)));
                found.map_or_else(
                    |error| Found::Unasked(in_words(&error)),
                    |found| Found::of(found, &namespace),
                )
            }
            (Err(error), _) => Found::Unasked(in_words(&error)),
            (Ok(found), namespace) => Found::of(found, namespace.as_deref().unwrap_or_default()),
        }
    }

    /// The namespace of an operator whose Deployment was not found.
    pub(super) fn namespace(&self, server: &Server) -> String {
        self.namespace.clone().unwrap_or_else(|| server.namespace.clone())
    }
}

impl Found {
    fn of(mut found: Vec<Installed>, namespace: &str) -> Self {
        if found.len() > 1 {
            let all = found.iter().map(|one| format!("{}/{}", one.namespace, one.name));
            return Self::Several(all.collect());
        }
        match (found.pop(), namespace) {
            (Some(one), _) => Self::One(Box::new(one)),
            (None, "") => Self::None("in any namespace".to_owned()),
            (None, namespace) => Self::None(format!("in namespace {namespace}")),
        }
    }
}
