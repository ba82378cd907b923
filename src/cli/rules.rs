//! `streaming-operator rules`: prints the rules of validation as Markdown. Must never say more than the table of rules.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::process::ExitCode;

use crate::core::validation::{RULES, Rule};

const HEAD: &str = "\
# Rules of validation

<!-- Printed by `streaming-operator rules`; `make generate` writes this file. -->

What makes a StreamingPipeline invalid, in the order in which faults are told. Webhook, controller and command line judge by
the same rules. The name of a rule is what `rule` says in the output of `validate -o json`. In messages, what stands in
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
        let Rule {
            name,
            asks,
            messages,
            example,
            ..
        } = rule;
        let messages: String = messages
            .iter()
            .fold(String::new(), |text, message| text + "- `" + message + "`\n");
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "\n## {name}\n\n{asks}\n\n{messages}\nRefused:\n\n```yaml\n{example}\n```\n"
        );
    }
    text
}
