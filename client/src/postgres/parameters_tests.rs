#![allow(clippy::unwrap_used)]

use super::*;

fn of(sql: &str, values: Vec<Value>) -> BoundStatement {
    bound(Statement { sql, parameters: Some(&Parameters::Positional(values)) }).unwrap()
}

fn one(value: Value) -> (u32, Option<String>) {
    let value = of("select $1", vec![value]).values.remove(0);
    (value.type_oid, value.bytes.map(|bytes| String::from_utf8(bytes).unwrap()))
}

#[test]
fn each_place_has_a_number() {
    let text = |text: &str| Value::Text(text.to_owned());
    assert_eq!(of("select $2, $1, $2, '$1'", vec![text("a"), text("b")]).sql, "select $1 , $2 , $3 , '$1'");
    let named = Parameters::Named(vec![("a".to_owned(), Value::Integer(1))]);
    let named = bound(Statement { sql: "select $a + $a", parameters: Some(&named) }).unwrap();
    assert_eq!((named.sql.as_str(), named.values.len()), ("select $1 + $2", 2));
    assert_eq!(bound("select $1".into()).unwrap().sql, "select $1");
}

#[test]
fn values_have_the_types_of_their_literals() {
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(one(Value::Null), (0, None));
    assert_eq!(one(Value::Text("\\'".to_owned())), (0, some("\\'")));
    assert_eq!(one(Value::Integer(-5)), (23, some("-5")));
    assert_eq!(one(Value::Integer(1 << 40)), (20, some("1099511627776")));
    assert_eq!(one(Value::Float(-0.0)), (701, some("-0e0")));
    assert_eq!(one(Value::List(vec![])), (0, some("{}")));
    let list = vec![Value::Integer(1), Value::Null, Value::Decimal { unscaled: 25, scale: 1 }];
    assert_eq!(one(Value::List(list)), (1231, some(r#"{"1",NULL,"2.5"}"#)));
    let texts = vec![Value::Text("a\"\\".to_owned()), Value::Text("NULL".to_owned())];
    assert_eq!(one(Value::List(texts)), (1009, some(r#"{"a\"\\","NULL"}"#)));
    let decimal = of("select $1", vec![Value::Decimal { unscaled: -5, scale: 3 }]);
    assert_eq!(
        (decimal.sql.as_str(), &*decimal.values),
        (
            "select CAST($1 AS DECIMAL(3,3))",
            &[Sent { type_oid: 1700, is_binary: false, bytes: Some(b"-0.005".to_vec()) }][..]
        )
    );
}

#[test]
fn lists_of_texts_with_null_do_not_depend_on_array_nulls() {
    let text = |text: &str| Value::Text(text.to_owned());
    let sent = |list| of("select $1", vec![Value::List(list)]).values.remove(0);
    let words = |words: &[i32]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<_>>();
    let flat = [words(&[1, 1, 25, 2, 1, 4]), b"NULL".to_vec(), words(&[-1])].concat();
    let list = vec![text("NULL"), Value::Null];
    assert_eq!(sent(list.clone()), Sent { type_oid: 1009, is_binary: true, bytes: Some(flat) });
    let nested = [words(&[2, 1, 17, 1, 1, 2, 1, -1, 1]), b"x".to_vec()].concat();
    let bytes = vec![Value::List(vec![Value::Null, Value::Bytes(b"x".to_vec())])];
    assert_eq!(sent(bytes), Sent { type_oid: 1001, is_binary: true, bytes: Some(nested) });
    // The server refuses a list that is no array, and knows no number 'NULL'.
    for list in [vec![Value::List(list.clone()), Value::List(vec![])], vec![Value::List(list), text("x")]] {
        assert!(!sent(list).is_binary);
    }
    assert!(!sent(vec![Value::Integer(1), Value::Null]).is_binary);
}

#[test]
fn what_takes_no_values_gets_literals() {
    for sql in ["set x = $1", "create table t as select $1", "select 1; select $1", "COMMENT ON TABLE t IS $1"] {
        let bound = of(sql, vec![Value::Text("it's \\".to_owned())]);
        assert!(bound.values.is_empty() && bound.sql.contains(r"E'it''s \\'"), "{sql}");
    }
    for sql in ["select $1;", " -- x\n(select $1) ; -- y", "with a as (select $1) table a"] {
        assert_eq!(of(sql, vec![Value::Integer(1)]).values.len(), 1, "{sql}");
    }
}

#[test]
fn a_sent_statement_is_left_as_it_is() {
    let sent = Sent { type_oid: 25, is_binary: true, bytes: Some(vec![0xff]) };
    let bound = of("set x = $2", vec![Value::Sent(sent.clone())]);
    assert_eq!((bound.sql.as_str(), bound.values), ("set x = $2", vec![sent]));
}

#[test]
fn what_cannot_be_sent_is_refused() {
    let refused = |value: Value| {
        let parameters = Parameters::Positional(vec![value]);
        bound(Statement { sql: "select $1", parameters: Some(&parameters) }).unwrap_err().to_string()
    };
    assert!(refused(Value::Text("a\0".to_owned())).contains("NUL"));
    assert!(refused(Value::List(vec![Value::Bool(true), Value::Integer(1)])).contains("different types"));
    let mut deep = Value::Null;
    for _ in 0..10 {
        deep = Value::List(vec![deep]);
    }
    assert!(refused(deep).contains("levels"));
}
