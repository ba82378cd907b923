//! Durations as people write them for Kubernetes' own tools: in Go's notation.
//!
//! Must never take a number without a unit for a duration: nobody could tell which one was meant.

use std::time::Duration;

use jiff::fmt::friendly::SpanParser;

/// A duration in Go's notation. jiff's "friendly" format takes what Go's `Duration.String` writes, and more (`2 hours`);
/// of what Go's `ParseDuration` takes it lacks fractions before the last unit, and `0` without one.
#[must_use]
pub fn go_duration(text: &str) -> Option<Duration> {
    static PARSER: SpanParser = SpanParser::new();
    if text == "0" {
        return Some(Duration::ZERO);
    }
    PARSER.parse_unsigned_duration(text).ok()
}

/// A duration of whole hours, minutes and seconds in Go's notation, such as `90s`, `1m30s` or `24h`, each number of at
/// most five digits. It is what the schema takes of such a field, so that the API server and we never disagree about one.
#[must_use]
pub fn whole_duration(text: &str) -> Option<Duration> {
    let mut numbers = text.split_inclusive(['h', 'm', 's']);
    let is_whole = numbers.all(|number| {
        let digits = number.get(..number.len().saturating_sub(1)).unwrap_or_default();
        (1..=5).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
    });
    if !is_whole || text == "0" {
        return None;
    }
    go_duration(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_writes_them() {
        for (text, milliseconds) in [
            ("300ms", 300),
            ("1.5h", 5_400_000),
            ("2h45m", 9_900_000),
            ("43800h", 157_680_000_000),
            ("1h0m0s", 3_600_000),
            ("0s", 0),
            ("0", 0),
            ("1m30.5s", 90_500),
        ] {
            assert_eq!(go_duration(text), Some(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in ["", "10", "1d", "-5s", "s", "5 parsecs", "PT1H", "1s1h"] {
            assert_eq!(go_duration(text), None, "{text}");
        }
    }

    #[test]
    fn a_whole_duration_has_hours_minutes_and_seconds_in_this_order_and_nothing_else() {
        for (text, seconds) in [
            ("0s", 0),
            ("90s", 90),
            ("1m30s", 90),
            ("1h5s", 3_605),
            ("24h", 86_400),
            ("1h0m0s", 3_600),
        ] {
            assert_eq!(whole_duration(text), Some(Duration::from_secs(seconds)), "{text}");
        }
        for text in [
            "", "0", "30", "1.5m", "500ms", "1s500ms", "30 s", "30sec", "1hour", "1h 5s", "5s1h", "1h1h", "h", "1hms",
            "-5s", "+5s", "100000s",
        ] {
            assert_eq!(whole_duration(text), None, "{text}");
        }
    }
}
