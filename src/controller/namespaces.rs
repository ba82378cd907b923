//! How the namespaces are in which writes were refused. Watching all namespaces would cost every operator a right and a
//! watch for what hardly ever happens; so one is asked about only after a refusal, until it is well again. Must never
//! ask about a namespace in which nothing was refused.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client};

use crate::core::observed::NamespaceState;
use crate::core::plan::ActionResult;

/// Namespaces that may be missing or on their way out.
#[derive(Debug, Default)]
pub struct Namespaces(Mutex<HashSet<String>>);

impl Namespaces {
    /// Notes what came of a create in `namespace`.
    pub fn note(&self, namespace: &str, result: &ActionResult) {
        if let ActionResult::Refused { code, message, .. } = result
            && speaks_of_the_namespace(*code, message)
        {
            self.suspects().insert(namespace.to_owned());
        }
    }

    /// How the namespace is. When it cannot be asked about it counts as active: the next refusal says more.
    pub async fn state(&self, client: &Client, namespace: &str) -> NamespaceState {
        if !self.suspects().contains(namespace) {
            return NamespaceState::Active;
        }
        let state = match Api::<Namespace>::all(client.clone()).get_opt(namespace).await {
            Ok(None) => NamespaceState::Missing,
            Ok(Some(namespace)) if namespace.metadata.deletion_timestamp.is_some() => NamespaceState::Terminating,
            Ok(Some(_)) | Err(_) => NamespaceState::Active,
        };
        if state == NamespaceState::Active {
            self.suspects().remove(namespace);
        }
        state
    }

    fn suspects(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a refusal is about the namespace: the admission plugin `NamespaceLifecycle` answers 403 "... because it is
/// being terminated" and 404 "namespaces \"x\" not found".
fn speaks_of_the_namespace(code: u16, message: &str) -> bool {
    match code {
        403 => message.contains("because it is being terminated"),
        404 => message.starts_with("namespaces "),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_refusals_about_the_namespace_make_one_ask() {
        assert!(speaks_of_the_namespace(404, "namespaces \"x\" not found"));
        let terminating =
            "pods \"p\" is forbidden: unable to create new content in namespace x because it is being terminated";
        assert!(speaks_of_the_namespace(403, terminating));
        assert!(!speaks_of_the_namespace(403, "pods is forbidden: exceeded quota"));
        assert!(!speaks_of_the_namespace(404, "configmaps \"x\" not found"));
    }
}
