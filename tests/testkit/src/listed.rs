//! The messages that a rule lists in its documentation, and those that are really said: none of the one without the other.

use std::collections::BTreeSet;

/// Whether a message is one that is listed, whose words in braces stand for any.
#[must_use]
pub fn is_listed(message: &str, listed: &str) -> bool {
    let mut fixed = listed.split(['{', '}']).step_by(2);
    let Some(mut rest) = fixed.next().and_then(|first| message.strip_prefix(first)) else {
        return false;
    };
    fixed.all(|words| match rest.split_once(words) {
        Some((_, after)) => {
            rest = after;
            true
        }
        None => false,
    })
}

/// The messages that rules list and that have not been said yet, with the names of their rules.
#[derive(Debug, Default)]
pub struct Unsaid(BTreeSet<(&'static str, &'static str)>);

impl Unsaid {
    /// All that these rules list, as `(name, messages)`.
    pub fn of(rules: impl IntoIterator<Item = (&'static str, &'static [&'static str])>) -> Self {
        let listed = |(name, messages): (&'static str, &'static [&'static str])| {
            messages.iter().map(move |message| (name, *message))
        };
        Self(rules.into_iter().flat_map(listed).collect())
    }

    /// A rule that lists `messages` said this.
    ///
    /// # Panics
    ///
    /// If it is none of them.
    #[track_caller]
    pub fn said(&mut self, rule: &'static str, messages: &'static [&'static str], said: &str) {
        let listed: Vec<_> = messages.iter().filter(|listed| is_listed(said, listed)).collect();
        assert!(!listed.is_empty(), "{rule}: not listed: {said}");
        for message in listed {
            self.0.remove(&(rule, *message));
        }
    }

    /// # Panics
    ///
    /// If a message that is listed was not said.
    #[track_caller]
    pub fn assert_none(&self) {
        assert_eq!(self.0, BTreeSet::new());
    }
}
