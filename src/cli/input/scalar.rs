//! What a YAML scalar without quotes means, to kubectl: YAML 1.1 as Go's yaml.v2 has it, then what the API machinery
//! makes of numbers. A table in the tests was taken from kubectl itself.

use serde_json::{Number, Value};

use crate::core::number;

/// The value of a plain scalar; `Err` when kubectl refuses it.
pub(super) fn resolve(text: &str) -> Result<Value, String> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Value::Null),
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "true" | "True" | "TRUE" => {
            return Ok(Value::Bool(true));
        }
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" | "false" | "False" | "FALSE" => {
            return Ok(Value::Bool(false));
        }
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" | "-.inf" | "-.Inf" | "-.INF" | ".nan" | ".NaN"
        | ".NAN" => return Err(format!("{text} has no form in JSON")),
        _ => {}
    }
    let literal = match text.chars().next() {
        Some('0'..='9' | '+' | '-') => {
            let digits = text.replace('_', "");
            integer(&digits).or_else(|| float(&digits))
        }
        // Here underscores count only between digits.
        Some('.') if underscores_separate_digits(text) => float(&text.replace('_', "")),
        _ => None,
    };
    let number = literal.and_then(|literal| number::api_server(&literal).parse::<Number>().ok());
    Ok(number.map_or_else(|| Value::String(text.to_owned()), Value::Number))
}

/// A decimal literal of an integer of 64 bits, which may be written with a base: `0x1f`, `0b1`, `0o17`, `017`.
fn integer(text: &str) -> Option<String> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let based = |prefixes: [&str; 2], base| {
        let digits = prefixes.into_iter().find_map(|prefix| digits.strip_prefix(prefix))?;
        magnitude(digits, base)
    };
    let magnitude = based(["0x", "0X"], 16)
        .or_else(|| based(["0b", "0B"], 2))
        .or_else(|| based(["0o", "0O"], 8))
        .or_else(|| match digits.strip_prefix('0') {
            Some(octal) if !octal.is_empty() => magnitude(octal, 8),
            _ => magnitude(digits, 10),
        })?;
    let is_in_range = sign.is_empty() || magnitude <= i64::MIN.unsigned_abs();
    is_in_range.then(|| format!("{sign}{magnitude}"))
}

fn magnitude(digits: &str, base: u32) -> Option<u64> {
    // The parser would take a sign.
    let is_plain = digits.starts_with(|c: char| c.is_ascii_alphanumeric());
    is_plain.then(|| u64::from_str_radix(digits, base).ok()).flatten()
}

fn underscores_separate_digits(text: &str) -> bool {
    let is_digit = |part: &str, end: fn(&str) -> Option<char>| end(part).is_some_and(|c| c.is_ascii_digit());
    let parts: Vec<_> = text.split('_').collect();
    parts.windows(2).all(|pair| match pair {
        [before, behind] => {
            is_digit(before, |part| part.chars().next_back()) && is_digit(behind, |part| part.chars().next())
        }
        _ => true,
    })
}

/// A JSON literal of a finite float.
fn float(text: &str) -> Option<String> {
    let is_float = is_float(text);
    let value = is_float.then(|| text.parse::<f64>().ok()).flatten()?;
    value.is_finite().then(|| format!("{value:e}"))
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_float(text: &str) -> bool {
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let exponent_is_valid = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        !digits.is_empty() && all_digits(digits)
    });
    all_digits(whole) && all_digits(fraction) && !(whole.is_empty() && fraction.is_empty()) && exponent_is_valid
}
