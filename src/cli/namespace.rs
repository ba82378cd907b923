//! Names of namespaces on the command line. Must never take what no namespace can be named.

use crate::core::names::is_dns_label;

/// Where the Pods of all pipelines run, as the offline commands are told.
#[derive(Debug, clap::Args)]
pub(super) struct WorkloadNamespace {
    /// Namespace in which the Pods of all pipelines run; without it, that of each pipeline. Names collide within one.
    #[arg(long, value_name = "NAMESPACE", env = "STREAMS_WORKLOAD_NAMESPACE", value_parser = namespace_or_none)]
    workload_namespace: Option<String>,
}

impl WorkloadNamespace {
    /// The namespace; `None`: that of each pipeline.
    pub(super) fn get(&self) -> Option<&str> {
        self.workload_namespace.as_deref().filter(|name| !name.is_empty())
    }
}

/// Reads the name of a namespace; fails with what it must be.
pub(super) fn namespace(text: &str) -> Result<String, &'static str> {
    if is_dns_label(text) {
        Ok(text.to_owned())
    } else {
        Err("must be the name of a namespace: 1 to 63 of a-z, 0-9 and -, beginning and ending with a letter or digit")
    }
}

/// An environment variable that is set to nothing is not set, as for `run`.
fn namespace_or_none(text: &str) -> Result<String, &'static str> {
    if text.is_empty() {
        Ok(String::new())
    } else {
        namespace(text)
    }
}
