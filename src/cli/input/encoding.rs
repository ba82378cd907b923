//! Bytes of a file as text: UTF-8, or UTF-16 where a byte order mark says so, as kubectl reads them (k8s.io/cli-runtime,
//! `FileVisitor`). Must never put another character in the place of one that cannot be read.

/// The text; fails with what is wrong with the bytes.
pub(super) fn text(bytes: Vec<u8>) -> Result<String, String> {
    match bytes.get(..2) {
        Some([0xff, 0xfe]) => utf16(&bytes, u16::from_le_bytes),
        Some([0xfe, 0xff]) => utf16(&bytes, u16::from_be_bytes),
        _ => String::from_utf8(bytes).map_err(|error| format!("is no UTF-8: {error}")),
    }
}

fn utf16(bytes: &[u8], unit: impl Fn([u8; 2]) -> u16) -> Result<String, String> {
    let (units, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return Err("is no UTF-16, as its byte order mark says: it has an odd number of bytes".to_owned());
    }
    let units: Vec<u16> = units.iter().map(|pair| unit(*pair)).collect();
    String::from_utf16(&units).map_err(|error| format!("is no UTF-16, as its byte order mark says: {error}"))
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn utf_16_is_read_when_its_byte_order_mark_says_so() {
        assert_eq!(
            text(b"\xff\xfea\0\x3d\xd8\0\xde".to_vec()),
            Ok("\u{feff}a😀".to_owned())
        );
        assert_eq!(text(b"\xfe\xff\0a".to_vec()), Ok("\u{feff}a".to_owned()));
        assert_eq!(text("é".into()), Ok("é".to_owned()));
    }

    #[test]
    fn what_is_neither_is_told() {
        assert_eq!(
            text(b"\xff\xfea".to_vec()),
            Err("is no UTF-16, as its byte order mark says: it has an odd number of bytes".to_owned())
        );
        assert_eq!(
            text(b"\xff\xfe\x3d\xd8".to_vec()),
            Err("is no UTF-16, as its byte order mark says: invalid utf-16: lone surrogate found".to_owned())
        );
        let told = text(b"a: \xff".to_vec()).expect_err("no text");
        assert!(told.starts_with("is no UTF-8: invalid utf-8 sequence"), "{told}");
    }
}
