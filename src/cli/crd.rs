//! `streaming-operator crd`: prints the CustomResourceDefinitions. Must never differ from what the types say.

use std::process::ExitCode;

use crate::api::{manifests, meta};

/// Which to print.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Plural names of the kinds, such as streamingpipelines; all of them without any
    #[arg(value_name = "PLURAL", value_parser = clap::builder::PossibleValuesParser::new(PLURALS))]
    plurals: Vec<String>,
}

const PLURALS: [&str; 2] = [meta::PLURAL, meta::ANALYSIS_PLURAL];

/// Prints every CRD that is asked for as a YAML document.
pub(super) fn run(args: &Args) -> ExitCode {
    let is_asked_for = |plural: &String| args.plurals.is_empty() || args.plurals.contains(plural);
    let crds = manifests::crds();
    super::print_documents(crds.iter().filter(|crd| is_asked_for(&crd.spec.names.plural)))
}
