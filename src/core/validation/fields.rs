//! Rules on single fields of `spec`. The CRD says them too, so that they hold while the webhook is away; the shared
//! validation says them again for files that no API server has seen.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::Subject;
use crate::api::streaming_pipeline::{PIPELINE_NAME_IMMUTABLE, SEGMENT_ID_IMMUTABLE, SERVICE_NAME_IMMUTABLE};
use crate::core::path::FieldPath;
use crate::core::violation::{FaultKind, Finding};

/// Longest name of the consumer container, in characters.
pub(super) const CONTAINER_NAME_LENGTH_MAX: usize = 63;

/// Rule: texts are not empty and not longer than the CRD allows, in characters.
pub(super) fn lengths(subject: &Subject<'_>) -> Vec<Finding> {
    const TEXT_LENGTH_MAX: usize = 253;
    let spec = &*subject.spec;
    [
        ("service_name", spec.service_name.as_str(), TEXT_LENGTH_MAX),
        ("pipeline_name", subject.pipeline_name.as_str(), TEXT_LENGTH_MAX),
        ("pipeline_module", spec.pipeline_module.as_str(), TEXT_LENGTH_MAX),
        ("image_name", spec.image_name.as_str(), usize::MAX),
        (
            "container_name",
            spec.container_name.as_str(),
            CONTAINER_NAME_LENGTH_MAX,
        ),
    ]
    .into_iter()
    .filter_map(|(field, text, length_max)| {
        let length = text.chars().count();
        let path = || FieldPath::spec(field);
        if length == 0 && subject.reading.has(field) {
            Some(Finding::of_value(path(), FaultKind::Invalid, "must not be empty"))
        } else if length > length_max {
            let message = format!("has {length} characters, at most {length_max} are allowed");
            Some(Finding::of_value(path(), FaultKind::TooLong, message))
        } else {
            None
        }
    })
    .collect()
}

/// Rule: numbers are in their range.
pub(super) fn ranges(subject: &Subject<'_>) -> Vec<Finding> {
    let spec = &*subject.spec;
    let rollout = &spec.rollout;
    let history = i64::from(spec.revision_history_limit);
    let ready = i64::from(rollout.min_ready_seconds);
    let deadline = i64::from(rollout.progress_deadline_seconds);
    [
        (["cpu_per_process", ""], spec.cpu_per_process, 1, i64::MAX),
        (["memory_per_process", ""], spec.memory_per_process, 1, i64::MAX),
        (["replicas", ""], spec.replicas, 0, 999),
        (["segment_id", ""], spec.segment_id, 0, i64::MAX),
        (["revisionHistoryLimit", ""], history, 0, 100),
        (["rollout", "minReadySeconds"], ready, 0, 86_400),
        (["rollout", "progressDeadlineSeconds"], deadline, 1, 604_800),
    ]
    .into_iter()
    .filter(|(_, value, min, max)| !(min..=max).contains(&value))
    .map(|([field, inner], value, min, max)| {
        let path = FieldPath::spec(field);
        let path = if inner.is_empty() { path } else { path.key(inner) };
        let message = if max == i64::MAX {
            format!("is {value}, must be at least {min}")
        } else {
            format!("is {value}, must be from {min} to {max}")
        };
        Finding::of_value(path, FaultKind::Invalid, message)
    })
    .collect()
}

/// Rule: `maxUnavailable` is a number of at least 1 or 1% to 100%, and `restartAt` is a time.
pub(super) fn rollout(subject: &Subject<'_>) -> Vec<Finding> {
    let rollout = &subject.spec.rollout;
    let mut findings = Vec::new();
    let is_valid = match &rollout.max_unavailable {
        IntOrString::Int(number) => *number >= 1,
        IntOrString::String(text) => is_percentage(text),
    };
    if !is_valid {
        let path = FieldPath::spec("rollout").key("maxUnavailable");
        let message = "must be an integer of at least 1, or a percentage from 1% to 100%";
        findings.push(Finding::of_value(path, FaultKind::Invalid, message));
    }
    if let Some(time) = &rollout.restart_at
        && !is_time(time)
    {
        let path = FieldPath::spec("rollout").key("restartAt");
        let message = "must be a time as in RFC 3339, such as 2025-01-31T12:00:00Z";
        findings.push(Finding::of_value(path, FaultKind::Invalid, message));
    }
    findings
}

/// Whether a text is a time that the API server takes too (`date-time` of RFC 3339, without leap seconds) and that can
/// be reckoned with: the parser alone takes more forms.
fn is_time(text: &str) -> bool {
    // `0` stands for any digit.
    const SHAPE: &[u8] = b"0000-00-00T00:00:00";
    let is_like = |shape: &[u8], text: &[u8]| {
        let fits = |(shape, byte): (&u8, &u8)| match shape {
            b'0' => byte.is_ascii_digit(),
            _ => shape.eq_ignore_ascii_case(byte),
        };
        shape.len() == text.len() && shape.iter().zip(text).all(fits)
    };
    let Some((time, rest)) = text.as_bytes().split_at_checked(SHAPE.len()) else {
        return false;
    };
    let digits = rest.strip_prefix(b".").map_or(0, |fraction| {
        let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
        digits + usize::from(digits > 0)
    });
    let offset = rest.get(digits..).unwrap_or_default();
    let has_offset = [b"Z".as_slice(), b"+00:00", b"-00:00"]
        .iter()
        .any(|shape| is_like(shape, offset));
    is_like(SHAPE, time) && !time.ends_with(b"60") && has_offset && text.parse::<jiff::Timestamp>().is_ok()
}

fn is_percentage(text: &str) -> bool {
    text.strip_suffix('%').is_some_and(|digits| {
        let plain = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
        plain && digits.parse().is_ok_and(|percent: u8| (1..=100).contains(&percent))
    })
}

/// Rule: what names every Pod and ConfigMap stays as it is.
pub(super) fn immutable(subject: &Subject<'_>) -> Vec<Finding> {
    let Some(old) = subject.old else {
        return Vec::new();
    };
    let service_name = old.spec.service_name != subject.spec.service_name;
    let segment_id = old.spec.segment_id != subject.spec.segment_id;
    let pipeline_name = old.pipeline_name != subject.pipeline_name;
    let fields = [
        ("service_name", service_name, SERVICE_NAME_IMMUTABLE),
        ("segment_id", segment_id, SEGMENT_ID_IMMUTABLE),
        ("pipeline_name", pipeline_name, PIPELINE_NAME_IMMUTABLE),
    ];
    // A stand-in is no value that could have changed.
    let is_read = |field: &str| subject.reading.has(field) && old.reading.has(field);
    let changed = fields
        .into_iter()
        .filter(|(field, changed, _)| *changed && is_read(field));
    changed
        .map(|(field, _, message)| Finding::of_value(FieldPath::spec(field), FaultKind::Forbidden, message))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::is_time;

    #[test]
    fn a_time_is_what_the_api_server_takes_for_one() {
        for text in [
            "2025-01-31T12:00:00Z",
            "2025-01-31t12:00:00z",
            "2025-01-31T12:00:00.5+02:00",
            "2025-01-31T23:59:59.123456789-11:30",
        ] {
            assert!(is_time(text), "{text}");
        }
        for text in [
            "soon",
            "2025-01-31",
            "2025-01-31T12:00:00",
            "2025-01-31 12:00:00Z",
            "2025-01-31T12:00:00+0200",
            "2025-01-31T12:00:00+02",
            "2025-01-31T12:00:00.Z",
            "2025-01-31T12:00:00Z[UTC]",
            "2025-01-31T24:00:00Z",
            "2025-02-30T12:00:00Z",
            "2016-12-31T23:59:60Z",
            "+002025-01-31T12:00:00Z",
        ] {
            assert!(!is_time(text), "{text}");
        }
    }
}
