#![allow(clippy::unwrap_used)]

use colonnade_sql::{TokenKind, tokens};
use proptest::prelude::*;

use super::*;
use crate::parameter::{Date, Time};

fn one(value: Value) -> String {
    bind("$1", &Parameters::Positional(vec![value]), Dialect::DuckDb).unwrap()
}

fn fails(sql: &str, parameters: Parameters) -> String {
    bind(sql, &parameters, Dialect::DuckDb).unwrap_err().to_string()
}

const DATE: Date = Date { year: 987, month: 6, day: 5 };
const TIME: Time = Time { hour: 4, minute: 3, second: 2, microsecond: 1 };

#[test]
fn each_type_has_its_literal() {
    assert_eq!(one(Value::Null), "NULL");
    assert_eq!(one(Value::Bool(true)), "TRUE");
    assert_eq!(one(Value::Integer(-5)), "(-5)");
    assert_eq!(one(Value::Integer(i64::MIN.into())), "CAST('-9223372036854775808' AS BIGINT)");
    assert_eq!(one(Value::Integer(i128::MAX)), "CAST('170141183460469231731687303715884105727' AS HUGEINT)");
    assert_eq!(one(Value::Unsigned(1 << 127)), "CAST('170141183460469231731687303715884105728' AS UHUGEINT)");
    assert_eq!(one(Value::Float(-0.0)), "CAST('-0e0' AS DOUBLE)");
    assert_eq!(one(Value::Float(f64::NEG_INFINITY)), "CAST('-inf' AS DOUBLE)");
    assert_eq!(one(Value::Float(-f64::NAN)), "CAST('nan' AS DOUBLE)");
    assert_eq!(one(Value::Decimal { unscaled: -1, scale: 3 }), "CAST('-0.001' AS DECIMAL(3,3))");
    assert_eq!(one(Value::Decimal { unscaled: 1200, scale: 0 }), "CAST('1200' AS DECIMAL(4,0))");
    assert_eq!(one(Value::Text("it's $1".into())), "'it''s $1'");
    assert_eq!(one(Value::Bytes(vec![0, 39, 255])), r"CAST('\x00\x27\xFF' AS BLOB)");
    assert_eq!(one(Value::Date(DATE)), "CAST('0987-06-05' AS DATE)");
    assert_eq!(one(Value::Time(TIME, None)), "CAST('04:03:02.000001' AS TIME)");
    assert_eq!(one(Value::Time(TIME, Some(-5430))), "CAST('04:03:02.000001-01:30:30' AS TIMETZ)");
    assert_eq!(one(Value::Timestamp(DATE, TIME)), "CAST('0987-06-05 04:03:02.000001' AS TIMESTAMP)");
    assert_eq!(one(Value::Instant(DATE, TIME)), "CAST('0987-06-05 04:03:02.000001+00' AS TIMESTAMPTZ)");
    assert_eq!(one(Value::Duration { days: -1, microseconds: 5 }), "CAST('-1 days 5 microseconds' AS INTERVAL)");
    assert_eq!(one(Value::Uuid([0xab; 16])), "CAST('abababab-abab-abab-abab-abababababab' AS UUID)");
    assert_eq!(one(Value::List(vec![Value::Integer(1), Value::List(vec![Value::Null])])), "[1, [NULL]]");
}

#[test]
fn postgres_has_literals_of_its_own() {
    let one = |value| bind("$1", &Parameters::Positional(vec![value]), Dialect::POSTGRES).unwrap();
    assert_eq!(one(Value::Integer(-5)), "(-5)");
    assert_eq!(one(Value::Integer(i128::MAX)), "CAST('170141183460469231731687303715884105727' AS NUMERIC)");
    assert_eq!(one(Value::Unsigned(1 << 127)), "CAST('170141183460469231731687303715884105728' AS NUMERIC)");
    assert_eq!(one(Value::Float(-0.0)), "CAST('-0e0' AS FLOAT8)");
    assert_eq!(one(Value::Float(f64::NAN)), "CAST('nan' AS FLOAT8)");
    assert_eq!(one(Value::Text(r"it's \' or 1=1 --".into())), r"E'it''s \\'' or 1=1 --'");
    assert_eq!(one(Value::Text("it's".into())), "'it''s'");
    assert_eq!(one(Value::Bytes(vec![0, 39, 255])), r"CAST(E'\\x0027FF' AS BYTEA)");
    let length = Value::Duration { days: -1, microseconds: 5 };
    assert_eq!(one(length), "CAST('-1 days +5 microseconds' AS INTERVAL)");
    assert_eq!(one(Value::List(vec![Value::Integer(1), Value::Null])), "ARRAY[1, NULL]");
    assert_eq!(one(Value::List(vec![])), "'{}'");
}

#[test]
fn placeholders_meet_their_values() {
    let named = Parameters::Named(vec![("a".into(), Value::Integer(1)), ("b".into(), Value::Integer(2))]);
    assert_eq!(bind("$b-$a '$a'", &named, Dialect::DuckDb).unwrap(), "2 -(1) '$a'");
    assert_eq!(bind("x-$1", &Parameters::Positional(vec![Value::Integer(-1)]), Dialect::DuckDb).unwrap(), "x-((-1))");
    let text = Parameters::Positional(vec![Value::Text("b".into())]);
    assert_eq!(bind("'a'$1$1'c'", &text, Dialect::DuckDb).unwrap(), "'a' ('b') ('b') 'c'");
    assert_eq!(bind("$1.5", &Parameters::Positional(vec![Value::Integer(1)]), Dialect::DuckDb).unwrap(), "1 .5");
    assert_eq!(fails("$1", Parameters::Positional(vec![])), "the query has $1, but no value is given for it");
    assert_eq!(
        fails("$0", Parameters::Positional(vec![Value::Null])),
        "the query has $0, but no value is given for it"
    );
    assert!(fails("$x", Parameters::Positional(vec![])).contains("by name"));
    assert!(fails("$1", named.clone()).contains("in order"));
    assert_eq!(fails("$a", named), "the query has no $b for a given value");
    assert!(fails("1", Parameters::Positional(vec![Value::Null])).contains("no $1"));
    assert!(fails("$1", Parameters::Positional(vec![Value::Text("a\0b".into())])).contains("NUL"));
}

#[test]
fn what_no_literal_can_say_is_refused() {
    let mut deep = Value::Null;
    for _ in 0..100 {
        deep = Value::List(vec![deep]);
    }
    assert!(fails("$1", Parameters::Positional(vec![deep])).contains("levels"));
    let long = Value::Decimal { unscaled: i128::MAX, scale: 0 };
    assert!(fails("$1", Parameters::Positional(vec![long])).contains("38 digits"));
}

proptest! {
    #[test]
    fn text_is_one_quoted_token(text in "[^\\x00]{0,30}") {
        let literal = one(Value::Text(text.clone()));
        let found: Vec<_> = tokens(&literal, Dialect::DuckDb).map(|token| (token.kind, token.text)).collect();
        prop_assert_eq!(&found, &[(TokenKind::Text, literal.as_str())]);
        prop_assert_eq!(literal[1..literal.len() - 1].replace("''", "'"), text);
    }

    #[test]
    fn floats_keep_every_bit(bits in any::<u64>()) {
        let number = f64::from_bits(bits);
        let literal = one(Value::Float(number));
        let text = literal.strip_prefix("CAST('").unwrap().strip_suffix("' AS DOUBLE)").unwrap();
        let back: f64 = text.parse().unwrap();
        prop_assert!(back.to_bits() == bits || (back.is_nan() && number.is_nan()));
    }

    #[test]
    fn a_bound_query_has_no_placeholders_left(sql in "[a$1'\"/* \n-]{0,30}", text in "[^\\x00]{0,10}") {
        if let Ok(bound) = bind(&sql, &Parameters::Positional(vec![Value::Text(text)]), Dialect::DuckDb) {
            let mut left = tokens(&bound, Dialect::DuckDb).filter(|token| token.kind == TokenKind::Positional);
            prop_assert_eq!(left.next(), None);
        }
    }
}
