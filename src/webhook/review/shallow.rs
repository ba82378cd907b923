//! Takes off a JSON text what is nested too deep for any reader of JSON, so that the rest can be read. Must never recurse:
//! how deep a text goes is up to whoever wrote it.

use std::borrow::Cow;

/// Levels that are read of an object which is nested deeper than the JSON reader goes (127). Validation refuses far
/// fewer (rule `nesting`), so what lies below decides nothing.
pub(super) const LEVELS_READ: usize = 100;

/// A JSON text with `stand_in` for each object and list that lies within [`LEVELS_READ`] others.
pub(super) fn shallow<'a>(text: &'a str, stand_in: &str) -> Cow<'a, str> {
    let mut kept = String::new();
    let (mut level, mut start) = (0_usize, 0);
    let (mut in_string, mut escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => {
                if level == LEVELS_READ {
                    kept.push_str(text.get(start..at).unwrap_or_default());
                    kept.push_str(stand_in);
                }
                level += 1;
            }
            b'}' | b']' => {
                level = level.saturating_sub(1);
                if level == LEVELS_READ {
                    start = at + 1;
                }
            }
            _ => {}
        }
    }
    if kept.is_empty() {
        return Cow::Borrowed(text);
    }
    kept.push_str(text.get(start..).unwrap_or_default());
    Cow::Owned(kept)
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_cut_off_is_objects_and_lists_and_never_text() {
        let depth = |inner: &str| format!("{}{inner}{}", "[".repeat(100), "]".repeat(100));
        for (inner, shallow) in [
            (r#"{"a":[1,{}]},2,["b"]"#, "{},2,{}"),
            (r#""[[{\"]]{","\\""#, r#""[[{\"]]{","\\""#),
            (r#"{"]":"}\\"},"é",[]"#, r#"{},"é",{}"#),
            ("1", "1"),
        ] {
            assert_eq!(super::shallow(&depth(inner), "{}"), depth(shallow));
        }
        assert_eq!(super::shallow(r#"{"a":[1]}"#, "{}"), r#"{"a":[1]}"#);
    }
}
