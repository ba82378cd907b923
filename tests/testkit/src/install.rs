//! Puts into a control plane what an installed release has: CRDs, the operator's rights as the chart gives them, and the
//! webhook configurations.
//!
//! Takes everything from the files that users get (`crds/`, `chart/`, `webhook-config/`), so that a right or a rule that
//! is missing there is missing in the tests too.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::control_plane::ControlPlane;
use crate::{assets, children, users};

/// The Service through which the API server finds the webhook, as in the chart.
pub const SERVICE: &str = "streaming-operator";

/// The rights of one release.
#[derive(Clone, Debug)]
pub struct Roles {
    /// The namespace of the release, which has the operator's Lease and Secret.
    pub namespace: String,
    /// The namespaces whose pipelines are run; empty for all.
    pub watch_namespaces: Vec<String>,
    /// Where Pods go, when that is not the pipeline's namespace.
    pub workload_namespace: Option<String>,
    /// Where the Python operator ran Deployments that are taken over (`settings.legacyNamespace`).
    pub legacy_namespace: Option<String>,
    /// Whether analyses may have Deployments as targets (`settings.deploymentTargets`).
    pub deployment_targets: bool,
    /// The name of the release's objects. Two releases on one control plane need two.
    pub full_name: String,
    /// Who gets the rights. A control plane adds up what a user was ever given: tests with different roles on one
    /// control plane need different users.
    pub user: String,
}

impl Roles {
    /// Rights of the user `operator` over all namespaces, for a release in `namespace`.
    #[must_use]
    pub fn everywhere(namespace: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            watch_namespaces: Vec::new(),
            workload_namespace: None,
            legacy_namespace: None,
            deployment_targets: true,
            full_name: "streaming-operator".to_owned(),
            user: users::OPERATOR.to_owned(),
        }
    }

    /// Rights of the user `operator` over the namespaces `watched` only.
    #[must_use]
    pub fn within(namespace: &str, watched: &[&str]) -> Self {
        Self {
            watch_namespaces: watched.iter().map(|name| (*name).to_owned()).collect(),
            ..Self::everywhere(namespace)
        }
    }
}

/// The webhook configurations of one operator outside the cluster.
#[derive(Clone, Debug)]
pub struct Webhooks {
    /// The name of both configurations.
    pub name: String,
    /// The namespace of the Service. The operator's certificate must be for [`Webhooks::host`].
    pub namespace: String,
    /// The loopback port of the operator, or of the balancer before several.
    pub port: u16,
    /// The namespaces whose pipelines the webhook judges; empty for all.
    pub watch_namespaces: Vec<String>,
    /// The file with both configurations in the Service form.
    pub manifest: PathBuf,
}

impl Webhooks {
    /// The configurations of `webhook-config/webhooks.yaml` for all namespaces.
    #[must_use]
    pub fn new(namespace: &str, port: u16) -> Self {
        Self {
            name: "streaming-operator".to_owned(),
            namespace: namespace.to_owned(),
            port,
            watch_namespaces: Vec::new(),
            manifest: assets::repository().join("webhook-config/webhooks.yaml"),
        }
    }

    /// The name that the API server expects in the certificate: that of a Service.
    #[must_use]
    pub fn host(&self) -> String {
        service_host(&self.namespace)
    }
}

/// The name that the API server expects in the certificate of a webhook whose Service is in `namespace`.
#[must_use]
pub fn service_host(namespace: &str) -> String {
    format!("{SERVICE}.{namespace}.svc")
}

impl ControlPlane {
    /// Applies the YAML files of a folder that holds CRDs, and waits until the API server serves them.
    ///
    /// # Errors
    /// When one is refused or is not Established within a minute.
    pub async fn install_crds(&self, folder: &Path) -> Result<()> {
        let folder = folder.to_str().context("a path that is no UTF-8")?;
        self.kubectl(&["apply", "--server-side", "--force-conflicts", "--filename", folder])
            .await?;
        self.kubectl(&[
            "wait",
            "--for=condition=Established",
            "--timeout=60s",
            "--filename",
            folder,
        ])
        .await?;
        Ok(())
    }

    /// Gives a user exactly the rights that the chart gives the operator's `ServiceAccount`.
    ///
    /// # Errors
    /// When helm does not render the chart, or a namespace does not exist.
    pub async fn install_roles(&self, roles: &Roles) -> Result<()> {
        let objects = render_roles(roles)?;
        ensure!(!objects.is_empty(), "the chart renders no roles");
        self.apply(&objects).await
    }

    /// Installs the webhook configurations of an operator that runs outside the cluster.
    ///
    /// The form stays that of production, `clientConfig.service`: an address on a loopback URL would be spoken to with
    /// HTTP/2. A Service of type `ExternalName` leads it to `localhost`.
    ///
    /// # Errors
    /// When the manifest cannot be read or is refused.
    pub async fn install_webhooks(&self, webhooks: &Webhooks) -> Result<()> {
        let text = std::fs::read_to_string(&webhooks.manifest)
            .with_context(|| format!("cannot read {}", webhooks.manifest.display()))?;
        let mut objects = vec![json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": { "name": SERVICE, "namespace": webhooks.namespace },
            "spec": { "type": "ExternalName", "externalName": "localhost" },
        })];
        for mut object in documents(&text)? {
            point_at(&mut object, webhooks)?;
            objects.push(object);
        }
        self.apply(&objects).await
    }

    /// Applies objects as `admin`, server-side, whoever owned a field before.
    ///
    /// # Errors
    /// When one is refused.
    pub async fn apply(&self, objects: &[Value]) -> Result<()> {
        let mut file = tempfile::Builder::new().suffix(".json").tempfile_in(self.folder())?;
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
        std::io::Write::write_all(&mut file, list.to_string().as_bytes())?;
        let path = file.path().to_str().context("a path that is no UTF-8")?;
        self.kubectl(&["apply", "--server-side", "--force-conflicts", "--filename", path])
            .await?;
        Ok(())
    }
}

/// The roles and bindings of the chart, given to the user instead of the `ServiceAccount`.
///
/// # Errors
/// When helm fails or renders something that is no YAML.
pub fn render_roles(roles: &Roles) -> Result<Vec<Value>> {
    let values = json!({ "watchNamespaces": roles.watch_namespaces });
    let mut command = Command::new(assets::asset("helm")?);
    command
        .args(["template", "streaming-operator"])
        .arg(assets::repository().join("chart"));
    command.args(["--namespace", &roles.namespace, "--show-only", "templates/rbac.yaml"]);
    command.args(["--set-json", &values.to_string()]);
    command.args(["--set-string", &format!("fullnameOverride={}", roles.full_name)]);
    if let Some(workload_namespace) = &roles.workload_namespace {
        command.args(["--set-string", &format!("workloadNamespace={workload_namespace}")]);
    }
    command.args([
        "--set",
        &format!("settings.deploymentTargets={}", roles.deployment_targets),
    ]);
    if let Some(legacy_namespace) = &roles.legacy_namespace {
        command.args(["--set-string", &format!("settings.legacyNamespace={legacy_namespace}")]);
    }
    let mut objects = documents(&children::output(&command)?)?;
    for object in &mut objects {
        if let Some(subjects) = object.get_mut("subjects") {
            *subjects = json!([{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": roles.user }]);
        }
    }
    Ok(objects)
}

/// Leads a webhook configuration to the operator's port and limits it to the watched namespaces.
fn point_at(object: &mut Value, to: &Webhooks) -> Result<()> {
    *object
        .pointer_mut("/metadata/name")
        .context("a configuration without a name")? = to.name.clone().into();
    let hooks = object
        .get_mut("webhooks")
        .and_then(Value::as_array_mut)
        .context("a configuration without webhooks")?;
    for hook in hooks {
        let service = hook.pointer_mut("/clientConfig/service").and_then(Value::as_object_mut);
        let service = service.context("a webhook that is not in the Service form")?;
        service.insert("name".to_owned(), SERVICE.into());
        service.insert("namespace".to_owned(), to.namespace.clone().into());
        service.insert("port".to_owned(), to.port.into());
        if !to.watch_namespaces.is_empty() {
            let selector = json!({ "matchExpressions": [{
                "key": "kubernetes.io/metadata.name", "operator": "In", "values": to.watch_namespaces,
            }] });
            let hook = hook.as_object_mut().context("a webhook that is no object")?;
            hook.insert("namespaceSelector".to_owned(), selector);
        }
    }
    Ok(())
}

/// The documents of a YAML text, without empty ones.
///
/// # Errors
/// When it is no YAML.
pub fn documents(text: &str) -> Result<Vec<Value>> {
    let documents: Vec<BTreeMap<String, Value>> = serde_saphyr::from_multiple(text)?;
    Ok(documents
        .into_iter()
        .filter(|one| !one.is_empty())
        .map(|one| Value::Object(one.into_iter().collect()))
        .collect())
}
