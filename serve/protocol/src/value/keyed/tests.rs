use super::*;

fn key(name: &str, text: &str) -> Result<Vec<u8>, KeyError> {
    KeyedType::of_name(name).unwrap().parse(text)
}

fn shown(name: &str, text: &str) -> String {
    let type_ = KeyedType::of_name(name).unwrap();
    let mut out = Vec::new();
    type_.write_text(&type_.parse(text).unwrap(), TextStyle::default(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Taken from PostgreSQL 15: `SELECT 'text'::type`.
#[test]
fn texts_as_postgresql_shows_them() {
    for (name, given, expected) in [
        ("int4range", "[1,3]", "[1,4)"),
        ("int4range", " ( 1 , 4 ] ", "[2,5)"),
        ("int4range", "(1,2)", "empty"),
        ("int4range", "Empty", "empty"),
        ("int4range", "(,5]", "(,6)"),
        ("int4range", "[,]", "(,)"),
        ("int8range", "[-9223372036854775808,9223372036854775807)", "[-9223372036854775808,9223372036854775807)"),
        ("numrange", "[1.50,2e3)", "[1.5,2000)"),
        ("numrange", "(-infinity,-0.001]", "(-Infinity,-0.001]"),
        ("numrange", "[1,1)", "empty"),
        ("daterange", "[2024-02-28,2024-02-29]", "[2024-02-28,2024-03-01)"),
        ("daterange", "[0044-03-15 BC,infinity]", "[\"0044-03-15 BC\",infinity]"),
        ("tsrange", "[2024-02-29 01:02:03.5,2024-03-01)", "[\"2024-02-29 01:02:03.5\",\"2024-03-01 00:00:00\")"),
        ("tsrange", "[-infinity,\"2024-02-29T24:00\"]", "[-infinity,\"2024-03-01 00:00:00\"]"),
        ("tstzrange", "[\"2024-02-29 01:00:00+05:30\",)", "[\"2024-02-28 19:30:00+00\",)"),
        ("int4multirange", "{}", "{}"),
        ("int4multirange", "{[5,6), [1,3),[3,4],empty}", "{[1,6)}"),
        ("nummultirange", "{(3,4),[1,2),(2,3)}", "{[1,2),(2,3),(3,4)}"),
        ("nummultirange", "{(,4),[1,9]}", "{(,9]}"),
        ("tsmultirange", "{[2024-01-01,2024-01-02)}", "{[\"2024-01-01 00:00:00\",\"2024-01-02 00:00:00\")}"),
        ("inet", "192.168.0.1/24", "192.168.0.1/24"),
        ("inet", "10.1/16", "10.1.0.0/16"),
        ("inet", "::ffff:1.2.3.4", "::ffff:1.2.3.4"),
        ("inet", "::1.2.3.4/96", "::1.2.3.4/96"),
        ("inet", "2001:0DB8::1", "2001:db8::1"),
        ("cidr", "10", "10.0.0.0/8"),
        ("cidr", "192.168.1", "192.168.1.0/24"),
        ("cidr", "192.168.1.5", "192.168.1.5/32"),
        ("cidr", "::/0", "::/0"),
        ("macaddr", "08002b-010203", "08:00:2b:01:02:03"),
        ("macaddr", "0800.2b01.0203", "08:00:2b:01:02:03"),
        ("macaddr8", "08:00:2b:01:02:03", "08:00:2b:ff:fe:01:02:03"),
    ] {
        assert_eq!(shown(name, given), expected, "{name} {given}");
        assert_eq!(shown(name, expected), expected);
    }
}

#[test]
fn other_texts_are_refused() {
    for (name, text) in [
        ("int4range", ""),
        ("int4range", "[1,2"),
        ("int4range", "[1,2) x"),
        ("int4range", "[1;2)"),
        ("int4range", "[1.5,2)"),
        ("int4range", "[\"\",2)"),
        ("daterange", "[2024-02-30,)"),
        ("numrange", "[1e999999,)"),
        ("tsrange", "[25:00,)"),
        ("int4multirange", "[1,2)"),
        ("int4multirange", "{[1,2),}"),
        ("inet", "192.168.1"),
        ("inet", "1.2.3.256"),
        ("inet", "1.2.3.4/33"),
        ("cidr", "1.2.3.4.5"),
        ("macaddr", "08:00:2b:01:02"),
        ("macaddr", "8:0:2b:1:2:3"),
    ] {
        assert!(matches!(key(name, text), Err(KeyError::Syntax { .. })), "{name} {text}");
    }
    assert_eq!(key("int4range", "[2,1]"), Err(KeyError::Order));
    assert_eq!(key("int4range", "[1,2147483647]"), Err(KeyError::OutOfRange("int4range")));
    assert_eq!(key("tstzrange", "[2024-01-01,)"), Err(KeyError::NoOffset("tstzrange")));
    assert_eq!(key("cidr", "1.2.3.4/24"), Err(KeyError::HostBits("1.2.3.4/24".to_owned())));
}

/// Each list is in PostgreSQL's order.
#[test]
fn keys_are_ordered_as_the_values() {
    for (name, texts) in [
        (
            "numrange",
            &[
                "empty",
                "(,-5)",
                "(,0)",
                "(,)",
                "[-Infinity,NaN)",
                "[-12.5,1)",
                "[-12.4,1)",
                "[0,0]",
                "[0,)",
                "(0,1)",
                "[0.001,1)",
                "[0.01,1)",
                "[9,10)",
                "[9,10]",
                "[10,11)",
                "[100,)",
                "[Infinity,)",
                "[NaN,NaN]",
            ][..],
        ),
        ("int8range", &["empty", "(,1)", "[-2,1)", "[-1,5)", "[-1,)", "[0,1)", "[1000,1001)"]),
        ("tsrange", &["[-infinity,)", "[1969-01-01,)", "[2024-01-01,2024-01-02)", "[2024-01-01,)", "[infinity,)"]),
        ("int4multirange", &["{}", "{(,1)}", "{[1,2)}", "{[1,2),[3,4)}", "{[1,2),[3,5)}", "{[1,3)}"]),
        (
            "inet",
            &[
                "0.0.0.0/0",
                "1.2.3.4/0",
                "10.0.0.0/8",
                "10.0.0.1/8",
                "10.0.0.0/9",
                "10.0.0.0",
                "10.0.0.1",
                "10.128.0.0/9",
                "255.255.255.255",
                "::/0",
                "::1",
            ],
        ),
        ("macaddr", &["00:00:00:00:00:01", "08:00:2b:01:02:03", "ff:00:00:00:00:00"]),
    ] {
        let keys: Vec<_> = texts.iter().map(|text| key(name, text).unwrap()).collect();
        for (at, pair) in keys.windows(2).enumerate() {
            assert!(pair[0] < pair[1], "{name}: {} {}", texts[at], texts[at + 1]);
        }
    }
}

#[test]
fn binary_forms_are_postgresqls() {
    // PostgreSQL 15: SELECT range_send(int4range(1, 4)), inet_send('1.2.3.4/8').
    let int4range = KeyedType::of_name("int4range").unwrap();
    let mut bytes = Vec::new();
    int4range.write_binary(&int4range.parse("[1,4)").unwrap(), &mut bytes).unwrap();
    assert_eq!(bytes, b"\x02\0\0\0\x04\0\0\0\x01\0\0\0\x04\0\0\0\x04");
    bytes.clear();
    KeyedType::Inet.write_binary(&KeyedType::Inet.parse("1.2.3.4/8").unwrap(), &mut bytes).unwrap();
    assert_eq!(bytes, [2, 8, 0, 4, 1, 2, 3, 4]);
}

proptest::proptest! {
    #[test]
    fn arbitrary_input_never_panics(
        text in r#"[\[({]?[\[(]?[-0-9a-fA-F:./,"\\ TZ+é]{0,30}[\])]?[}]?"#,
        bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..40),
    ) {
        for type_ in KeyedType::all() {
            if let Ok(key) = type_.parse(&text) {
                let mut out = Vec::new();
                type_.write_text(&key, TextStyle::default(), &mut out).unwrap();
                let again = type_.parse(std::str::from_utf8(&out).unwrap());
                proptest::prop_assert_eq!(again, Ok(key));
            }
            let _ = type_.write_text(&bytes, TextStyle::default(), &mut Vec::new());
            let _ = type_.write_binary(&bytes, &mut Vec::new());
        }
    }

    #[test]
    fn numerics_compare_as_numbers(left in -1_000_000_000i64..1_000_000_000, right in -1000i64..1000, scale in 0usize..9) {
        let text = |value: i64| {
            let digits = format!("{:010}", value.abs());
            let (whole, fraction) = digits.split_at(10 - scale);
            format!("{}{whole}.{fraction}", if value < 0 { "-" } else { "" })
        };
        let (a, b) = (number::parse(&text(left)).unwrap(), number::parse(&text(right)).unwrap());
        proptest::prop_assert_eq!(a.cmp(&b), left.cmp(&right));
        proptest::prop_assert_eq!(number::parse(&number::text(&a).unwrap()), Some(a));
    }
}
