//! Aggregates, tables, and the forms of arguments.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod support;

use std::sync::Arc;

use colonnade_udf::{CallError, ColumnType, Form, Function, FunctionCaller, FunctionKind, NodeSize};
use support::{Node, call, column, function, nodes, numbers, pool, texts};

fn of_kind(kind: FunctionKind, results: &[(&str, ColumnType)], source: &str) -> Function {
    let results = results.iter().map(|(name, found)| column(name, found.clone())).collect();
    let own = function(&[ColumnType::Int32], ColumnType::Int64, source);
    Function { kind, results, ..(*own).clone() }
}

fn integers(items: &[i32]) -> Vec<Node> {
    vec![numbers(items.iter().map(|item| item.to_le_bytes()))]
}

fn longs(items: &[i64]) -> Node {
    numbers(items.iter().map(|item| item.to_le_bytes()))
}

fn grouped(caller: &mut FunctionCaller, own: Function, given: Vec<Node>, groups: &[u64]) -> Result<Node, CallError> {
    let rows = given[0].length;
    let output = call(caller, &Arc::new(own), rows, &[given], Some(groups))?;
    Ok(nodes(&output.columns[0], output.rows).remove(0))
}

#[test]
fn an_aggregate_gets_many_groups_or_one() {
    let session = pool().session();
    let mut caller = session.caller();
    let result = [("r", ColumnType::Int64)];
    let sums = "print(aggr_group.tolist())\nreturn numpy.bincount(aggr_group, a).astype('i8')";
    let all = || of_kind(FunctionKind::Aggregate, &result, sums);
    let groups = [0, 2, 2, 3];
    let found = grouped(&mut caller, all(), integers(&[1, 2, 30]), &groups).unwrap();
    assert_eq!(
        (found.nulls, &found.values[..8], &found.values[16..]),
        (vec![1], &longs(&[3]).values[..], &longs(&[30]).values[..])
    );
    assert_eq!(session.take_notices(), "[0, 0, 1]\n");
    let found = grouped(&mut caller, all(), integers(&[]), &[0, 0]).unwrap();
    assert_eq!(found.nulls, [0]);
    let strict = Function { is_strict: true, id: 7, ..all() };
    let given = vec![integers(&[1, 2, 30]).remove(0).with_nulls(&[0, 2])];
    let found = grouped(&mut caller, strict, given, &[0, 2, 3]).unwrap();
    assert_eq!((found.nulls, &found.values[..8]), (vec![1], &longs(&[2]).values[..]));
    let wrong =
        grouped(&mut caller, of_kind(FunctionKind::Aggregate, &result, "return [1, 2, 3]"), integers(&[1]), &[0, 1]);
    assert_eq!(wrong.unwrap_err().to_string(), "the function returned 3 rows for 1");
    for body in
        ["return a.sum()", "return [int(a.sum())]", "return numpy.array([a.sum()])", "return a.sum(keepdims=True)"]
    {
        let own = of_kind(FunctionKind::AggregatePerGroup, &result, body);
        let found = grouped(&mut caller, own, integers(&[1, 2, 30]), &groups).unwrap();
        assert_eq!(found, longs(&[3, 0, 30]).with_nulls(&[1]), "{body}");
    }
    let own = of_kind(FunctionKind::AggregatePerGroup, &result, "return aggr_group");
    let error = grouped(&mut caller, own, integers(&[1]), &[0, 1]).unwrap_err();
    assert!(error.to_string().starts_with("NameError"), "{error}");
}

#[test]
fn a_table_has_any_number_of_rows() {
    let session = pool().session();
    let mut caller = session.caller();
    let columns = [("n", ColumnType::Int64), ("t", ColumnType::Text)];
    let expected = (longs(&[1, 2, 3]), texts(&[Some("x"), Some("x"), Some("x")]));
    for body in [
        "return {'t': 'x', 'n': [1, 2, 3]}",
        "return [numpy.arange(1, 4), 'x']",
        "return (x for x in ()) if False else [[1, 2, 3], ['x'] * 3]",
        "return numpy.array([(1, 'x'), (2, 'x'), (3, 'x')], [('n', 'i8'), ('t', 'U1')])",
        "import pandas\nreturn pandas.DataFrame({'n': [1, 2, 3], 't': 'x'})",
        "import polars\nreturn polars.DataFrame({'n': [1, 2, 3], 't': 'x'})",
        "import pyarrow\nreturn pyarrow.table({'n': [1, 2, 3], 't': ['x'] * 3})",
    ] {
        let own = Arc::new(of_kind(FunctionKind::Table, &columns, body));
        let output = call(&mut caller, &own, 1, &[integers(&[1])], None)
            .unwrap_or_else(|error| panic!("{body}: {error} {:?}", error.record()));
        assert_eq!(output.rows, 3);
        assert_eq!(
            (nodes(&output.columns[0], 3).remove(0), nodes(&output.columns[1], 3).remove(0)),
            expected,
            "{body}"
        );
    }
    for (body, message) in [
        ("return {'n': [1]}", "the returned table has no column \"t\"; it has n"),
        ("return {'n': 1, 't': 'x', 'u': 2}", "the returned table has the column \"u\", which is not declared"),
        ("return {'n': [1, 2], 't': ['x']}", "the function returned 1 rows for 2"),
        ("return [[1]]", "the function returned 1 columns for 2"),
        ("return 1", "the function returned a int; return a dict of the columns' arrays"),
    ] {
        let own = Arc::new(of_kind(FunctionKind::Table, &columns, body));
        let error = call(&mut caller, &own, 1, &[integers(&[1])], None).map(drop).unwrap_err();
        assert_eq!((error.sqlstate(), error.to_string().as_str()), ("39000", message));
    }
}

#[test]
fn columns_of_other_libraries_are_columns() {
    let session = pool().session();
    let mut caller = session.caller();
    for expression in [
        "__import__('pandas').Series([1, None], dtype='Int64')",
        "__import__('pandas').Series([1, None])",
        "__import__('polars').Series([1, None])",
        "__import__('pyarrow').array([1, None])",
        "__import__('pyarrow').chunked_array([[1], [None]])",
    ] {
        let own = function(&[ColumnType::Int32], ColumnType::Int64, &format!("return {expression}"));
        let output = call(&mut caller, &own, 2, &[integers(&[1, 2])], None)
            .unwrap_or_else(|error| panic!("{expression}: {error} {:?}", error.record()));
        assert_eq!(nodes(&output.columns[0], 2)[0], longs(&[1, 0]).with_nulls(&[1]), "{expression}");
    }
}

#[test]
fn an_argument_has_one_of_three_forms() {
    let session = pool().session();
    let mut caller = session.caller();
    let own =
        function(&[ColumnType::Int32, ColumnType::Text], ColumnType::Text, "return [f'{x}{y}' for x, y in zip(a, b)]");
    let mut inputs = caller.prepare(&own, 3).unwrap();
    inputs.parameter(Form::Repeated).unwrap();
    let node = inputs.node(NodeSize { length: 1, values: 4, ..NodeSize::default() }).unwrap();
    node.values.write(0, &7_i32.to_le_bytes());
    inputs.parameter(Form::Dictionary).unwrap();
    let node = inputs.node(NodeSize { length: 3, values: 12, ..NodeSize::default() }).unwrap();
    node.values.write(0, &[1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
    let node = inputs.node(NodeSize { length: 2, has_validity: true, values: 24, heap: 1 }).unwrap();
    node.validity.write(0, &[1]);
    node.values.write_words(&[0, 1, 1]);
    node.heap.write(0, b"x");
    let output = inputs.call().unwrap();
    assert_eq!(nodes(&output.columns[0], 3)[0], texts(&[Some("7--"), Some("7x"), Some("7--")]));
}

#[test]
fn a_scalar_argument_is_a_value() {
    let session = pool().session();
    let mut caller = session.caller();
    let mut own =
        (*function(&[ColumnType::Int32, ColumnType::Text], ColumnType::Text, "return [b + str(type(a))] * 2")).clone();
    own.parameters.iter_mut().for_each(|parameter| parameter.is_scalar = true);
    let own = Arc::new(own);
    let mut inputs = caller.prepare(&own, 2).unwrap();
    assert_eq!(inputs.parameter(Form::Array).unwrap_err().sqlstate(), "XX000");
    inputs.parameter(Form::Repeated).unwrap();
    inputs.node(NodeSize { length: 1, values: 4, ..NodeSize::default() }).unwrap().values.write(0, &[0; 4]);
    inputs.parameter(Form::Repeated).unwrap();
    let node = inputs.node(NodeSize { length: 1, values: 16, heap: 1, ..NodeSize::default() }).unwrap();
    node.values.write_words(&[0, 1]);
    node.heap.write(0, b"x");
    let output = inputs.call().unwrap();
    assert_eq!(nodes(&output.columns[0], 2)[0], texts(&[Some("x<class 'int'>"), Some("x<class 'int'>")]));
}

#[test]
fn arguments_that_are_not_as_declared_are_refused() {
    let session = pool().session();
    let mut caller = session.caller();
    let own = function(&[ColumnType::Int32], ColumnType::Int32, "return a");
    let fault = |error: CallError| match error {
        CallError::Misuse { fault, .. } => fault,
        other => panic!("{other}"),
    };
    let mut inputs = caller.prepare(&own, 1).unwrap();
    assert_eq!(fault(inputs.node(NodeSize::default()).unwrap_err()), "a parameter has more nodes than its type");
    inputs.parameter(Form::Array).unwrap();
    assert_eq!(fault(inputs.parameter(Form::Array).unwrap_err()), "a parameter lacks nodes");
    assert_eq!(fault(inputs.call().map(drop).unwrap_err()), "there are fewer arguments than parameters");
    let error = call(&mut caller, &own, 1, &[integers(&[1])], Some(&[0, 1])).map(drop).unwrap_err();
    assert_eq!(fault(error), "only aggregates take groups");
    call(&mut caller, &own, 1, &[integers(&[1])], None).map(drop).unwrap();
}
