//! Property tests: whatever a function process writes, the check refuses it or everything in it can be read.

use proptest::prelude::*;

use super::any_columns;
use super::hostile::check_bytes;
use crate::function::{ColumnType, FunctionColumn, TimestampUnit};
use crate::layout::{Answer, AnswerHead, DATA, RECORD};
use crate::output::ColumnSource;
use crate::ring::Ring;

fn column_type() -> impl Strategy<Value = ColumnType> {
    let simple = prop_oneof![
        Just(ColumnType::Boolean),
        Just(ColumnType::Int8),
        Just(ColumnType::Int32),
        Just(ColumnType::Int128),
        Just(ColumnType::Float64),
        Just(ColumnType::Decimal { width: 4, scale: 2 }),
        Just(ColumnType::Text),
        Just(ColumnType::Blob),
        Just(ColumnType::Date),
        Just(ColumnType::Time),
        Just(ColumnType::Timestamp(TimestampUnit::Second)),
        Just(ColumnType::TimestampTz),
        Just(ColumnType::Interval),
    ];
    simple.prop_recursive(3, 8, 3, |inner| {
        let named = |inner| proptest::collection::vec(("[a-z]", inner), 1..3);
        prop_oneof![
            inner.clone().prop_map(|item| ColumnType::List(Box::new(item))),
            (inner.clone(), 1_usize..4).prop_map(|(item, size)| ColumnType::Array { item: Box::new(item), size }),
            named(inner.clone()).prop_map(ColumnType::Struct),
            named(inner.clone()).prop_map(ColumnType::Union),
            (inner.clone(), inner).prop_map(|(key, value)| ColumnType::Map(Box::new(key), Box::new(value))),
        ]
    })
}

/// A word that is likely to be a length or a place.
fn word() -> impl Strategy<Value = u64> {
    let places = DATA as u64..DATA as u64 + 64;
    prop_oneof![4 => 0_u64..20, 4 => places, 1 => any::<u64>(), 1 => Just(1 << 20), 1 => (4_u64 << 20) - 8..(4 << 20) + 8]
}

fn answer(head: &[u64], words: &[u64], data: &[u8]) -> Vec<u8> {
    let mut bytes: Vec<u8> = head.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.resize(64, 0);
    bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    bytes.resize(64 + 1024 + 256 + 64, 0);
    bytes.extend(data);
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn any_answer_is_refused_or_can_be_read(
        column_type in column_type(),
        rows in 0_u64..10,
        words in proptest::collection::vec(word(), 120),
        data in proptest::collection::vec(prop_oneof![3 => Just(0_u8), 3 => 0_u8..6, 1 => any::<u8>()], 0..256),
        texts in any::<[u64; 2]>(),
    ) {
        let count = column_type.nodes() * 6;
        let head = [Answer::Done as u64, rows, count as u64, texts[0] % 300, texts[1] % 70, 0];
        let mut words = words;
        // Half of the time the lengths of the first nodes are right.
        if rows % 2 == 0 {
            words.iter_mut().step_by(6).for_each(|length| *length = rows);
        }
        let _ = check_bytes(&answer(&head, &words, &data), &[column_type], Some(rows as usize));
    }

    #[test]
    fn any_bytes_are_refused_or_can_be_read(bytes in proptest::collection::vec(any::<u8>(), 0..2000), column_type in column_type()) {
        let _ = check_bytes(&bytes, &[column_type], None);
    }
}

#[test]
fn each_fault_is_found() {
    let at = DATA as u64;
    let check = |column_type: ColumnType, rows: u64, nodes: &[[u64; 6]], data: &[u8]| {
        let head = [Answer::Done as u64, rows, nodes.len() as u64 * 6, 0, 0, 0];
        check_bytes(&answer(&head, nodes.as_flattened(), data), &[column_type], Some(rows as usize))
    };
    let offsets = |items: &[u64]| items.iter().flat_map(|item| item.to_le_bytes()).collect::<Vec<_>>();
    assert_eq!(check(ColumnType::Int32, 2, &[[2, 0, at, 8, at, 0]], &[1; 8]), Ok(()));
    let far = (4 << 20) - 4;
    let faults = [
        (ColumnType::Int32, 2, vec![[1, 0, at, 8, at, 0]], vec![], "the length of a column is wrong"),
        (ColumnType::Int32, 2, vec![[2, 0, at, 4, at, 0]], vec![], "a buffer has a wrong size"),
        (ColumnType::Int32, 2, vec![[2, 0, far, 8, at, 0]], vec![], "a buffer is not within the ring"),
        (ColumnType::Int32, 2, vec![[2, u64::MAX, at, 8, at, 0]], vec![], "a buffer is not within the ring"),
        (ColumnType::Int32, 2, vec![[2, 0, u64::MAX - 3, 8, at, 0]], vec![], "a buffer is not within the ring"),
        (ColumnType::Int32, 2, vec![], vec![], "the number of columns is wrong"),
        (ColumnType::Boolean, 2, vec![[2, 0, at, 2, at, 0]], vec![1, 2], "a boolean is neither 0 nor 1"),
        (
            ColumnType::Text,
            1,
            vec![[1, 0, at, 16, at, 3]],
            offsets(&[0, 2]),
            "the offsets of texts do not end where their bytes do",
        ),
        (ColumnType::Text, 2, vec![[2, 0, at, 24, at, 2]], offsets(&[0, 3, 2]), "the offsets of a column are wrong"),
        (ColumnType::Text, 1, vec![[1, 0, at, 16, at, 2]], offsets(&[1, 2]), "the offsets of a column are wrong"),
        (ColumnType::Text, 1, vec![[1, 0, at, 16, at, 1]], offsets(&[0, 1]), "a text has a NUL"),
        (
            ColumnType::Text,
            1,
            vec![[1, 0, at, 16, at + 16, 1]],
            [offsets(&[0, 1]), vec![255]].concat(),
            "a text is not UTF-8",
        ),
        (
            ColumnType::Text,
            2,
            vec![[2, 0, at, 24, at + 24, 2]],
            [offsets(&[0, 1, 2]), "é".into()].concat(),
            "a text is not UTF-8",
        ),
        (ColumnType::Date, 1, vec![[1, 0, at, 4, at, 0]], i32::MAX.to_le_bytes().to_vec(), "a date is out of range"),
        (
            ColumnType::Time,
            1,
            vec![[1, 0, at, 8, at, 0]],
            (-1_i64).to_le_bytes().to_vec(),
            "a time of day is out of range",
        ),
        (
            ColumnType::TimestampTz,
            1,
            vec![[1, 0, at, 8, at, 0]],
            i64::MIN.to_le_bytes().to_vec(),
            "a timestamp is out of range",
        ),
        (
            ColumnType::Timestamp(TimestampUnit::Second),
            1,
            vec![[1, 0, at, 8, at, 0]],
            9_223_372_036_855_i64.to_le_bytes().to_vec(),
            "a timestamp is out of range",
        ),
        (
            ColumnType::Timestamp(TimestampUnit::Millisecond),
            1,
            vec![[1, 0, at, 8, at, 0]],
            (-9_223_372_022_400_001_i64).to_le_bytes().to_vec(),
            "a timestamp is out of range",
        ),
        (
            ColumnType::Decimal { width: 2, scale: 1 },
            1,
            vec![[1, 0, at, 16, at, 0]],
            100_i128.to_le_bytes().to_vec(),
            "a decimal has too many digits",
        ),
        (
            ColumnType::List(Box::new(ColumnType::Struct(Vec::new()))),
            1,
            vec![[1, 0, at, 16, at, 0], [1 << 40, 0, at, 0, at, 0]],
            offsets(&[0, 1 << 40]),
            "the number of a list's items is wrong",
        ),
        (
            ColumnType::Union(vec![("a".to_owned(), ColumnType::Int8)]),
            1,
            vec![[1, 0, at, 1, at, 0], [1, 0, at, 1, at, 0]],
            vec![1],
            "the number of a union's member is wrong",
        ),
    ];
    for (column_type, rows, nodes, data, fault) in faults {
        assert_eq!(check(column_type, rows, &nodes, &data), Err(fault));
    }
}

#[test]
fn overlapping_buffers_are_refused_before_they_are_copied() {
    let at = DATA as u64;
    let check = |types: &[ColumnType], rows: u64, nodes: &[[u64; 6]], data: &[u8]| {
        let head = [Answer::Done as u64, rows, nodes.len() as u64 * 6, 0, 0, 0];
        check_bytes(&answer(&head, nodes.as_flattened(), data), types, None)
    };
    let fault = Err("the buffers are larger than the ring, or not separate");
    // The ring has 4 MiB.
    let rows = (4_u64 << 20) / 16;
    let flags = vec![ColumnType::Boolean; 17];
    let flag = |rows| [rows, 0, at, rows, at, 0];
    assert_eq!(check(&flags[..16], rows, &vec![flag(rows); 16], &[]), Ok(()));
    assert_eq!(check(&flags, rows, &vec![flag(rows); 17], &[]), fault);
    let bits = [rows * 8 / 9, at, at, rows * 8 / 9, at, 0];
    assert_eq!(check(&flags, bits[0], &vec![bits; 17], &[]), fault, "bitmaps count");
    let heap = 2 << 20;
    let texts = [[1, 0, at, 16, at, heap], [1, 0, at, 16, at, heap]];
    assert_eq!(check(&[ColumnType::Text, ColumnType::Text], 1, &texts, &[]), fault);
    let huge = [[1, 0, at, u64::MAX, at, 0], [1, 0, at, 1, at, 0]];
    assert_eq!(check(&flags[..2], 1, &huge, &[]), fault);
    // Items that take no memory, but time.
    let lists = vec![ColumnType::List(Box::new(ColumnType::Struct(Vec::new()))); 5];
    let items = 1_u64 << 20;
    let data: Vec<_> = [0, items].iter().flat_map(|item: &u64| item.to_le_bytes()).collect();
    let nodes = [[1, 0, at, 16, at, 0], [items, 0, at, 0, at, 0]];
    assert_eq!(check(&lists[..4], 1, &vec![nodes; 4].concat(), &data), Ok(()));
    assert_eq!(check(&lists, 1, &vec![nodes; 5].concat(), &data), Err("the number of rows is wrong"));
}

#[test]
fn columns_are_made_or_arguments() {
    let parameter = |is_scalar| FunctionColumn {
        name: "x".to_owned(),
        type_name: "INTEGER".to_owned(),
        column_type: ColumnType::Int32,
        is_scalar,
    };
    let parameters = [parameter(false), parameter(true)];
    let read = |type_: &str| {
        let ring = Ring::new(0).map_err(|_| "no ring")?;
        let mut record = 1_u32.to_le_bytes().to_vec();
        for text in ["c", type_] {
            record.extend((text.len() as u32).to_le_bytes());
            record.extend(text.as_bytes());
        }
        ring.slice(RECORD, record.len()).ok_or("no ring")?.write(0, &record);
        let head = AnswerHead { record_bytes: record.len() as u64, ..ring.answer_head() };
        any_columns(&ring, &head, &parameters).map(|(mut names, types)| (names.remove(0).1, types.len()))
    };
    assert_eq!(read("VARCHAR"), Ok((ColumnSource::Values("VARCHAR".to_owned()), 1)));
    assert_eq!(read("0"), Ok((ColumnSource::Argument(0), 0)));
    for wrong in ["1", "2", "0x", "00000000000000000000000000000000000000009", "18446744073709551616"] {
        assert_eq!(read(wrong), Err("a column is an argument that there is not"), "{wrong}");
    }
    for wrong in ["", "-1", "+0", "INTEGERS"] {
        assert_eq!(read(wrong), Err("the type of a column is unknown"), "{wrong}");
    }
}
