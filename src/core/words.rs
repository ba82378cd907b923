//! Words for people that depend on a number, or on what another program said.
//!
//! Must never decide what is said: the modules that know do, in their own sentences.

use std::fmt::Display;

/// A number with what it counts: `1 Pod`, `3 Pods`. `one` is a word whose plural ends in s.
#[must_use]
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(count: N, one: &str) -> String {
    let plural = if count == N::from(1) { "" } else { "s" };
    format!("{count} {one}{plural}")
}

/// The verb after so many: `is` or `are`.
#[must_use]
pub fn are<N: Copy + PartialEq + From<u8>>(count: N) -> &'static str {
    if count == N::from(1) { "is" } else { "are" }
}

/// What another program said, as a part of a sentence of ours: without the full stop and the white space around it.
#[must_use]
pub fn quoted(text: &str) -> &str {
    let text = text.trim();
    let ends_in_dots = text.ends_with("..");
    text.strip_suffix('.').filter(|_| !ends_in_dots).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        assert_eq!(
            [0, 1, 2].map(|count| counted(count, "Pod")),
            ["0 Pods", "1 Pod", "2 Pods"]
        );
        assert_eq!([0_usize, 1, 2].map(are), ["are", "is", "are"]);
    }

    #[test]
    fn what_another_program_said_ends_no_sentence_of_ours() {
        assert_eq!(
            quoted(" The node was low on resource: memory. "),
            "The node was low on resource: memory"
        );
        assert_eq!(quoted("pulling image..."), "pulling image...");
        assert_eq!(quoted("no such image"), "no such image");
    }
}
