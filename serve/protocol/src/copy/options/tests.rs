use colonnade_sql::statement::OptionValue;

use super::*;

fn options(pairs: &[(&str, &str)]) -> Result<CopyOptions, OptionError> {
    let raw = |(name, value): &(&str, &str)| CopyOption {
        name: (*name).to_owned(),
        value: OptionValue::Text((*value).to_owned()),
    };
    CopyOptions::from_raw(&pairs.iter().map(raw).collect::<Vec<_>>(), Direction::Out)
}

#[test]
fn defaults_depend_on_the_format() {
    let text = options(&[]).unwrap();
    assert_eq!((text.format, text.delimiter, text.null.as_str()), (Format::Text, b'\t', "\\N"));
    let csv = options(&[("format", "CSV"), ("quote", "'")]).unwrap();
    assert_eq!((csv.delimiter, csv.null.as_str(), csv.csv.escape), (b',', "", b'\''));
    let colonnade = options(&[("format", "colonnade"), ("compression", "auto"), ("chunk_rows", "5")]).unwrap();
    assert_eq!((colonnade.colonnade.compression, colonnade.colonnade.chunk_rows), (None, 5));
    let pinned = options(&[("format", "colonnade"), ("compression", "light+zstd-3")]).unwrap();
    assert_eq!(pinned.colonnade.compression, Some(Config::light_zstd(3)));
}

#[test]
fn errors_name_the_invalid_option() {
    for (pairs, expected) in [
        (&[("format", "parquet")][..], "COPY format \"parquet\" not recognized"),
        (&[("speed", "high")], "option \"speed\" not recognized"),
        (&[("null", "a"), ("null", "b")], "null is given twice"),
        (&[("chunk_rows", "5")], "not available with FORMAT text"),
        (&[("format", "colonnade"), ("header", "on")], "not available with FORMAT colonnade"),
        (&[("format", "colonnade"), ("chunk_rows", "0")], "a number from 1"),
        (&[("format", "colonnade"), ("chunk_bytes", "-1")], "a number from 1"),
        (&[("format", "colonnade"), ("version", "2")], "version 2 is not supported"),
        (&[("format", "colonnade"), ("compression", "snappy")], "cannot be \"snappy\""),
        (&[("delimiter", "ab")], "one-byte"),
        (&[("delimiter", "a")], "other than a lower-case letter"),
        (&[("format", "csv"), ("delimiter", "\"")], "different from option quote"),
        (&[("null", "a\tb")], "is not in option null"),
        (&[("header", "maybe")], "true or false"),
        (&[("encoding", "latin99")], "the name of an encoding"),
        (&[("format", "colonnade"), ("encoding", "latin1")], "utf8"),
    ] {
        let error = options(pairs).unwrap_err().to_string();
        assert!(error.contains(expected), "{pairs:?}: {error}");
    }
}
