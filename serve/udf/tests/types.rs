//! Each type in both directions, and what it accepts and refuses as a result.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod support;

use colonnade_udf::{ColumnType, FunctionCaller, TimestampUnit};
use support::{Node, call, function, nodes, numbers, offsets, pool, texts};

fn returned(caller: &mut FunctionCaller, column_type: &ColumnType, given: &[Node], body: &str) -> Vec<Node> {
    let own = function(std::slice::from_ref(column_type), column_type.clone(), body);
    let rows = given[0].length;
    let output = call(caller, &own, rows, &[given.to_vec()], None)
        .unwrap_or_else(|error| panic!("{column_type:?}: {error} {:?}", error.record()));
    nodes(&output.columns[0], output.rows)
}

fn interval(months: i32, days: i32, micros: i64) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&months.to_le_bytes());
    bytes[4..8].copy_from_slice(&days.to_le_bytes());
    bytes[8..].copy_from_slice(&micros.to_le_bytes());
    bytes
}

/// Columns of three rows, of which the second may be NULL.
fn columns() -> Vec<(ColumnType, Vec<Node>)> {
    use ColumnType::{Array, Blob, Date, Int32, Interval, List, Map, Struct, Text, Time, Timestamp, TimestampTz, Uuid};
    let list = |item: ColumnType| List(Box::new(item));
    let integers = |items: &[i32]| numbers(items.iter().map(|item| item.to_le_bytes()));
    let micros = |items: [i64; 3]| vec![numbers(items.map(i64::to_le_bytes))];
    let field = |name: &str, column_type: ColumnType| (name.to_owned(), column_type);
    let mut found = vec![
        (Text, vec![texts(&[Some("a"), Some(""), Some("žluťoučký 🐎")])]),
        (Blob, vec![texts(&[Some(&b"a\0\xff"[..]), Some(b""), Some(b"b")])]),
        (Uuid, vec![numbers([[0_u8; 16], [255; 16], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]])]),
        (Date, vec![integers(&[-2_147_483_646, 0, 2_147_483_646])]),
        (Time, micros([0, 1, 86_400_000_000])),
        (TimestampTz, micros([-9_223_372_022_400_000_000, 0, i64::MAX - 1])),
        (Interval, vec![numbers([interval(-1, 2, -3), interval(0, 0, 0), interval(i32::MAX, i32::MIN, i64::MAX)])]),
        (list(Int32), vec![offsets(&[0, 2, 2, 3]), integers(&[1, 0, 3]).with_nulls(&[1])]),
        (list(Text), vec![offsets(&[0, 1, 1, 3]), texts(&[Some("x"), None, Some("é")])]),
        (list(list(Int32)), vec![offsets(&[0, 2, 2, 3]), offsets(&[0, 1, 1, 2]).with_nulls(&[1]), integers(&[7, 8])]),
        (
            Array { item: Box::new(Int32), size: 2 },
            vec![Node::new(3, Vec::new()), integers(&[1, 2, 3, 4, 0, 6]).with_nulls(&[4])],
        ),
        (Array { item: Box::new(Text), size: 1 }, vec![Node::new(3, Vec::new()), texts(&[Some("x"), Some("y"), None])]),
        (
            Struct(vec![field("n", Int32), field("some text", Text)]),
            vec![
                Node::new(3, Vec::new()),
                integers(&[1, 2, 0]).with_nulls(&[2]),
                texts(&[Some("a"), Some("b"), Some("c")]),
            ],
        ),
        (
            Map(Box::new(Text), Box::new(Int32)),
            vec![
                offsets(&[0, 2, 2, 3]),
                Node::new(3, Vec::new()),
                texts(&[Some("a"), Some("b"), Some("a")]),
                integers(&[1, 0, 3]).with_nulls(&[1]),
            ],
        ),
        (
            Array { item: Box::new(Struct(vec![field("d", Date)])), size: 1 },
            vec![Node::new(3, Vec::new()), Node::new(3, Vec::new()), integers(&[1, 2, 3])],
        ),
    ];
    let units = [
        (TimestampUnit::Second, [-9_223_372_022_400, 0, 9_223_372_036_854]),
        (TimestampUnit::Millisecond, [-9_223_372_022_400_000, 0, 9_223_372_036_854_775]),
        (TimestampUnit::Nanosecond, [-i64::MAX + 1, 0, i64::MAX - 1]),
        (TimestampUnit::Microsecond, [-9_223_372_022_400_000_000, 0, i64::MAX - 1]),
    ];
    found.extend(units.map(|(unit, counts)| (Timestamp(unit), micros(counts))));
    found
}

#[test]
fn every_type_comes_back_the_same() {
    let session = pool().session();
    let mut caller = session.caller();
    for (column_type, given) in columns() {
        assert_eq!(returned(&mut caller, &column_type, &given, "return a"), given, "{column_type:?}");
        assert_eq!(returned(&mut caller, &column_type, &given, "return list(a)"), given, "{column_type:?}");
        let mut masked = given.clone();
        masked[0].nulls = vec![1];
        let found = returned(&mut caller, &column_type, &masked, "assert type(a) is numpy.ma.MaskedArray\nreturn a");
        assert_eq!(found[0].nulls, [1], "{column_type:?}");
        let nothing = "return [None] * len(a)";
        assert_eq!(returned(&mut caller, &column_type, &given, nothing)[0].nulls, [0, 1, 2], "{column_type:?}");
    }
}

#[test]
fn arguments_are_what_the_documentation_says() {
    let session = pool().session();
    let mut caller = session.caller();
    let int8 = || vec![numbers([[1_u8]])];
    let micros = |value: i64| vec![numbers([value.to_le_bytes()])];
    let text = vec![texts(&[Some("é")])];
    let unit = |unit| ColumnType::Timestamp(unit);
    let array = ColumnType::Array { item: Box::new(ColumnType::Int8), size: 2 };
    let union = ColumnType::Union(vec![("n".to_owned(), ColumnType::Int8), ("t".to_owned(), ColumnType::Text)]);
    let map = ColumnType::Map(Box::new(ColumnType::Text), Box::new(ColumnType::Int8));
    let cases: Vec<(ColumnType, Vec<Node>, &str)> = vec![
        (ColumnType::Boolean, int8(), "a.dtype == bool and a[0]"),
        (ColumnType::UInt8, int8(), "a.dtype == 'u1'"),
        (
            ColumnType::Int128,
            vec![numbers([(-(1_i128 << 100)).to_le_bytes()])],
            "a.dtype == object and a[0] == -2**100",
        ),
        (
            ColumnType::Decimal { width: 38, scale: 2 },
            vec![numbers([(10_i128.pow(37) + 1).to_le_bytes()])],
            "str(a[0]) == '1' + '0' * 35 + '.01'",
        ),
        (ColumnType::Text, text.clone(), "a.dtype == object and a[0] == 'é'"),
        (ColumnType::Blob, text, "a[0] == b'\\xc3\\xa9'"),
        (ColumnType::Uuid, vec![numbers([[1_u8; 16]])], "str(a[0]) == '01010101-0101-0101-0101-010101010101'"),
        (ColumnType::Date, vec![numbers([1_i32.to_le_bytes()])], "a.dtype == 'M8[D]' and str(a[0]) == '1970-01-02'"),
        (ColumnType::Time, micros(1), "a.dtype == 'm8[us]' and a[0] == numpy.timedelta64(1, 'us')"),
        (unit(TimestampUnit::Second), micros(1), "a.dtype == 'M8[s]' and str(a[0]) == '1970-01-01T00:00:01'"),
        (unit(TimestampUnit::Millisecond), micros(1), "a.dtype == 'M8[ms]'"),
        (unit(TimestampUnit::Nanosecond), micros(1), "a.dtype == 'M8[ns]'"),
        (ColumnType::TimestampTz, micros(1), "a.dtype == 'M8[us]'"),
        (
            ColumnType::Interval,
            vec![numbers([interval(1, 2, 3)])],
            "(a['months'][0], a['days'][0], a['micros'][0]) == (1, 2, 3)",
        ),
        (
            ColumnType::List(Box::new(ColumnType::Int8)),
            vec![offsets(&[0, 1]), numbers([[5_u8]])],
            "a[0].dtype == 'i1' and a[0][0] == 5",
        ),
        (array, vec![Node::new(1, Vec::new()), numbers([[1_u8], [2]])], "a.shape == (1, 2) and a.dtype == 'i1'"),
        (
            ColumnType::Struct(vec![("x y".to_owned(), ColumnType::Int8)]),
            vec![Node::new(1, Vec::new()), numbers([[5_u8]])],
            "a[0] == {'x y': 5}",
        ),
        (
            map,
            vec![offsets(&[0, 1]), Node::new(1, Vec::new()), texts(&[Some("k")]), numbers([[5_u8]])],
            "a[0] == {'k': 5}",
        ),
        (union, vec![Node::new(1, vec![1]), numbers([[5_u8]]), texts(&[Some("t")])], "a[0] == 't'"),
    ];
    for (column_type, given, condition) in cases {
        let own = function(&[column_type], ColumnType::Boolean, &format!("assert {condition}, repr(a)\nreturn True"));
        call(&mut caller, &own, 1, &[given], None).map(drop).unwrap_or_else(|error| panic!("{condition}: {error}"));
    }
    for (column_type, value) in
        [(ColumnType::Date, vec![numbers([i32::MAX.to_le_bytes()])]), (ColumnType::TimestampTz, micros(-i64::MAX))]
    {
        let own = function(&[column_type], ColumnType::Boolean, "return True");
        assert_eq!(call(&mut caller, &own, 1, &[value], None).map(drop).unwrap_err().sqlstate(), "22008");
    }
}

#[test]
fn results_are_exact_or_refused() {
    use ColumnType::{Array, Blob, Date, Interval, List, Struct, Text, Time, TimestampTz, Union, Uuid};
    let session = pool().session();
    let mut caller = session.caller();
    let list = List(Box::new(ColumnType::Int8));
    let array = Array { item: Box::new(ColumnType::Int8), size: 2 };
    let record = Struct(vec![("n".to_owned(), ColumnType::Int8)]);
    let union = Union(vec![("n".to_owned(), ColumnType::Int8), ("t".to_owned(), Text)]);
    let seconds = ColumnType::Timestamp(TimestampUnit::Second);
    let refused: Vec<(&str, &ColumnType, &str, &str)> = vec![
        ("['a\\0']", &Text, "22021", "row 1: a text has a NUL"),
        ("['\\ud800']", &Text, "22021", "row 1: a text is not Unicode"),
        ("numpy.array([b'\\xff'])", &Text, "22021", "row 1: a text is not UTF-8"),
        ("[b'a']", &Text, "39000", "row 1: the function returned a bytes for Text"),
        ("[1]", &Text, "39000", "returned a int"),
        ("['a']", &Blob, "39000", "returned a str"),
        ("['x']", &Uuid, "22023", "row 1: 'x' is no UUID"),
        ("[b'x']", &Uuid, "22023", "row 1: 1 bytes are no UUID"),
        ("numpy.array(['2020-01-01T01'], 'M8[h]')", &Date, "22008", "row 1: 2020-01-01T01 does not fit"),
        ("numpy.array(['9000000-01-01'], 'M8[D]')", &Date, "22008", "row 1"),
        ("numpy.array([1], 'm8[s]')", &Date, "39000", "returned timedelta64[s]"),
        ("numpy.array([86400000001], 'm8[us]')", &Time, "22008", "row 1"),
        ("numpy.array([-1], 'm8[us]')", &Time, "22008", "row 1"),
        ("numpy.array([1], 'm8[ns]')", &Time, "22008", "row 1"),
        ("numpy.array([9 * 10**12], 'M8[D]')", &TimestampTz, "22008", "row 1"),
        ("numpy.array([1], 'M8[ms]')", &seconds, "22008", "row 1"),
        ("numpy.array([2**63 - 1], 'M8[us]')", &TimestampTz, "22008", "row 1"),
        ("['2020-01-01']", &Date, "39000", "returned a str"),
        ("[(1, 2)]", &Interval, "39000", "returned a tuple"),
        ("[(2**31, 0, 0)]", &Interval, "22008", "row 1"),
        ("[[300]]", &list, "22003", "row 1: 300 does not fit into an item of"),
        ("['abc']", &list, "39000", "row 1: the function returned a str"),
        ("[[1]]", &array, "39000", "row 1: the function returned 1 items"),
        ("numpy.zeros((1, 3), 'i1')", &array, "39000", "row 1: the function returned 3 items"),
        ("[{'m': 1}]", &record, "39000", "row 1: the keys m are not the fields"),
        ("[1]", &record, "39000", "row 1: the function returned a int"),
        ("[{'n': 300}]", &record, "22003", "does not fit into \"n\" of"),
        ("[('x', 1)]", &union, "39000", "return a pair"),
    ];
    let given = || vec![numbers([[0_u8]])];
    for (expression, result, code, message) in refused {
        let own = function(&[ColumnType::Int8], result.clone(), &format!("return {expression}"));
        let error = call(&mut caller, &own, 1, &[given()], None).map(drop).unwrap_err();
        assert_eq!(error.sqlstate(), code, "{expression}: {error}");
        assert!(error.to_string().contains(message), "{expression}: {error}");
    }
    let day = || vec![numbers([1_i32.to_le_bytes()])];
    let micros = |value: i64| vec![numbers([value.to_le_bytes()])];
    let accepted: Vec<(&str, &ColumnType, Vec<Node>)> = vec![
        ("numpy.array(['x\\u00e9'])", &Text, vec![texts(&[Some("xé")])]),
        ("numpy.array(['x'], numpy.dtypes.StringDType())", &Text, vec![texts(&[Some("x")])]),
        ("numpy.array([b'x'])", &Text, vec![texts(&[Some("x")])]),
        ("'y'", &Text, vec![texts(&[Some("y")])]),
        ("[bytearray(b'y')]", &Blob, vec![texts(&[Some("y")])]),
        ("['00000000-0000-0000-0000-000000000001']", &Uuid, vec![numbers([1_u128.to_be_bytes()])]),
        ("numpy.array(['1970-01-02'], 'M8[ns]')", &Date, day()),
        ("[__import__('datetime').date(1970, 1, 2)]", &Date, day()),
        ("[__import__('datetime').time(0, 0, 1)]", &Time, micros(1_000_000)),
        ("numpy.array([1], 'M8[h]')", &TimestampTz, micros(3_600_000_000)),
        (
            "import datetime as d\nreturn [d.datetime(1970, 1, 1, 1, tzinfo=d.timezone(d.timedelta(hours=1)))]",
            &TimestampTz,
            micros(0),
        ),
        ("numpy.array([1], 'm8[ms]')", &Interval, vec![numbers([interval(0, 0, 1000)])]),
        ("[(1, 2, 3)]", &Interval, vec![numbers([interval(1, 2, 3)])]),
        ("[numpy.array([1, 2], 'i8')]", &list, vec![offsets(&[0, 2]), numbers([[1_u8], [2]])]),
        ("[(1, None)]", &list, vec![offsets(&[0, 2]), numbers([[1_u8], [0]]).with_nulls(&[1])]),
        ("[('t', 'x')]", &union, vec![Node::new(1, vec![1]), numbers([[0_u8]]).with_nulls(&[0]), texts(&[Some("x")])]),
    ];
    for (expression, result, expected) in accepted {
        let body = if expression.contains("return") { expression.to_owned() } else { format!("return {expression}") };
        let own = function(&[ColumnType::Int8], result.clone(), &body);
        let output = call(&mut caller, &own, 1, &[given()], None)
            .unwrap_or_else(|error| panic!("{expression}: {error} {:?}", error.record()));
        assert_eq!(nodes(&output.columns[0], 1), expected, "{expression}");
    }
}

#[test]
fn there_may_be_no_rows() {
    let session = pool().session();
    let mut caller = session.caller();
    for (column_type, given) in columns() {
        let first = &given[0];
        let values = if first.values.len() == 8 * 4 { vec![0; 8] } else { Vec::new() };
        let is_fixed = column_type.width().is_some();
        if is_fixed || given.len() == 1 {
            let empty = [Node::new(0, if is_fixed { Vec::new() } else { values })];
            assert_eq!(returned(&mut caller, &column_type, &empty, "return a"), empty, "{column_type:?}");
        }
    }
}
