use super::*;

const BUILT: [&str; 35] = [
    "BIG5",
    "EUC_CN",
    "EUC_JP",
    "EUC_KR",
    "GB18030",
    "GBK",
    "ISO_8859_5",
    "ISO_8859_6",
    "ISO_8859_7",
    "ISO_8859_8",
    "KOI8R",
    "KOI8U",
    "LATIN1",
    "LATIN2",
    "LATIN3",
    "LATIN4",
    "LATIN5",
    "LATIN6",
    "LATIN7",
    "LATIN8",
    "LATIN9",
    "LATIN10",
    "SJIS",
    "UHC",
    "WIN866",
    "WIN874",
    "WIN1250",
    "WIN1251",
    "WIN1252",
    "WIN1253",
    "WIN1254",
    "WIN1255",
    "WIN1256",
    "WIN1257",
    "WIN1258",
];

fn charset(name: &str) -> Charset {
    ClientEncoding::named(name).unwrap().charset().unwrap()
}

fn encoded(name: &str, text: &str) -> Result<Vec<u8>, TextError> {
    let mut out = Vec::new();
    charset(name).encode(text, &mut out).map(|()| out)
}

fn decoded(name: &str, bytes: &[u8]) -> Result<String, TextError> {
    ClientEncoding::named(name).unwrap().decode(bytes).map(Cow::into_owned)
}

#[test]
fn names_are_read_without_case_and_signs() {
    for (name, expected) in
        [("iso-8859-1", "LATIN1"), ("Shift_JIS", "SJIS"), ("euc-jp", "EUC_JP"), ("'utf-8'", "UTF8"), ("Win", "WIN1251")]
    {
        assert_eq!(ClientEncoding::named(name).unwrap().name(), expected);
    }
    assert_eq!(ClientEncoding::named("latin99"), Err(EncodingNameError::Unknown("latin99".to_owned())));
    assert_eq!(ClientEncoding::named("mule_internal"), Err(EncodingNameError::NotBuilt("MULE_INTERNAL")));
}

#[test]
fn every_character_reads_back() {
    for name in BUILT {
        let charset = charset(name);
        let mut count = 0;
        for character in '\u{80}'..='\u{ffff}' {
            let mut bytes = Vec::new();
            if !charset.push(character, &mut bytes) {
                continue;
            }
            count += 1;
            let back = decoded(name, &bytes);
            // Some characters have the code of a similar one, and GBK's euro has one that is not read.
            let is_same = back.is_ok_and(|back| back.chars().eq([character]));
            assert!(is_same || matches!(name, "SJIS" | "EUC_JP" | "GBK"), "{name} {character}");
        }
        assert!(count > 80, "{name} {count}");
    }
}

#[test]
fn bytes_are_read_as_postgresql_reads_them() {
    assert_eq!(decoded("latin1", b"\x80\xe9").as_deref(), Ok("\u{80}é"));
    assert_eq!(decoded("sjis", b"\xb1\x83\x5c\\").as_deref(), Ok("ｱソ\\"));
    assert_eq!(decoded("euc_jp", b"\x8e\xb1\x8f\xb0\xa1\xb0\xa1").as_deref(), Ok("ｱ丂亜"));
    assert_eq!(decoded("gb18030", b"\x94\x39\xda\x33\x81\x30\x81\x30").as_deref(), Ok("\u{1f4a9}\u{80}"));
    let code = |name, bytes: &[u8]| decoded(name, bytes).unwrap_err().code();
    assert_eq!(code("win1252", b"a\x81").as_str(), "22P05");
    assert_eq!(code("euc_jp", b"a\xb0").as_str(), "22021");
    assert_eq!(code("euc_jp", b"\xb0a").as_str(), "22021");
    assert_eq!(code("utf8", b"\xff").as_str(), "22021");
}

#[test]
fn a_character_that_is_missing_is_an_error_or_a_question_mark() {
    let error = encoded("latin1", "a€").unwrap_err();
    let expected =
        "character with byte sequence 0xe2 0x82 0xac in encoding \"UTF8\" has no equivalent in encoding \"LATIN1\"";
    assert_eq!((error.to_string().as_str(), error.code().as_str()), (expected, "22P05"));
    let mut out = Vec::new();
    charset("latin1").encode_lossy("é€", &mut out);
    assert_eq!(out, b"\xe9?");
    assert_eq!(encoded("latin9", "€").unwrap(), b"\xa4");
}

#[test]
fn a_quote_is_never_a_part_of_a_character() {
    for name in BUILT {
        for lead in 0x80..=0xff_u8 {
            for sign in b"'\"\0\n" {
                let is_kept = |bytes: &[u8]| decoded(name, bytes).is_ok_and(|text| text.ends_with(char::from(*sign)));
                let bytes = [lead, *sign];
                assert!(decoded(name, &bytes).is_err() || is_kept(&bytes), "{name} {bytes:?}");
            }
        }
    }
}

#[test]
fn a_character_may_arrive_in_parts() {
    let mut text = String::new();
    assert_eq!(charset("gb18030").decode(b"a\x94\x39\xda", &mut text), Ok(1));
    assert_eq!(text, "a");
}

proptest::proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(
        bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..60),
        name in proptest::sample::select(BUILT.to_vec()),
        type_oid in proptest::sample::select(vec![25, 1009, 2249, 2287, 23, 20000]),
    ) {
        let _ = decoded(name, &bytes);
        let _ = charset(name).decode_value(Some(type_oid), &bytes);
    }
}
