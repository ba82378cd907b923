//! The CRDs as the API server has them, compared with those of this release. Must never change one.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, Client, ResourceExt as _};

use super::fault::Fault;
use crate::api::manifests::{self, is_established};
use crate::core::schema::missing_fields;

/// How many of the missing fields a text names.
const NAMED_MAX: usize = 20;

/// How a CRD of ours stands in the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It has everything that this release writes and reads.
    Fine,
    /// It is not there.
    Absent,
    /// It is not served yet, or no more.
    NotEstablished,
    /// It lacks these fields of this release; the API server would drop them.
    Older(Vec<String>),
    /// It may not be read, in the words of the API server.
    Unreadable(String),
}

impl State {
    /// What is wrong with the CRD `name` and what to do; `None` when nothing is.
    #[must_use]
    pub fn fault(&self, name: &str) -> Option<Fault> {
        let apply = "`streaming-operator crd | kubectl apply --server-side -f -`";
        let (what, todo) = match self {
            Self::Fine => return None,
            Self::Absent => ("is not there".to_owned(), format!("{apply} makes it")),
            Self::NotEstablished => (
                "is not Established".to_owned(),
                format!("`kubectl describe crd {name}` says why"),
            ),
            Self::Older(fields) => (
                format!("is older than this release and lacks {}", named(fields)),
                format!("{apply} upgrades it, as `helm upgrade` does with crds.install"),
            ),
            Self::Unreadable(why) => (
                format!("may not be read: {why}"),
                "The ClusterRole of the chart grants it (chart/templates/rbac.yaml)".to_owned(),
            ),
        };
        Some(Fault {
            what: format!("the CustomResourceDefinition {name} {what}"),
            todo,
        })
    }
}

/// The first ones by name, the others by number.
fn named(fields: &[String]) -> String {
    let first: Vec<&str> = fields.iter().take(NAMED_MAX).map(String::as_str).collect();
    match fields.len().saturating_sub(NAMED_MAX) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// Each CRD of this release by name. Fails when the API server cannot say.
pub async fn look(client: &Client) -> Result<Vec<(String, State)>, kube::Error> {
    let api = Api::<CustomResourceDefinition>::all(client.clone());
    let mut found = Vec::new();
    for ours in manifests::crds() {
        let name = ours.name_any();
        let state = match api.get_opt(&name).await {
            Ok(None) => State::Absent,
            Ok(Some(stored)) if !is_established(&stored) => State::NotEstablished,
            Ok(Some(stored)) => match missing_fields(&stored, &ours) {
                fields if fields.is_empty() => State::Fine,
                fields => State::Older(fields),
            },
            Err(kube::Error::Api(status)) if matches!(status.code, 401 | 403) => {
                State::Unreadable(status.message.clone())
            }
            Err(error) => return Err(error),
        };
        found.push((name, state));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::State;

    #[test]
    fn what_an_older_crd_lacks_is_named_and_after_twenty_counted() {
        let fields = (0..22).map(|n| format!("spec.f{n}")).collect();
        let fault = State::Older(fields).fault("x.example").expect("a fault").to_string();
        assert!(
            fault.starts_with("the CustomResourceDefinition x.example is older than this release and lacks spec.f0, "),
            "{fault}"
        );
        assert!(
            fault.contains("spec.f19 and 2 more. `streaming-operator crd"),
            "{fault}"
        );
        assert_eq!(State::Fine.fault("x.example"), None);
    }
}
