//! Names of what we make, each parsed once into a type of its own.
//!
//! Must never shorten a name silently: two names cut to the same length would be two owners of one Pod.

use std::fmt::{self, Write};

/// Longest name of a Pod's base: 63 (a DNS label) less the longest suffix, `-999-9999`.
pub const BASE_NAME_LENGTH_MAX: usize = 63 - "-999-9999".len();
/// Longest value of a label.
pub const LABEL_LENGTH_MAX: usize = 63;
/// Most Pods of a set; ordinals go from 0 to one less.
pub const REPLICAS_MAX: u16 = 999;

/// Makes a Kubernetes name of any text as the Python operator does: `.` and `_` become `-`, letters are lowered (all of
/// Unicode), every other character outside `a-z0-9-` is deleted, and `-` is taken off both ends. The result may be
/// empty.
#[must_use]
pub fn mangle(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '.' | '_' => kept.push('-'),
            'a'..='z' | '0'..='9' | '-' => kept.push(c),
            'A'..='Z' => kept.push(c.to_ascii_lowercase()),
            // One letter at a time is enough: those whose lower case depends on their neighbours are deleted.
            _ => kept.extend(c.to_lowercase().filter(|c| matches!(c, 'a'..='z' | '0'..='9' | '-'))),
        }
    }
    kept.truncate(kept.trim_end_matches('-').len());
    let start = kept.len() - kept.trim_start_matches('-').len();
    kept.drain(..start);
    kept
}

/// [`mangle`], cut to `length_max` characters, without `-` at the new end.
#[must_use]
pub fn mangle_to(text: &str, length_max: usize) -> String {
    let mut name = mangle(text);
    name.truncate(length_max);
    name.truncate(name.trim_end_matches('-').len());
    name
}

/// One of the two groups of Pods of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WorkloadSet {
    /// The Pod that gets a new revision first.
    Canary,
    /// All others.
    Primary,
}

impl WorkloadSet {
    /// Both, the one that is updated first in front.
    pub const ALL: [Self; 2] = [Self::Canary, Self::Primary];

    /// The value of the labels `workload-set` and `env`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Canary => "canary",
            Self::Primary => "primary",
        }
    }

    /// The set that a label names.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|set| set.as_str() == text)
    }
}

impl fmt::Display for WorkloadSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What the names of all Pods of one set begin with: a DNS label of 1 to [`BASE_NAME_LENGTH_MAX`] characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BaseName(String);

impl BaseName {
    /// `None` when `name` is empty, too long or no DNS label.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        (is_dns_label(name) && name.len() <= BASE_NAME_LENGTH_MAX).then(|| Self(name.to_owned()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether `name` is a DNS label (RFC 1123): 1 to 63 of `a-z0-9-`, not beginning or ending with `-`.
#[must_use]
pub fn is_dns_label(name: &str) -> bool {
    (1..=63).contains(&name.len())
        && name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'))
        && !name.starts_with('-')
        && !name.ends_with('-')
}

/// Whether `name` is a DNS subdomain as Kubernetes has it (k8s.io/apimachinery `IsDNS1123Subdomain`): at most 253
/// characters, parts of `a-z0-9-` with dots between, none beginning or ending with `-`. A part may be longer than a DNS
/// label.
#[must_use]
pub fn is_dns_subdomain(name: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-'))
            && !part.starts_with('-')
            && !part.ends_with('-')
    };
    name.len() <= 253 && name.split('.').all(is_part)
}

/// What the Pods of a set are to be named with, mangled as a whole; maybe too long, or malformed when the parts are.
/// `{service}-pipeline-{pipeline}-{segment}`, and `-canary` for the canary set. The ConfigMaps of a pipeline are named
/// with that of the primary set.
#[must_use]
pub fn base_name(service: &str, pipeline: &str, segment: i64, set: WorkloadSet) -> String {
    let suffix = match set {
        WorkloadSet::Primary => "",
        WorkloadSet::Canary => "-canary",
    };
    mangle(&format!("{service}-pipeline-{pipeline}-{segment}{suffix}"))
}

/// The base names of both sets of a pipeline, as [`base_name`] makes them, in the order of [`WorkloadSet::ALL`].
#[must_use]
pub fn base_names(service: &str, pipeline: &str, segment: i64) -> [String; 2] {
    let primary = base_name(service, pipeline, segment, WorkloadSet::Primary);
    // It ends with a digit of the segment, so what is put behind it is all there is to mangle.
    let canary = format!("{primary}-canary");
    [canary, primary]
}

/// A place within a set, 0 to 998.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ordinal(u16);

impl Ordinal {
    /// `None` from [`REPLICAS_MAX`] on.
    #[must_use]
    pub const fn new(value: u16) -> Option<Self> {
        if value < REPLICAS_MAX { Some(Self(value)) } else { None }
    }

    /// All ordinals of a set of `replicas` Pods, ascending.
    pub fn all(replicas: u16) -> impl Iterator<Item = Self> {
        (0..replicas.min(REPLICAS_MAX)).map(Self)
    }

    /// The number a label or a name holds: decimal, without leading zeros.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        canonical_number(text).and_then(Self::new)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl fmt::Display for Ordinal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How often the Pod of an ordinal has been replaced, 0 to 9999, then from 0 again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation(u16);

impl Generation {
    /// The highest; after it comes 0.
    pub const MAX: Self = Self(9999);

    /// `None` beyond [`Generation::MAX`].
    #[must_use]
    pub const fn new(value: u16) -> Option<Self> {
        if value <= Self::MAX.0 { Some(Self(value)) } else { None }
    }

    /// The number a label or a name holds: decimal, without leading zeros.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        canonical_number(text).and_then(Self::new)
    }

    /// The one that follows; 0 follows 9999.
    #[must_use]
    pub const fn next(self) -> Self {
        if self.0 >= Self::MAX.0 {
            Self(0)
        } else {
            Self(self.0 + 1)
        }
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Name of a Pod: `{base}-{ordinal}-{generation}`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodName {
    /// Base name of the Pod's set.
    pub base: BaseName,
    /// The Pod's place.
    pub ordinal: Ordinal,
    /// Which Pod of that place it is.
    pub generation: Generation,
}

impl PodName {
    /// The parts of a Pod's name; `None` when it cannot be one of ours.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let (rest, generation) = name.rsplit_once('-')?;
        let (base, ordinal) = rest.rsplit_once('-')?;
        Some(Self {
            base: BaseName::parse(base)?,
            ordinal: Ordinal::parse(ordinal)?,
            generation: Generation::parse(generation)?,
        })
    }
}

impl fmt::Display for PodName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.base, self.ordinal, self.generation)
    }
}

/// What a user asked for, as ten hex digits (see `revision`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(String);

impl Revision {
    /// Number of hex digits.
    pub const LENGTH: usize = 10;

    /// The revision that a digest begins with.
    #[must_use]
    pub fn of_digest(digest: &[u8; 32]) -> Self {
        let bytes = digest.iter().take(Self::LENGTH / 2);
        Self(bytes.fold(String::with_capacity(Self::LENGTH), |mut text, byte| {
            // Writing to a String cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        }))
    }

    /// `None` unless `text` is ten lower-case hex digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let hex = text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        (hex && text.len() == Self::LENGTH).then(|| Self(text.to_owned()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn canonical_number(text: &str) -> Option<u16> {
    let canonical = text == "0" || !text.starts_with(['0', '+']);
    if canonical { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_lowered_and_loses_every_character_that_no_dns_label_may_have() {
        assert_eq!(mangle("Events.Pipelines_Transform"), "events-pipelines-transform");
        assert_eq!(mangle("a/b.py"), "ab-py");
        assert_eq!(mangle("a..b"), "a--b");
        assert_eq!(mangle("-x-"), "x");
        assert_eq!(mangle("___"), "");
    }

    #[test]
    fn letters_are_lowered_as_unicode_has_it() {
        assert_eq!(mangle("\u{212a}ey"), "key", "the Kelvin sign is a k");
        assert_eq!(
            mangle("\u{130}d"),
            "id",
            "a dotted capital I is an i and a dot that is dropped"
        );
    }

    #[test]
    fn a_cut_name_does_not_end_with_a_hyphen() {
        assert_eq!(mangle_to("abc-def", 4), "abc");
        assert_eq!(mangle_to("abc", 63), "abc");
    }

    #[test]
    fn a_pod_name_is_read_back_into_its_parts() {
        let name = PodName::parse("svc-pipeline-p-1-0-12-9999").expect("a Pod name");
        assert_eq!(name.base.as_str(), "svc-pipeline-p-1-0");
        assert_eq!((name.ordinal.get(), name.generation.get()), (12, 9999));
        assert_eq!(name.to_string(), "svc-pipeline-p-1-0-12-9999");
    }

    #[test]
    fn what_we_would_never_name_is_no_pod_name() {
        for name in [
            "svc",
            "svc-0",
            "svc-999-0",
            "svc-0-10000",
            "svc-00-0",
            "svc-0-+1",
            "-0-0",
            "Svc-0-0",
            "",
        ] {
            assert_eq!(PodName::parse(name), None, "{name}");
        }
    }

    #[test]
    fn a_base_name_leaves_room_for_the_longest_ordinal_and_generation() {
        assert!(BaseName::parse(&"a".repeat(54)).is_some());
        assert!(BaseName::parse(&"a".repeat(55)).is_none());
        assert!(BaseName::parse("").is_none());
    }

    #[test]
    fn generations_begin_again_after_9999() {
        let last = Generation::new(9999).expect("in range");
        assert_eq!(last.next().get(), 0);
        assert_eq!(Generation::default().next().get(), 1);
        assert_eq!(Generation::new(10000), None);
    }

    #[test]
    fn a_revision_is_ten_lower_case_hex_digits() {
        assert!(Revision::parse("0123456789").is_some());
        assert!(Revision::parse("012345678").is_none());
        assert!(Revision::parse("012345678G").is_none());
        assert!(Revision::parse("012345678A").is_none());
    }
}
