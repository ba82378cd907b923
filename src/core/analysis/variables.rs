//! Queries with variables: `$(canaryPods)` stands for whatever the rollout's Pods are called when the query is asked.
//!
//! Must never let a name break out of the text that it is put into: a query may ask for other series by that.

use std::fmt::Write as _;

/// What the variables stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variables<'a> {
    /// Namespace of the target.
    pub namespace: &'a str,
    /// Name of the target.
    pub name: &'a str,
    /// Revision of the target that is measured.
    pub revision: &'a str,
    /// Names of the live Pods of that revision.
    pub canary_pods: &'a [String],
    /// Names of the live Pods of the revision before it.
    pub primary_pods: &'a [String],
}

/// A query, taken apart at its variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryTemplate {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Variable(Variable),
}

/// A variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variable {
    /// Namespace of the target.
    Namespace,
    /// Name of the target.
    Name,
    /// Revision of the target.
    Revision,
    /// Pods of that revision.
    CanaryPods,
    /// Pods of the revision before it.
    PrimaryPods,
}

impl Variable {
    /// Every variable.
    pub const ALL: [Self; 5] = [
        Self::Namespace,
        Self::Name,
        Self::Revision,
        Self::CanaryPods,
        Self::PrimaryPods,
    ];

    /// As it stands between the parentheses.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Namespace => "namespace",
            Self::Name => "name",
            Self::Revision => "revision",
            Self::CanaryPods => "canaryPods",
            Self::PrimaryPods => "primaryPods",
        }
    }

    /// The variable of that name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|variable| variable.name() == name)
    }

    /// Whether only the live target says what it stands for.
    #[must_use]
    pub const fn is_looked_up(self) -> bool {
        matches!(self, Self::Revision | Self::CanaryPods | Self::PrimaryPods)
    }
}

/// A `$(…)` of a query that is no variable: what stands between the parentheses, or all up to the end of the query
/// where none closes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoVariable {
    /// Another name than those of the variables.
    Unknown(String),
    /// A `$(` without its `)`.
    Unclosed,
}

/// A regular expression that no text matches, as there is no end of it before a character. Without a backslash, so that
/// it reads the same within all three kinds of quotes of PromQL.
const NOTHING: &str = "$.^";

impl QueryTemplate {
    /// Takes a query apart; `$$(` is a literal `$(`. Every fault at once.
    pub fn parse(query: &str) -> Result<Self, Vec<NoVariable>> {
        let (mut parts, mut faults) = (Vec::new(), Vec::new());
        let (mut text, mut rest) = (String::new(), query);
        while let Some(at) = rest.find("$(") {
            let (before, from) = rest.split_at_checked(at).unwrap_or((rest, ""));
            let after = from.strip_prefix("$(").unwrap_or_default();
            if let Some(before) = before.strip_suffix('$') {
                text.push_str(before);
                text.push_str("$(");
                rest = after;
                continue;
            }
            text.push_str(before);
            let Some((name, after)) = after.split_once(')') else {
                faults.push(NoVariable::Unclosed);
                rest = "";
                break;
            };
            match Variable::of(name) {
                Some(variable) => parts.extend([Part::Text(std::mem::take(&mut text)), Part::Variable(variable)]),
                None => faults.push(NoVariable::Unknown(name.to_owned())),
            }
            rest = after;
        }
        text.push_str(rest);
        parts.push(Part::Text(text));
        if faults.is_empty() {
            Ok(Self { parts })
        } else {
            Err(faults)
        }
    }

    /// Its variables, in the order in which they stand in it.
    pub fn variables(&self) -> impl Iterator<Item = Variable> {
        self.parts.iter().filter_map(|part| match part {
            Part::Variable(variable) => Some(*variable),
            Part::Text(_) => None,
        })
    }

    /// The query as it is sent. Lists of Pods become regular expressions of their names, which PromQL anchors; an empty
    /// list becomes one that matches nothing.
    #[must_use]
    pub fn resolve(&self, variables: &Variables<'_>) -> String {
        let mut query = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => query.push_str(text),
                Part::Variable(Variable::Namespace) => put_quoted(&mut query, variables.namespace),
                Part::Variable(Variable::Name) => put_quoted(&mut query, variables.name),
                Part::Variable(Variable::Revision) => put_quoted(&mut query, variables.revision),
                Part::Variable(Variable::CanaryPods) => put_names(&mut query, variables.canary_pods),
                Part::Variable(Variable::PrimaryPods) => put_names(&mut query, variables.primary_pods),
            }
        }
        query
    }
}

/// A text as it stands within quotes of PromQL. Names of Kubernetes have nothing to escape.
fn put_quoted(query: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '"' | '\'' | '\\' => query.extend(['\\', c]),
            '\n' => query.push_str("\\n"),
            _ => query.push(c),
        }
    }
}

fn put_names(query: &mut String, names: &[String]) {
    if names.is_empty() {
        query.push_str(NOTHING);
    }
    for (index, name) in names.iter().enumerate() {
        if index > 0 {
            query.push('|');
        }
        put_pattern(query, name);
    }
}

/// A regular expression that matches `name` alone, within quotes of PromQL. A dot, all that a name of Kubernetes can have
/// to escape, becomes a class: a backslash would itself be escaped in two kinds of quotes and not in the third.
fn put_pattern(query: &mut String, name: &str) {
    for c in name.chars() {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' => query.push(c),
            '.' => query.push_str("[.]"),
            // Writing to a String cannot fail.
            _ => drop(write!(query, "\\\\x{{{:X}}}", u32::from(c))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(query: &str, canary: &[&str], primary: &[&str]) -> String {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let (canary_pods, primary_pods) = (owned(canary), owned(primary));
        QueryTemplate::parse(query).expect("a query").resolve(&Variables {
            namespace: "ingest",
            name: "checkout",
            revision: "5f2c",
            canary_pods: &canary_pods,
            primary_pods: &primary_pods,
        })
    }

    #[test]
    fn every_variable_becomes_what_it_stands_for() {
        assert_eq!(
            resolved(
                r#"a{ns="$(namespace)",n="$(name)",r="$(revision)",c=~"$(canaryPods)",p=~"$(primaryPods)"}"#,
                &["c-0-1"],
                &["p-0-1", "p-1-3"]
            ),
            r#"a{ns="ingest",n="checkout",r="5f2c",c=~"c-0-1",p=~"p-0-1|p-1-3"}"#
        );
        assert_eq!(resolved("up", &[], &[]), "up");
        assert_eq!(resolved("", &[], &[]), "");
    }

    #[test]
    fn no_pods_are_a_regular_expression_that_matches_nothing() {
        assert_eq!(resolved(r#"a{pod=~"$(canaryPods)"}"#, &[], &[]), r#"a{pod=~"$.^"}"#);
    }

    #[test]
    fn names_match_themselves_alone_within_any_quotes() {
        assert_eq!(resolved("$(canaryPods)", &["web.v2-7d4-x"], &[]), "web[.]v2-7d4-x");
        assert_eq!(
            resolved("$(canaryPods)", &["a\"|.*\\"], &[]),
            r"a\\x{22}\\x{7C}[.]\\x{2A}\\x{5C}"
        );
    }

    #[test]
    fn a_text_never_ends_the_quotes_around_it() {
        let query = QueryTemplate::parse(r#"a{n="$(name)"}"#).expect("a query");
        let variables = Variables {
            namespace: "",
            name: "a\"} or b{x=\"\\\n",
            revision: "",
            canary_pods: &[],
            primary_pods: &[],
        };
        assert_eq!(query.resolve(&variables), r#"a{n="a\"} or b{x=\"\\\n"}"#);
    }

    #[test]
    fn two_dollars_before_a_parenthesis_are_a_literal_one() {
        assert_eq!(resolved(r#"a{b=~"x($$(y))"}"#, &[], &[]), r#"a{b=~"x($(y))"}"#);
        assert_eq!(resolved("$$$(name)", &[], &[]), "$$(name)");
        assert_eq!(resolved("$ ($) $name $$ $", &[], &[]), "$ ($) $name $$ $");
        assert_eq!(resolved("$$($(name))", &[], &[]), "$(checkout)");
    }

    #[test]
    fn what_is_no_variable_is_told_all_at_once() {
        let unknown = |name: &str| NoVariable::Unknown(name.to_owned());
        assert_eq!(
            QueryTemplate::parse("$(pods) $(name) $(Name) $() $(é) $(open"),
            Err(vec![
                unknown("pods"),
                unknown("Name"),
                unknown(""),
                unknown("é"),
                NoVariable::Unclosed
            ])
        );
    }
}
