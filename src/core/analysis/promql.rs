//! What can be said of a query before any Prometheus is asked.
//!
//! Must never call a query wrong because it cannot be read here: PromQL grows with each release of Prometheus, and others
//! that answer the same requests have more of it. Only of what can be read is it known what it results in.

use promql_parser::parser::{self, value::ValueType};

use super::variables::{QueryTemplate, Variables};

/// Longest query that is read, in bytes and without what stands in quotes. The reader's work grows with the square of
/// the length of a sum, and a thousand bytes of it are 20 ms.
const BYTES_MAX: usize = 1024;

/// What is known of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// It results in an instant vector or a scalar, or is too long to be read here.
    Usable,
    /// It results in something that has no one value a series: what that is, in words.
    Useless(&'static str),
    /// It cannot be read here, and why.
    Unread(String),
}

/// Reads a query with a name in the place of each variable.
pub(super) fn known(query: &QueryTemplate) -> Known {
    let pods = ["pod".to_owned()];
    let query = query.resolve(&Variables {
        namespace: "namespace",
        name: "name",
        revision: "revision",
        canary_pods: &pods,
        primary_pods: &pods,
    });
    let query = with_short_texts(&query);
    if query.len() > BYTES_MAX {
        return Known::Usable;
    }
    match parser::parse(&query).map(|read| read.value_type()) {
        Ok(ValueType::Vector | ValueType::Scalar) => Known::Usable,
        Ok(ValueType::Matrix) => Known::Useless("a range vector"),
        Ok(ValueType::String) => Known::Useless("a string"),
        Err(why) => Known::Unread(why),
    }
}

/// The query with `x` in each pair of quotes. What stands in them decides nothing here, regular expressions are of a
/// dialect that the reader does not know, and to make ready a large one takes it a tenth of a second.
fn with_short_texts(query: &str) -> String {
    let mut short = String::new();
    let mut chars = query.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' | '\'' | '`' => {
                short.push(c);
                if close(&mut chars, c) {
                    short.extend(['x', c]);
                }
            }
            '#' => {
                // A comment, in which a quote is none.
                let _comment = chars.by_ref().find(|c| *c == '\n');
                short.push('\n');
            }
            c => short.push(c),
        }
    }
    short
}

/// Goes on behind the closing quote; whether there is one.
fn close(chars: &mut std::str::Chars<'_>, quote: char) -> bool {
    while let Some(c) = chars.next() {
        match c {
            '\\' if quote != '`' => drop(chars.next()),
            c if c == quote => return true,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(query: &str) -> Known {
        known(&QueryTemplate::parse(query).expect("a query"))
    }

    #[test]
    fn what_results_in_a_value_a_series_is_usable() {
        for query in [
            "up",
            "1",
            "time()",
            "sum(rate(errors_total{pod=~\"$(canaryPods)\"}[5m])) / sum(rate(requests_total{pod=~\"$(canaryPods)\"}[5m]))",
            "histogram_quantile(0.99, sum by (le) (rate(seconds_bucket{namespace='$(namespace)'}[5m])))",
            "a{b=~`c\\`,d=\"e\\\"}\"} # it's \"so\n + on(x) group_left b offset 5m",
            "$(name)_total",
            "{\"with.dots\", pod=~\"$(primaryPods)\"}",
            "a{b=~\"(?P<never-closed\"}",
            "sum_over_time(errors[1h:5m])",
        ] {
            assert_eq!(of(query), Known::Usable, "{query}");
        }
    }

    #[test]
    fn a_range_and_a_text_have_no_one_value() {
        assert_eq!(of("up[5m]"), Known::Useless("a range vector"));
        assert_eq!(of("rate(up[5m])[1h:]"), Known::Useless("a range vector"));
        assert_eq!(of("\"up\""), Known::Useless("a string"));
    }

    #[test]
    fn what_cannot_be_read_is_said_and_may_be_right_all_the_same() {
        for (query, why) in [
            ("sum(up", "unclosed left parenthesis"),
            // A Prometheus of today knows both.
            ("up smoothed", "invalid promql query"),
            ("1_000", "bad number or duration syntax: 1_"),
            // VictoriaMetrics knows this.
            ("up default 0", "invalid promql query"),
            ("a{b=\"c}", "unterminated quoted string \""),
            ("", "no expression found in input"),
        ] {
            assert_eq!(of(query), Known::Unread(why.to_owned()), "{query}");
        }
    }

    #[test]
    fn a_long_query_is_not_read_and_texts_do_not_make_one_long() {
        assert_eq!(of(&vec!["1"; 4096].join("+")), Known::Usable);
        assert_eq!(of(&"(".repeat(8192)), Known::Usable);
        let long = format!("a{{b=\"{}\"}}[5m]", "x".repeat(8000));
        assert_eq!(of(&long), Known::Useless("a range vector"));
    }
}
