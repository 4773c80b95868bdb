//! Numbers in both directions.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod support;

use colonnade_udf::{CallError, ColumnType, ValueFault};
use support::{Node, call, function, nodes, numbers, pool};

/// Every type of numbers with its extremes, as bytes.
fn extremes() -> Vec<(ColumnType, Node)> {
    vec![
        (ColumnType::Boolean, numbers([[0_u8], [1], [1]])),
        (ColumnType::Int8, numbers([i8::MIN, 0, i8::MAX].map(i8::to_le_bytes))),
        (ColumnType::Int16, numbers([i16::MIN, 0, i16::MAX].map(i16::to_le_bytes))),
        (ColumnType::Int32, numbers([i32::MIN, 0, i32::MAX].map(i32::to_le_bytes))),
        (ColumnType::Int64, numbers([i64::MIN, 0, i64::MAX].map(i64::to_le_bytes))),
        (ColumnType::UInt8, numbers([0, 1, u8::MAX].map(u8::to_le_bytes))),
        (ColumnType::UInt16, numbers([0, 1, u16::MAX].map(u16::to_le_bytes))),
        (ColumnType::UInt32, numbers([0, 1, u32::MAX].map(u32::to_le_bytes))),
        (ColumnType::UInt64, numbers([0, 1, u64::MAX].map(u64::to_le_bytes))),
        (ColumnType::Int128, numbers([i128::MIN, -1, i128::MAX].map(i128::to_le_bytes))),
        (ColumnType::UInt128, numbers([0, 1, u128::MAX].map(u128::to_le_bytes))),
        (ColumnType::Float32, numbers([f32::MIN, f32::NAN, f32::INFINITY].map(f32::to_le_bytes))),
        (ColumnType::Float64, numbers([f64::MIN_POSITIVE, f64::NAN, -0.0].map(f64::to_le_bytes))),
        (
            ColumnType::Decimal { width: 38, scale: 7 },
            numbers([10_i128.pow(38) - 1, -1, 1 - 10_i128.pow(38)].map(i128::to_le_bytes)),
        ),
    ]
}

#[test]
fn every_number_comes_back_the_same() {
    let session = pool().session();
    let mut caller = session.caller();
    for (column_type, node) in extremes() {
        let own = function(std::slice::from_ref(&column_type), column_type.clone(), "return a");
        // Twice: the second call of numbers takes the short way.
        for nulls in [&[][..], &[], &[1], &[0, 1, 2]] {
            let given = node.clone().with_nulls(nulls);
            let output = call(&mut caller, &own, 3, &[vec![given.clone()]], None).unwrap();
            let found = nodes(&output.columns[0], output.rows).remove(0);
            assert_eq!(found.nulls, nulls, "{column_type:?}");
            let width = column_type.width().unwrap();
            for row in (0..3).filter(|row| !nulls.contains(row)) {
                let value = |node: &Node| node.values[row * width..][..width].to_vec();
                assert_eq!(value(&found), value(&given), "{column_type:?}");
            }
        }
    }
}

#[test]
fn arguments_are_masked_if_and_only_if_a_row_is_null() {
    let own =
        function(&[ColumnType::Int32], ColumnType::Boolean, "return numpy.full(len(a), type(a) is numpy.ndarray)");
    let given = numbers([1_i32, 2].map(i32::to_le_bytes));
    assert_eq!(support::result(&own, 2, &[vec![given.clone()]]).unwrap()[0].values, [1, 1]);
    assert_eq!(support::result(&own, 2, &[vec![given.with_nulls(&[1])]]).unwrap()[0].values, [0, 0]);
}

#[test]
fn a_strict_function_sees_no_null() {
    let body = "assert type(a) is type(b) is numpy.ndarray\nprint(a.tolist(), b.tolist())\nreturn a + b";
    let mut own = (*function(&[ColumnType::Int32, ColumnType::Int32], ColumnType::Int64, body)).clone();
    own.is_strict = true;
    let own = std::sync::Arc::new(own);
    let session = pool().session();
    let mut caller = session.caller();
    let a = numbers([1_i32, 2, 3].map(i32::to_le_bytes)).with_nulls(&[0]);
    let b = numbers([10_i32, 20, 30].map(i32::to_le_bytes)).with_nulls(&[2]);
    let output = call(&mut caller, &own, 3, &[vec![a.clone()], vec![b.clone()]], None).unwrap();
    let found = nodes(&output.columns[0], 3).remove(0);
    assert_eq!(found.nulls, [0, 2]);
    assert_eq!(found.values[8..16], 22_i64.to_le_bytes());
    drop(output);
    assert_eq!(session.take_notices(), "[2] [20]\n");
    let output = call(&mut caller, &own, 3, &[vec![a.with_nulls(&[0, 1, 2])], vec![b]], None).unwrap();
    assert_eq!(nodes(&output.columns[0], 3)[0].nulls, [0, 1, 2]);
    drop(output);
    assert_eq!(session.take_notices(), "");
}

#[test]
fn results_of_other_types_are_exact_or_refused() {
    use ColumnType::{Boolean, Decimal, Float32, Float64, Int8, Int32, Int64, Int128, UInt8, UInt64};
    let session = pool().session();
    let mut caller = session.caller();
    let decimal = Decimal { width: 5, scale: 2 };
    let accepted: &[(&str, &ColumnType, &[u8])] = &[
        ("numpy.array([1, 200], 'i8')", &UInt8, &[1, 200]),
        ("numpy.array([1.0, -2.0])", &Int8, &[1, 254]),
        ("[1, None]", &Int8, &[1, 0]),
        ("[3, numpy.int64(4)]", &Int8, &[3, 4]),
        ("7", &Int8, &[7, 7]),
        ("numpy.int8(7)", &Int8, &[7, 7]),
        ("numpy.array(7)", &Int8, &[7, 7]),
        ("[True, numpy.False_]", &Boolean, &[1, 0]),
        ("numpy.ma.masked_equal([1, 2], 1)", &Int8, &[0, 2]),
        ("(x for x in [5, 6])", &Int8, &[5, 6]),
    ];
    let zeros = || vec![numbers([[0_u8], [0]])];
    for (expression, result, bytes) in accepted {
        let own = function(&[Int8], (*result).clone(), &format!("return {expression}"));
        let output =
            call(&mut caller, &own, 2, &[zeros()], None).unwrap_or_else(|error| panic!("{expression}: {error}"));
        assert_eq!(nodes(&output.columns[0], 2)[0].values, *bytes, "{expression}");
    }
    let refused: &[(&str, &ColumnType, &str, &str)] = &[
        ("numpy.array([1, 300])", &UInt8, "22003", "row 2: 300 does not fit into UInt8"),
        ("numpy.array([-1, 3])", &UInt64, "22003", "row 1: -1 "),
        ("numpy.array([1, 2**63], 'u8')", &Int64, "22003", "row 2: 9223372036854775808 "),
        ("numpy.array([1.0, 2.5])", &Int32, "22003", "row 2: 2.5 "),
        ("numpy.array([1.0, 2.0**63])", &Int64, "22003", "row 2: "),
        ("numpy.array([1.0, 2.0**64])", &UInt64, "22003", "row 2: "),
        ("numpy.array([numpy.nan, 1])", &Int32, "22004", "row 1: nan is no number of Int32"),
        ("[float('nan'), 1]", &Int32, "22004", "row 1: NaN"),
        ("numpy.array([1, 2**53 + 1])", &Float64, "22003", "row 2: 9007199254740993 "),
        ("numpy.array([1, 2**63 - 1])", &Float64, "22003", "row 2: 9223372036854775807 "),
        ("numpy.array([1, 2**64 - 1], 'u8')", &Float64, "22003", "row 2: 18446744073709551615 "),
        ("[0, 2**53 + 1]", &Float64, "22003", "row 2: 9007199254740993 "),
        ("numpy.array([1, 1e39])", &Float32, "22003", "row 2: 1e+39 "),
        ("numpy.array([True, False])", &Int32, "39000", "returned bool for Int32"),
        ("numpy.array(['a', 'b'])", &Int32, "39000", "returned <U1 for Int32"),
        ("['1', '2']", &Int32, "39000", "row 1: the function returned a str"),
        ("[1, 0]", &Boolean, "39000", "row 1: the function returned a int for Boolean"),
        ("numpy.zeros(3, 'i4')", &Int32, "39000", "the function returned 3 rows for 2"),
        ("numpy.zeros((2, 2))", &Float64, "39000", "array with 2 dimensions"),
        ("numpy", &Float64, "39000", "returned a module"),
        ("[2**127, 0]", &Int128, "22003", "row 1: 170141183460469231731687303715884105728 "),
        ("[1.5, 0]", &Int128, "22003", "row 1: 1.5 "),
        ("['x', 0]", &Int128, "39000", "row 1: "),
        ("[1000, 0]", &decimal, "22003", "row 1: 1000 "),
        ("[0, 0.1]", &decimal, "22003", "row 2: 0.1 has more than 2 digits behind the point"),
        ("[0, float('nan')]", &decimal, "22004", "row 2: NaN"),
        ("[0, __import__('decimal').Decimal('1E999999999')]", &decimal, "22003", "row 2: 1E+999999999 "),
        ("[0, __import__('decimal').Decimal('-0.001')]", &decimal, "22003", "row 2: -0.001 "),
    ];
    for (expression, result, code, message) in refused {
        let own = function(&[Int8], (*result).clone(), &format!("return {expression}"));
        let error = call(&mut caller, &own, 2, &[zeros()], None).map(drop).unwrap_err();
        assert_eq!(error.sqlstate(), *code, "{expression}: {error}");
        assert!(error.to_string().contains(message), "{expression}: {error}");
    }
    let own = function(&[Int8], decimal, "from decimal import Decimal\nreturn [Decimal('1.20'), 0.25]");
    let output = call(&mut caller, &own, 2, &[zeros()], None).unwrap();
    let expected: Vec<u8> = [120_i128, 25].iter().flat_map(|value| value.to_le_bytes()).collect();
    assert_eq!(nodes(&output.columns[0], 2)[0].values, expected);
    let _ = CallError::Value(ValueFault::Other, Box::default());
}
