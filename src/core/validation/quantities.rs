//! Rules on quantities: what the operator multiplies, and what the templates say.

use serde_json::Value;

use super::Subject;
use super::pod::{SOURCE_CONTAINERS, rendered_list};
use super::source::source;
use crate::core::path::{FieldPath, Step};
use crate::core::violation::{FaultKind, Finding};

/// Rule: requests and limits are quantities, and not negative.
pub(super) fn quantities(subject: &Subject<'_>) -> Vec<Finding> {
    let mut findings = products(subject);
    for list in SOURCE_CONTAINERS {
        for (index, container) in rendered_list(subject, list).iter().enumerate() {
            for section in ["requests", "limits"] {
                let resources = container.get("resources").and_then(|resources| resources.get(section));
                for (name, quantity) in resources.and_then(Value::as_object).into_iter().flatten() {
                    let is_ours = list == "containers"
                        && index == subject.composition.consumer_index
                        && is_told_already(subject, section, name);
                    if let Some(message) = fault(quantity)
                        && !is_ours
                    {
                        let steps = [
                            Step::Key("spec".to_owned()),
                            Step::Key(list.to_owned()),
                            Step::Index(index),
                            Step::Key("resources".to_owned()),
                            Step::Key(section.to_owned()),
                            Step::Key(name.clone()),
                        ];
                        findings.push(Finding::of_rendered(
                            source(subject, &steps),
                            FaultKind::Invalid,
                            message,
                        ));
                    }
                }
            }
        }
    }
    findings
}

/// Whether a negative quantity is the operator's product of a factor that is out of range, which is a fault of its own.
fn is_told_already(subject: &Subject<'_>, section: &str, name: &str) -> bool {
    let factor = match (section, name) {
        ("requests", "cpu") => subject.spec.cpu_per_process,
        ("requests" | "limits", "memory") => subject.spec.memory_per_process,
        _ => return false,
    };
    factor < 1
}

/// The products of a process's request and the number of processes.
fn products(subject: &Subject<'_>) -> Vec<Finding> {
    // A memory of so many MiB must be countable in bytes, which is how Kubernetes counts it.
    const BYTES_PER_MIB: i64 = 1 << 20;
    let factor = subject.processes.processes.unwrap_or(1).max(1);
    let spec = &*subject.spec;
    [
        ("cpu_per_process", spec.cpu_per_process.checked_mul(factor)),
        (
            "memory_per_process",
            spec.memory_per_process
                .checked_mul(factor)
                .and_then(|mebibytes| mebibytes.checked_mul(BYTES_PER_MIB)),
        ),
    ]
    .into_iter()
    .filter(|(_, product)| product.is_none())
    .map(|(field, _)| {
        let message = format!("times {factor} processes is more than a quantity can hold");
        Finding::of_rendered(FieldPath::spec(field), FaultKind::Invalid, message)
    })
    .collect()
}

fn fault(quantity: &Value) -> Option<String> {
    let text = match quantity {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        // Another type is the business of the typed Pod.
        _ => return None,
    };
    match sign(&text) {
        None => Some(format!("{text:?} is no quantity, such as 500m, 2, 1.5Gi or 1e3")),
        Some(Sign::Negative) => Some(format!("{text:?} is negative")),
        Some(Sign::Positive) => None,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    /// Zero and above.
    Positive,
    /// Below zero, or written with a minus.
    Negative,
}

/// Reads a quantity as Kubernetes does (k8s.io/apimachinery `resource.ParseQuantity`): a signed decimal number and a
/// suffix, binary (`Ki`), decimal (`m`, `k`) or an exponent. `None` when it is no quantity.
fn sign(text: &str) -> Option<Sign> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (Sign::Negative, rest),
        None => (Sign::Positive, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = rest
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(rest.len());
    let (number, suffix) = rest.split_at_checked(end)?;
    let digits = number.bytes().filter(u8::is_ascii_digit).count();
    let is_number = digits > 0 && number.len() - digits <= 1;
    (is_number && is_suffix(suffix)).then_some(sign)
}

fn is_suffix(suffix: &str) -> bool {
    let is_exponent = || {
        let exponent = suffix.strip_prefix(['e', 'E'])?;
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())).then_some(())
    };
    matches!(
        suffix,
        "" | "n" | "u" | "m" | "k" | "M" | "G" | "T" | "P" | "E" | "Ki" | "Mi" | "Gi" | "Ti" | "Pi" | "Ei"
    ) || is_exponent().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_read_as_kubernetes_reads_them() {
        for text in [
            "0", "1", "+1", "1.5", ".5", "5.", "100m", "1Ki", "1.5Gi", "1e3", "1E-3", "3E", "7k",
        ] {
            assert_eq!(sign(text), Some(Sign::Positive), "{text}");
        }
        assert_eq!(sign("-1Gi"), Some(Sign::Negative));
        for text in [
            "", "-", ".", "v", "1.2.3", "1 Gi", "1gi", "1K", "1e", "0x1", "1Mi ", "textm",
        ] {
            assert_eq!(sign(text), None, "{text}");
        }
    }
}
