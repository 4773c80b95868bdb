use std::sync::Arc;

use super::*;
use crate::function::{FunctionColumn, FunctionKind};
use crate::inputs::NodeSize;
use crate::output::{FixedValues, OutputData};

fn collector(types: &[ColumnType], budget: &Arc<MemoryBudget>) -> Result<Collector, CallError> {
    let column = |type_: &ColumnType| FunctionColumn {
        name: String::new(),
        type_name: String::new(),
        column_type: type_.clone(),
        is_scalar: false,
    };
    let function = Function {
        id: 0,
        name: "main.f".to_owned(),
        parameters: types.iter().map(column).collect(),
        results: Vec::new(),
        source: String::new(),
        kind: FunctionKind::Table,
        is_strict: false,
        is_arrow: false,
    };
    Collector::new(Arc::new(function), budget)
}

fn budget(limit: usize) -> Arc<MemoryBudget> {
    MemoryBudget::new(Some(limit), MemoryExceeded::Session)
}

/// Appends a vector of lists of texts: `ends` of lists, then `texts`. A list whose bit in `valid` is 0 is NULL.
fn append(collector: &mut Collector, form: Form, valid: u64, ends: &[u64], texts: &[&str]) -> Result<(), CallError> {
    let rows = ends.len();
    collector.append(if form == Form::Repeated { 3 } else { rows }, |inputs| {
        inputs.parameter(form)?;
        let node = inputs.node(NodeSize { length: rows, has_validity: true, values: 8 * (rows + 1), heap: 0 })?;
        node.validity.write_words(&[valid]);
        node.values.write_words(&[&[0], ends].concat());
        let heap = texts.concat();
        let values = 8 * (texts.len() + 1);
        let size = NodeSize { length: texts.len(), has_validity: false, values, heap: heap.len() };
        let node = inputs.node(size)?;
        let ends = texts.iter().scan(0, |end, text| {
            *end += text.len() as u64;
            Some(*end)
        });
        node.values.write_words(&[0].into_iter().chain(ends).collect::<Vec<_>>());
        node.heap.write(0, heap.as_bytes());
        Ok(())
    })
}

/// The lists of a column.
fn lists(column: &OutputColumn<'_>) -> Vec<Option<Vec<String>>> {
    let OutputData::List { offsets, items } = &column.data else { return Vec::new() };
    let OutputData::Bytes { offsets: ends, bytes } = &items.data else { return Vec::new() };
    let text = |item: usize| String::from_utf8_lossy(&bytes[ends[item] as usize..ends[item + 1] as usize]).into_owned();
    let list = |row: usize| (offsets[row] as usize..offsets[row + 1] as usize).map(text).collect();
    (0..offsets.len() - 1).map(|row| column.is_valid(row).then(|| list(row))).collect()
}

#[test]
fn vectors_of_all_forms_are_appended() {
    let type_ = ColumnType::List(Box::new(ColumnType::Text));
    let budget = budget(1 << 20);
    let mut collector = collector(std::slice::from_ref(&type_), &budget).unwrap();
    append(&mut collector, Form::Array, 0b101, &[2, 2, 3], &["a", "bc", "d"]).unwrap();
    append(&mut collector, Form::Repeated, 1, &[1], &["e"]).unwrap();
    append(&mut collector, Form::Repeated, 0, &[0], &[]).unwrap();
    let mut collected = collector.take().unwrap();
    let list = |texts: &[&str]| Some(texts.iter().map(ToString::to_string).collect::<Vec<_>>());
    let e = list(&["e"]);
    let expected = [list(&["a", "bc"]), None, list(&["d"]), e.clone(), e.clone(), e, None, None, None];
    let (copy, of_copy) = collected.column(0, &type_).unwrap().unwrap();
    assert_eq!((collected.len(), lists(&copy)), (9, expected.to_vec()));
    let (taken, of_taken) = collected.take_column(0, &type_).unwrap();
    assert_eq!(lists(&taken), expected);
    drop((collected, collector, of_copy));
    assert!(budget.used() >= 8 + taken.slice_bytes(&type_, 0, 9), "{}", budget.used());
    drop(of_taken);
    assert_eq!(budget.used(), 0);
}

#[test]
fn rows_are_charged_before_they_are_appended() {
    let whole = MemoryBudget::new(Some(1 << 20), MemoryExceeded::Server);
    let session = || whole.part(Some(600 << 10), MemoryExceeded::Session);
    let fill = |collector: &mut Collector, bytes: usize| {
        collector.append(bytes / 8, |inputs| {
            inputs.parameter(Form::Array)?;
            inputs.node(NodeSize { length: bytes / 8, values: bytes, ..NodeSize::default() }).map(drop)
        })
    };
    let first = session();
    let mut one = collector(&[ColumnType::Int64], &first).unwrap();
    let mut two = collector(&[ColumnType::Int64], &first).unwrap();
    fill(&mut one, 400 << 10).unwrap();
    let refused = fill(&mut two, 400 << 10).unwrap_err();
    assert_eq!((refused.sqlstate(), whole.used()), ("53200", 400 << 10));
    assert!(refused.to_string().contains("--udf-memory=614400 bytes"), "{refused}");
    fill(&mut two, 200 << 10).unwrap();
    let mut other = collector(&[ColumnType::Int64], &session()).unwrap();
    let refused = fill(&mut other, 500 << 10).unwrap_err();
    assert!(refused.to_string().contains("all sessions"), "{refused}");
    drop(one.take().unwrap());
    fill(&mut other, 500 << 10).unwrap();
    drop((one, two, other));
    assert_eq!((first.used(), whole.used()), (0, 0));
}

#[test]
fn one_value_is_found_by_its_value() {
    let same = |type_: &ColumnType, node: &Node, rows: usize| (1..rows).all(|row| node.is_same(type_, 0, row));
    let type_ = ColumnType::List(Box::new(ColumnType::Text));
    let filled = |ends: &[u64], texts: &[&str], valid| {
        let mut collector = collector(std::slice::from_ref(&type_), &budget(1 << 20)).unwrap();
        append(&mut collector, Form::Array, valid, ends, texts).unwrap();
        let rows = collector.take().unwrap();
        same(&type_, &rows.columns[0], rows.len())
    };
    assert!(filled(&[1, 2], &["ab", "ab"], 3));
    assert!(filled(&[0, 0], &[], 0));
    assert!(!filled(&[1, 2], &["ab", "ac"], 3));
    assert!(!filled(&[1, 1], &["ab"], 1));
    assert!(!filled(&[1, 3], &["ab", "ab", "ab"], 3));
    let fixed = OutputColumn { validity: None, data: OutputData::Fixed(FixedValues::of(vec![1, 0], 1)) };
    assert_eq!(fixed.slice_bytes(&ColumnType::Int8, 1, 1), 1);
}
