//! `streaming-operator crd`: prints the CustomResourceDefinitions. Must never differ from what the types say.

use std::process::ExitCode;

use crate::api::manifests;

/// Prints every CRD as a YAML document.
pub(super) fn run() -> ExitCode {
    super::print_documents(manifests::crds().iter())
}
