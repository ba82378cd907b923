//! `streaming-operator render`: what would be created for the pipelines in files, offline.

use std::io::{self, Write};
use std::process::ExitCode;

use clap::ValueEnum;
use serde_json::{Value, json};

use super::input::{self, Document, Input};
use super::judge::{Fault, judge, notes};
use super::namespace::WorkloadNamespace;
use super::validate::{exit_code, fault_line};
use super::yaml::to_yaml;
use crate::api::PodReplacementPolicy;
use crate::core::names::{Generation, Ordinal, WorkloadSet};
use crate::core::render::{Owner, PodIdentity, SetTemplate, config_map, pod_from_template};
use crate::core::valid::ValidPipeline;

/// Stands in for the uid that only an API server gives.
const NO_UID: &str = "00000000-0000-0000-0000-000000000000";

/// What to render, and how to print it.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Files and folders of manifests (.yaml, .yml, .json); - is stdin. Other kinds in them are skipped.
    #[arg(short = 'f', long = "filename", value_name = "FILE|-", required = true)]
    files: Vec<String>,
    /// yaml and json: the ConfigMap and the Pods as they would be created. rendered: one line of JSON a pipeline, with
    /// the templates of both sets.
    #[arg(short, long, value_enum, default_value_t = Output::Yaml)]
    output: Output,
    #[command(flatten)]
    workload_namespace: WorkloadNamespace,
}

/// Form of what is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    Yaml,
    Json,
    Rendered,
}

/// Renders the files. Exit code 0: done; 1: a pipeline has faults, the others are printed; 2: something could not be
/// read.
pub(super) fn run(args: &Args) -> ExitCode {
    if let Some(refused) = super::refuse_stdin_twice(&args.files) {
        return refused;
    }
    let input = input::read(&args.files);
    input.report(&args.files);
    // The lines of `rendered` are for comparisons, one document with another.
    if args.output != Output::Rendered {
        eprint!("{}", notes(&input));
    }
    let mut is_valid = true;
    let mut out = io::BufWriter::new(io::stdout().lock());
    let printed = print(&mut out, &input, args, &mut is_valid).and_then(|()| out.flush());
    super::after_printing(printed, exit_code(&input, is_valid))
}

/// Prints every pipeline; `is_valid` becomes false when one has faults.
fn print(out: &mut impl Write, input: &Input, args: &Args, is_valid: &mut bool) -> io::Result<()> {
    let mut items = Vec::new();
    for document in &input.documents {
        let answer = judge(document);
        *is_valid &= answer.pipeline.is_ok();
        match (args.output, answer.pipeline) {
            (Output::Rendered, pipeline) => print_rendered(out, document, &pipeline)?,
            (_, Err(faults)) => print_faults(document, &faults),
            (Output::Yaml, Ok(pipeline)) => print_yaml(out, &objects(document, &pipeline, args))?,
            (Output::Json, Ok(pipeline)) => items.extend(objects(document, &pipeline, args)),
        }
    }
    if args.output == Output::Json {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
        writeln!(out, "{list:#}")?;
    }
    Ok(())
}

fn print_faults(document: &Document, faults: &[Fault]) {
    for fault in faults {
        eprintln!("{}", fault_line(document, fault));
    }
}

fn print_yaml(out: &mut impl Write, objects: &[Value]) -> io::Result<()> {
    for object in objects {
        let text = to_yaml(object).map_err(io::Error::other)?;
        write!(out, "---\n{text}")?;
    }
    Ok(())
}

/// The ConfigMap and the Pods, generation 0, in the order in which they would be created.
fn objects(document: &Document, pipeline: &ValidPipeline, args: &Args) -> Vec<Value> {
    let uid = document.object.pointer("/metadata/uid").and_then(Value::as_str);
    let owner = Owner {
        namespace: document.namespace().to_owned(),
        name: document.name().to_owned(),
        uid: uid.unwrap_or(NO_UID).to_owned(),
    };
    let namespace = args.workload_namespace.get().unwrap_or(&owner.namespace);
    let rendered = pipeline.rendered();
    let config = config_map(&rendered.config, &owner, pipeline.revision(), namespace);
    let mut objects = vec![json!(config)];
    for set in WorkloadSet::ALL {
        let Some(template) = rendered.set(set) else { continue };
        for ordinal in Ordinal::all(pipeline.counts().of(set)) {
            let identity = PodIdentity {
                base: &template.base,
                set,
                ordinal,
                generation: Generation::default(),
                revision: pipeline.revision(),
                owner: &owner,
                namespace,
                failures: 0,
                static_membership: pipeline.spec().rollout.pod_replacement_policy == PodReplacementPolicy::Failed,
            };
            objects.push(pod_from_template(&template.template, &identity));
        }
    }
    objects
}

fn print_rendered(
    out: &mut impl Write,
    document: &Document,
    pipeline: &Result<Box<ValidPipeline>, Vec<Fault>>,
) -> io::Result<()> {
    let (name, namespace) = (document.name(), document.namespace());
    let line = match pipeline {
        Err(faults) => json!({"name": name, "namespace": namespace, "faults": faults}),
        Ok(pipeline) => {
            let rendered = pipeline.rendered();
            let config = &rendered.config;
            let wanted = pipeline.counts().canary > 0;
            let canary = rendered.canary.as_ref().filter(|_| wanted);
            json!({
                "name": name,
                "namespace": namespace,
                "configVersion": config.version,
                "configMap": {"name": config.name, "labels": config.labels, "text": config.text},
                "sets": {
                    "primary": set(&rendered.primary, pipeline.counts().primary),
                    "canary": canary.map(|canary| set(canary, pipeline.counts().canary)),
                },
            })
        }
    };
    writeln!(out, "{line}")
}

fn set(set: &SetTemplate, replicas: u16) -> Value {
    json!({"baseName": set.base.as_str(), "replicas": replicas, "template": set.template})
}
