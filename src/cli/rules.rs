//! `streaming-operator rules`: prints the rules of validation as Markdown, and the refusals of the webhook besides them.
//! Must never have a text of its own for what another module says: it lets that say it, of names in braces.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::process::ExitCode;

use k8s_openapi::api::authentication::v1::UserInfo;

use super::dry_run;
use super::judge::{DUPLICATE_ANALYSES, DUPLICATE_KEY, DUPLICATE_KEYS, DUPLICATE_PIPELINES, stands_already};
use crate::core::analysis::admission::ANALYSIS_WARNING_RULES;
use crate::core::analysis::rules::ANALYSIS_RULES;
use crate::core::collision::{Collision, PipelineId};
use crate::core::validation::{METADATA, RULES, WARNING_RULES, WarningRule};
use crate::webhook::access::{self, Right};
use crate::webhook::judge::{NAME_COLLISION, name_collision};
use crate::webhook::review::{Kind, Operation, Request};

/// What stands between the rules and what only a cluster can tell.
const OTHERS: &str = "
# What else the webhook asks

These are judged against other objects of the cluster: with `validate --server`, and names among the given files offline too.
";

/// What stands before the rules of analyses.
const ANALYSES: &str = "
# Rules of a RolloutAnalysis

The CRD's schema asks for most of this too, in the same words, so that it holds while the operator is away.
";

/// What stands before the table of the other names.
const OTHER_NAMES: &str = "
# Other names

What else `rule` can be in the output of `validate -o json` and `render -o rendered`. A fault that the stored object has
already is a warning under the name of its rule: `(fault of the stored object) {message}`.

| rule | is a | says |
|---|---|---|
";

const HEAD: &str = "\
# Rules of validation

<!-- Printed by `streaming-operator rules`; `make generate` writes this file. -->

What makes a StreamingPipeline invalid, in the order in which faults are told, and then [the same of a
RolloutAnalysis](#rules-of-a-rolloutanalysis). Webhook, controller and command line judge by the same rules. The name of a rule is what `rule` says in the output of `validate -o json`. In messages, what stands in
braces depends on the object; each comes after the path of the field.

What the CRD's schema asks for (types, required fields, lengths, ranges, what may not change) the API server judges itself,
also while the operator is away. It does so before it asks the webhook, so such a fault is told in its words:
`spec.replicas: Invalid value: 1000: spec.replicas in body should be less than or equal to 999`.
";

/// Prints every rule.
pub(super) fn run() -> ExitCode {
    let printed = io::stdout().lock().write_all(markdown().as_bytes());
    super::after_printing(printed, ExitCode::SUCCESS)
}

fn markdown() -> String {
    let mut text = HEAD.to_owned();
    for rule in RULES {
        put_rule(&mut text, rule.name, rule.asks, rule.messages, rule.example);
    }
    text.push_str(ANALYSES);
    for rule in ANALYSIS_RULES {
        put_rule(&mut text, rule.name, rule.asks, rule.messages, rule.example);
    }
    text + OTHERS + &collisions() + &access_refusals() + &other_names()
}

fn put_rule(text: &mut String, name: &str, asks: &str, messages: &[&str], example: &str) {
    let messages: String = messages
        .iter()
        .fold(String::new(), |text, message| text + "- `" + message + "`\n");
    // Writing to a String cannot fail.
    let _ = write!(
        text,
        "\n## {name}\n\n{asks}\n\n{messages}\nRefused:\n\n```yaml\n{example}\n```\n"
    );
}

/// The names besides those of the rules, which the output has too.
fn other_names() -> String {
    let metadata = "what the API server says of a name, a namespace, labels and annotations, in words of our own";
    let server = "what the API server alone says to a dry run (`--server`), in its words";
    let stands_already = |what| format!("`{}`", stands_already(what, "{file}", "{line}"));
    let duplicate_key = format!("`{DUPLICATE_KEY}`");
    let mut rows = vec![
        (METADATA, "fault", metadata.to_owned()),
        (DUPLICATE_KEYS, "fault", duplicate_key),
        (DUPLICATE_PIPELINES, "fault", stands_already("pipeline")),
        (DUPLICATE_ANALYSES, "fault", stands_already("analysis")),
        (NAME_COLLISION, "fault", "see above".to_owned()),
        (dry_run::RULE, "fault or warning", server.to_owned()),
    ];
    let warnings = WARNING_RULES.iter().chain(ANALYSIS_WARNING_RULES);
    rows.extend(warnings.map(|WarningRule { name, messages }| {
        let messages: Vec<_> = messages.iter().map(|message| format!("`{message}`")).collect();
        (*name, "warning", messages.join("<br>"))
    }));
    rows.iter().fold(OTHER_NAMES.to_owned(), |text, (name, what, says)| {
        text + &format!("| `{name}` | {what} | {says} |\n")
    })
}

fn collisions() -> String {
    let fault = name_collision(&Collision {
        holder: PipelineId {
            namespace: "{namespace}".to_owned(),
            name: "{holder}".to_owned(),
        },
        name: "{name}".to_owned(),
        namespace: "{workload namespace}".to_owned(),
    });
    format!(
        "\n## {NAME_COLLISION}\n\nNo other pipeline can have Pods or ConfigMaps of the same name in the namespace in which \
         the Pods run. A fault of\n`{}`, with reason `{}`.\n\n- `{}`\n",
        fault.path,
        fault.kind.as_str(),
        fault.message
    )
}

fn access_refusals() -> String {
    let request = |kind, name: &str| Request {
        kind,
        operation: Operation::Create,
        sub_resource: String::new(),
        namespace: "{namespace}".to_owned(),
        name: name.to_owned(),
        dry_run: false,
        user: UserInfo {
            username: Some("{user}".to_owned()),
            ..UserInfo::default()
        },
        object: serde_json::Value::Null,
        old_object: None,
    };
    let lines = |request: &Request, right: &Right| -> String {
        let told = [
            access::denial(request, right, ""),
            access::denial(request, right, "{answer}"),
            access::unanswered(request, right, "{error}"),
        ];
        let statuses = told.into_iter().filter_map(|answer| answer.refusal);
        let lines = statuses.map(|status| {
            let (code, message) = (status.code.unwrap_or_default(), status.message.unwrap_or_default());
            format!("- HTTP {code}: `{message}`\n")
        });
        lines.collect()
    };
    let pods = Right::CreatePods {
        namespace: "{workload namespace}".to_owned(),
    };
    let deployment = Right::PatchDeployment {
        namespace: "{namespace}".to_owned(),
        name: "{deployment}".to_owned(),
    };
    "\n## Forbidden\n\nWith `--workload-namespace`, whoever creates a pipeline elsewhere or changes its `spec` must be allowed \
     to create Pods\nthere. The whole request is refused, before any other fault is looked for.\n\n"
        .to_owned()
        + &lines(&request(Kind::StreamingPipeline, "{pipeline}"), &pods)
        + "\nWhoever makes a Deployment the target of a RolloutAnalysis must be allowed to patch it; likewise.\n\n"
        + &lines(&request(Kind::RolloutAnalysis, "{analysis}"), &deployment)
}
