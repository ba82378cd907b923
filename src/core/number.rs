//! Number literals, as Python and as the Kubernetes API server write them. Digests depend on them, so each is exact.
//!
//! Must never turn an integer into a float: `serde_json` keeps the literal, and its length decides nothing.

use std::borrow::Cow;

/// Whether a JSON literal is a float to Python: it has a fraction or an exponent.
#[must_use]
pub fn is_float(literal: &str) -> bool {
    literal.bytes().any(|b| matches!(b, b'.' | b'e' | b'E'))
}

/// A JSON number literal as Python's `json.dumps(json.loads(literal))` writes it: integers of any size as they are,
/// floats in their shortest form, fixed from 1e-4 to below 1e16, else with an exponent of at least two digits.
#[must_use]
pub fn python(literal: &str) -> Cow<'_, str> {
    if !is_float(literal) {
        return Cow::Borrowed(if literal == "-0" { "0" } else { literal });
    }
    let Ok(value) = literal.parse::<f64>() else {
        return Cow::Borrowed(literal);
    };
    if value.is_infinite() {
        return Cow::Borrowed(if value > 0.0 { "Infinity" } else { "-Infinity" });
    }
    let Shortest { sign, digits, exponent } = Shortest::of(value);
    if (-4..16).contains(&exponent) {
        let mut text = fixed(sign, &digits, exponent);
        if !text.contains('.') {
            text.push_str(".0");
        }
        return Cow::Owned(text);
    }
    let exponent_sign = if exponent < 0 { '-' } else { '+' };
    let mantissa = mantissa(&digits);
    Cow::Owned(format!(
        "{sign}{mantissa}e{exponent_sign}{:02}",
        exponent.unsigned_abs()
    ))
}

/// A JSON number literal as the API server hands it out after it has stored it: integers of 64 bits as they are, all
/// else as Go's `encoding/json` writes a float64 (fixed from 1e-6 to below 1e21, without `.0`).
#[must_use]
pub fn api_server(literal: &str) -> Cow<'_, str> {
    if !is_float(literal) && literal.parse::<i64>().is_ok() {
        // JSON has one way to write an integer, but for zero.
        return Cow::Borrowed(if literal == "-0" { "0" } else { literal });
    }
    let value = match literal.parse::<f64>() {
        Ok(value) if value.is_finite() => value,
        // The API server refuses it; whatever stands here is never compared with what it hands out.
        _ => return Cow::Borrowed(literal),
    };
    if value == 0.0 {
        // Go writes -0, and reads it back as the integer 0.
        return Cow::Borrowed("0");
    }
    let Shortest { sign, digits, exponent } = Shortest::of(value);
    if (-6..21).contains(&exponent) {
        return Cow::Owned(fixed(sign, &digits, exponent));
    }
    let exponent_sign = if exponent < 0 { '-' } else { '+' };
    let mantissa = mantissa(&digits);
    // Go writes at least two digits of an exponent, but its JSON encoder takes the zero of e-07 away again; e+07 cannot
    // occur here.
    Cow::Owned(format!("{sign}{mantissa}e{exponent_sign}{}", exponent.unsigned_abs()))
}

/// The shortest decimal digits that give a float again, as scientific notation.
struct Shortest {
    sign: &'static str,
    digits: String,
    exponent: i32,
}

impl Shortest {
    fn of(value: f64) -> Self {
        let text = format!("{:e}", value.abs());
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        Self {
            sign: if value.is_sign_negative() { "-" } else { "" },
            digits: mantissa.replace('.', ""),
            exponent: exponent.parse().unwrap_or(0),
        }
    }
}

/// `d` or `d.ddd`.
fn mantissa(digits: &str) -> String {
    match digits.split_at_checked(1) {
        Some((first, rest)) if !rest.is_empty() => format!("{first}.{rest}"),
        _ => digits.to_owned(),
    }
}

/// Digits without an exponent; no point when there is no fraction.
fn fixed(sign: &str, digits: &str, exponent: i32) -> String {
    let Ok(whole) = usize::try_from(exponent + 1) else {
        let zeros = "0".repeat(usize::try_from(-exponent - 1).unwrap_or(0));
        return format!("{sign}0.{zeros}{digits}");
    };
    if whole == 0 {
        return format!("{sign}0.{digits}");
    }
    match digits.split_at_checked(whole) {
        Some((integer, fraction)) if !fraction.is_empty() => format!("{sign}{integer}.{fraction}"),
        _ => format!("{sign}{digits}{}", "0".repeat(whole.saturating_sub(digits.len()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_writes_integers_as_they_are() {
        for literal in ["0", "-1", "100000000000000000000", "9223372036854775808"] {
            assert_eq!(python(literal), literal);
        }
        assert_eq!(python("-0"), "0");
    }

    #[test]
    fn python_writes_the_shortest_float_with_a_point_or_an_exponent_of_two_digits() {
        for (literal, expected) in [
            ("1.0", "1.0"),
            ("1.50", "1.5"),
            ("-0.0", "-0.0"),
            ("1e2", "100.0"),
            ("0.0001", "0.0001"),
            ("0.00001", "1e-05"),
            ("1.5e-5", "1.5e-05"),
            ("123456789012345680", "123456789012345680"),
            ("1e15", "1000000000000000.0"),
            ("1e16", "1e+16"),
            ("1E+20", "1e+20"),
            ("1.5e300", "1.5e+300"),
            ("5e-324", "5e-324"),
            ("100.5", "100.5"),
            ("0.5", "0.5"),
            ("1e400", "Infinity"),
        ] {
            assert_eq!(python(literal), expected, "{literal}");
        }
    }

    #[test]
    fn the_api_server_writes_whole_floats_as_integers_and_large_integers_as_floats() {
        for (literal, expected) in [
            ("1.0", "1"),
            ("-0", "0"),
            ("-0.0", "0"),
            ("1e2", "100"),
            ("9223372036854775807", "9223372036854775807"),
            ("18446744073709551615", "18446744073709552000"),
            ("1e20", "100000000000000000000"),
            ("1e21", "1e+21"),
            ("0.000001", "0.000001"),
            ("0.0000001", "1e-7"),
            ("1.5e-10", "1.5e-10"),
            ("-0.5", "-0.5"),
        ] {
            assert_eq!(api_server(literal), expected, "{literal}");
        }
    }
}
