//! The text of a pipeline's config as it stands in the ConfigMap, and its version: byte for byte what Python's
//! `json.dumps(config, sort_keys=True)` gives, since consumers compare the version over operators.
//!
//! Must never round a number or keep the order of keys.

use std::fmt::Write;

use md5::{Digest, Md5};

use crate::api::streaming_pipeline::OpenObject;

use super::sorted_json;

/// The text of `config`: ASCII, keys sorted by code point at every level, `", "` and `": "` between.
#[must_use]
pub fn text(config: &OpenObject) -> String {
    // Most are not much longer.
    let mut out = String::with_capacity(512);
    sorted_json::PYTHON.write_object(&mut out, config);
    out
}

/// `configVersion`: the MD5 digest of the text, 32 hex digits.
#[must_use]
pub fn version(text: &str) -> String {
    Md5::digest(text.as_bytes())
        .iter()
        .fold(String::with_capacity(32), |mut out, byte| {
            // Writing to a String cannot fail.
            let _ = write!(out, "{byte:02x}");
            out
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(json: &str) -> String {
        text(&serde_json::from_str(json).expect("a JSON object"))
    }

    #[test]
    fn keys_are_sorted_by_code_point_and_set_apart_as_python_does() {
        assert_eq!(
            text_of(r#"{"b":[1,{"z":null,"a":true}],"B":{},"10":[],"9":false}"#),
            r#"{"10": [], "9": false, "B": {}, "b": [1, {"a": true, "z": null}]}"#
        );
    }

    #[test]
    fn whatever_is_not_printable_ascii_is_escaped() {
        assert_eq!(
            text_of("{\"q\\\" b\\\\ s/\": \"\\t\\n\\u0001\\u007f é 日 😀\"}"),
            r#"{"q\" b\\ s/": "\t\n\u0001\u007f \u00e9 \u65e5 \ud83d\ude00"}"#
        );
    }

    #[test]
    fn numbers_keep_what_python_keeps_of_them() {
        assert_eq!(
            text_of(r#"{"a":1.0,"b":1e-5,"c":100000000000000000000,"d":1}"#),
            r#"{"a": 1.0, "b": 1e-05, "c": 100000000000000000000, "d": 1}"#
        );
    }

    #[test]
    fn the_version_is_the_md5_digest_of_the_text() {
        assert_eq!(
            version(r#"{"pipeline": {"segments": []}}"#),
            "d07b973b7148e278af199581f6405070"
        );
    }
}
