//! Columns that are encoded, in any configuration, decode to the same values.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test")]

mod logical;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, RecordBatch, RecordBatchOptions};
use bytes::Bytes;
use colonnade_wire::arrow::{array_from_column, columns_from_batch, schema_from_arrow, schema_to_arrow};
use colonnade_wire::{
    Bitmap, Column, Config, DataType, DecodeLimits, Decoder, Encoder, Field, IndexType, Layout, Message, Schema, Unit,
    Values,
};
use proptest::prelude::*;

const CONFIGS: [&str; 6] = ["plain", "light", "light+fsst", "light+lz4", "light+zstd-1", "plain+zstd-3"];

/// Integers in shapes that make the encoder choose each encoding.
fn integers(rows: usize) -> impl Strategy<Value = Vec<i64>> {
    prop_oneof![
        any::<i64>().prop_map(move |value| vec![value; rows]),
        proptest::collection::vec(any::<i64>(), rows),
        proptest::collection::vec(-100i64..100, rows),
        proptest::collection::vec(0i64..5, rows).prop_map(|steps| {
            let mut sum = 1i64 << 40;
            steps
                .iter()
                .map(|step| {
                    sum += step;
                    sum
                })
                .collect()
        }),
        proptest::collection::vec(prop::sample::select(vec![0i64, i64::MAX, i64::MIN, 12_345_678_901]), rows),
        proptest::collection::vec(prop_oneof![9 => 0i64..10, 1 => any::<i64>()], rows),
    ]
}

fn fixed(rows: usize, width: usize) -> impl Strategy<Value = Vec<u8>> {
    (integers(rows), any::<bool>()).prop_map(move |(values, wide)| {
        let mut bytes = Vec::new();
        for value in values {
            let fill = if wide && value % 3 == 0 {
                0x5A
            } else if value < 0 {
                0xFF
            } else {
                0
            };
            let mut record = vec![fill; width.max(8)];
            record[..8].copy_from_slice(&value.to_le_bytes());
            bytes.extend_from_slice(&record[..width]);
        }
        bytes
    })
}

fn floats(rows: usize, width: usize) -> impl Strategy<Value = Vec<u8>> {
    let decimal = proptest::collection::vec(0u32..100_000, rows)
        .prop_map(|values| values.iter().map(|&value| f64::from(value) / 100.0).collect::<Vec<_>>());
    let any_float = proptest::collection::vec(any::<f64>(), rows);
    let few = proptest::collection::vec(prop::sample::select(vec![0.1f64.sqrt(), f64::NAN, -0.0, f64::INFINITY]), rows);
    prop_oneof![decimal, any_float, few].prop_map(move |values| {
        let bytes = values.iter().map(|&value| match width {
            4 => (value as f32).to_le_bytes().to_vec(),
            _ => value.to_le_bytes().to_vec(),
        });
        bytes.flatten().collect()
    })
}

fn strings(rows: usize) -> impl Strategy<Value = Vec<String>> {
    prop_oneof![
        "[a-zé漢]{0,20}".prop_map(move |value| vec![value; rows]),
        proptest::collection::vec("[a-z漢]{0,12}", rows),
        proptest::collection::vec(
            prop::sample::select(vec!["AIR", "TRUCK", "", "a rather longer string than sixteen"]),
            rows
        )
        .prop_map(|values| values.into_iter().map(str::to_owned).collect()),
        proptest::collection::vec((0usize..40, 0usize..40), rows).prop_map(|picks| {
            let words = "carefully final deposits detect slyly agai blithely regular ideas cajole";
            picks.iter().map(|&(from, count)| words.chars().skip(from).take(count).collect()).collect()
        }),
    ]
}

fn offsets(lengths: impl Iterator<Item = usize>, width: usize, first: usize) -> Vec<u8> {
    let mut at = first;
    let mut bytes = at.to_le_bytes()[..width].to_vec();
    for length in lengths {
        at += length;
        bytes.extend_from_slice(&at.to_le_bytes()[..width]);
    }
    bytes
}

fn validity(rows: usize) -> impl Strategy<Value = Option<Bitmap<Bytes>>> {
    let bitmap = |share: f64| {
        (proptest::collection::vec(proptest::bool::weighted(share), rows), 0usize..20).prop_map(|(bits, offset)| {
            let mut bytes = vec![0u8; (offset + bits.len()).div_ceil(8) + 1];
            for (row, bit) in bits.iter().enumerate() {
                bytes[(offset + row) / 8] |= u8::from(*bit) << ((offset + row) % 8);
            }
            Some(Bitmap { bytes: Bytes::from(bytes), offset })
        })
    };
    prop_oneof![Just(None), bitmap(0.95), bitmap(0.5), bitmap(0.02), bitmap(0.0), bitmap(1.0)]
}

fn field(data_type: DataType) -> Field {
    let item = |data_type| Field::new("item", data_type, true);
    let children = match data_type {
        DataType::List | DataType::LargeList => vec![item(DataType::Utf8)],
        DataType::FixedSizeList(_) => vec![item(DataType::Int16)],
        DataType::Struct => vec![item(DataType::Int64), item(DataType::Utf8)],
        DataType::Map { .. } => vec![
            Field::new("entries", DataType::Struct, false)
                .with_children(vec![Field::new("key", DataType::Int32, false), item(DataType::Float64)]),
        ],
        DataType::Dictionary { .. } => vec![Field::new("values", DataType::Utf8, true)],
        _ => vec![],
    };
    Field::new("c", data_type, true).with_children(children)
}

fn column(field: Field, rows: usize) -> BoxedStrategy<Column<Bytes>> {
    let values: BoxedStrategy<Values<Bytes>> = match field.data_type.layout() {
        Layout::None => Just(Values::None).boxed(),
        Layout::Bits => {
            proptest::collection::vec(prop_oneof![Just(0u8), Just(0xFF), any::<u8>()], rows.div_ceil(8) + 1)
                .prop_map(|bytes| Values::Bits(Bitmap { bytes: Bytes::from(bytes), offset: 3 }))
                .boxed()
        }
        Layout::Float(width) => floats(rows, width).prop_map(|bytes| Values::Fixed(bytes.into())).boxed(),
        Layout::Bytes { offset, .. } => (strings(rows), 0usize..9)
            .prop_map(move |(values, first)| Values::Bytes {
                offsets: offsets(values.iter().map(String::len), offset, first).into(),
                data: ["#".repeat(first), values.concat(), "rest".to_owned()].concat().into(),
            })
            .boxed(),
        Layout::List(offset) => (proptest::collection::vec(0usize..4, rows), 0usize..3)
            .prop_flat_map(move |(lengths, first)| {
                let items = first + lengths.iter().sum::<usize>() + 2;
                let child = column(field.children[0].clone(), items);
                let offsets: Bytes = offsets(lengths.into_iter(), offset, first).into();
                child.prop_map(move |child| Values::List { offsets: offsets.clone(), child: Box::new(child) })
            })
            .boxed(),
        Layout::FixedList(size) => {
            column(field.children[0].clone(), rows * size).prop_map(|child| Values::FixedList(Box::new(child))).boxed()
        }
        Layout::Struct => {
            let children: Vec<_> = field.children.iter().map(|field| column(field.clone(), rows)).collect();
            children.prop_map(Values::Struct).boxed()
        }
        Layout::Dictionary(index) => (column(field.children[0].clone(), 7), proptest::collection::vec(0u64..7, rows))
            .prop_map(move |(values, indices)| Values::Dictionary {
                indices: indices.iter().flat_map(|at| at.to_le_bytes()[..index.width()].to_vec()).collect(),
                values: Box::new(values),
            })
            .boxed(),
        layout => fixed(rows, layout.fixed_width().unwrap()).prop_map(|bytes| Values::Fixed(bytes.into())).boxed(),
    };
    let validity =
        if field.data_type == DataType::Null || !field.nullable { Just(None).boxed() } else { validity(rows).boxed() };
    (validity, values).prop_map(move |(validity, values)| Column { rows, validity, values }).boxed()
}

fn data_types() -> impl Strategy<Value = DataType> {
    prop::sample::select(vec![
        DataType::Null,
        DataType::Bool,
        DataType::Int8,
        DataType::Int16,
        DataType::Int32,
        DataType::Int64,
        DataType::UInt8,
        DataType::UInt16,
        DataType::UInt32,
        DataType::UInt64,
        DataType::Float16,
        DataType::Float32,
        DataType::Float64,
        DataType::Decimal32 { precision: 9, scale: 2 },
        DataType::Decimal64 { precision: 18, scale: -3 },
        DataType::Decimal128 { precision: 38, scale: 10 },
        DataType::Decimal256 { precision: 76, scale: 0 },
        DataType::Date32,
        DataType::Date64,
        DataType::Time32(Unit::Millisecond),
        DataType::Time64(Unit::Nanosecond),
        DataType::Timestamp { unit: Unit::Microsecond, zone: Some("Europe/Amsterdam".to_owned()) },
        DataType::Duration(Unit::Second),
        DataType::IntervalYearMonth,
        DataType::IntervalDayTime,
        DataType::IntervalMonthDayNano,
        DataType::Utf8,
        DataType::LargeUtf8,
        DataType::Binary,
        DataType::LargeBinary,
        DataType::FixedSizeBinary(16),
        DataType::FixedSizeBinary(0),
        DataType::List,
        DataType::LargeList,
        DataType::FixedSizeList(3),
        DataType::Struct,
        DataType::Map { sorted: false },
        DataType::Dictionary { index: IndexType::Int8, ordered: true },
        DataType::Dictionary { index: IndexType::UInt32, ordered: false },
    ])
}

/// One chunk of one to three columns, and how it is encoded.
fn chunk() -> impl Strategy<Value = (Schema, usize, Vec<Column<Bytes>>, &'static str)> {
    let rows = prop_oneof![Just(0usize), 1usize..40, Just(1024), 1000usize..2600];
    (rows, proptest::collection::vec(data_types(), 1..4), prop::sample::select(CONFIGS.to_vec())).prop_flat_map(
        |(rows, types, config)| {
            let fields: Vec<Field> = types.into_iter().map(field).collect();
            let columns: Vec<_> = fields.iter().map(|field| column(field.clone(), rows)).collect();
            let schema = Schema { fields, metadata: vec![("k".to_owned(), "v".to_owned())] };
            (Just(schema), Just(rows), columns, Just(config))
        },
    )
}

/// Converts decoded columns to Arrow arrays and back, and checks that the values are the same.
fn check_bridge(schema: &Schema, rows: usize, columns: &[Column<Bytes>]) {
    let arrow = Arc::new(schema_to_arrow(schema));
    assert_eq!(schema_from_arrow(&arrow).unwrap(), *schema);
    let arrays = schema.fields.iter().zip(columns).map(|(field, column)| array_from_column(field, column.clone()));
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let batch = RecordBatch::try_new_with_options(arrow, arrays.collect(), &options).unwrap();
    for array in batch.columns() {
        array.to_data().validate_full().unwrap();
    }
    let views = columns_from_batch(&batch);
    for ((field, column), view) in schema.fields.iter().zip(columns).zip(&views) {
        let view = view.to_shared();
        for row in 0..rows {
            let (expected, found) = (logical::value(field, column, row), logical::value(field, &view, row));
            assert!(logical::same(field, &expected, &found), "row {row} of {field:?}: {found} not {expected}");
        }
    }
}

/// Checks that a column with codes has the values of the plain one. Returns whether it has codes.
fn check_codes(field: &Field, plain: &Column<Bytes>, with_codes: Column<Bytes>) -> bool {
    let [plain, with_codes] = [plain.clone(), with_codes].map(|column| array_from_column(field, column));
    with_codes.to_data().validate_full().unwrap();
    assert_eq!(plain.logical_nulls(), with_codes.logical_nulls());
    if plain.data_type() == with_codes.data_type() {
        return false;
    }
    let codes = with_codes.as_dictionary::<UInt32Type>();
    for (row, code) in codes.keys().iter().enumerate().filter_map(|(row, code)| Some((row, code?))) {
        assert_eq!(codes.values().slice(code as usize, 1).to_data(), plain.slice(row, 1).to_data());
    }
    true
}

#[test]
fn texts_may_stay_codes() {
    let words = ["", "a", "two words", "one that is longer than thirty-two bytes"];
    for (data_type, validity) in [(DataType::Utf8, None), (DataType::Utf8, Some(7)), (DataType::Binary, Some(2))] {
        let is_valid = |row: usize| validity.is_none_or(|every| !row.is_multiple_of(every));
        let texts: Vec<_> = (0..3000).map(|row| words[row % words.len()]).collect();
        let lengths = texts.iter().scan(0_i32, |end, text| {
            *end += text.len() as i32;
            Some(*end)
        });
        let offsets: Vec<u8> = std::iter::once(0).chain(lengths).flat_map(i32::to_le_bytes).collect();
        let data = texts.concat();
        let mut bits = vec![0_u8; 375];
        (0..3000).filter(|&row| is_valid(row)).for_each(|row| bits[row / 8] |= 1 << (row % 8));
        let column = Column {
            rows: 3000,
            validity: validity.map(|_| Bitmap::new(&bits[..])),
            values: Values::Bytes { offsets: &offsets[..], data: data.as_bytes() },
        };
        let field = Field::new("c", data_type, true);
        let mut encoder = Encoder::new(Schema { fields: vec![field.clone()], metadata: vec![] });
        let mut decoder = Decoder::new(DecodeLimits::default());
        decoder.message(encoder.schema_message().into()).unwrap();
        let chunk = encoder.chunk(3000, &[column], Config::LIGHT).unwrap();
        let Message::Chunk(chunk) = decoder.message(chunk.slices().concat().into()).unwrap() else {
            panic!("no chunk")
        };
        assert!(check_codes(&field, &chunk.column(0).unwrap(), chunk.column_with_codes(0).unwrap()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn every_type_in_every_configuration((schema, rows, columns, config) in chunk()) {
        let mut encoder = Encoder::new(schema.clone());
        let mut decoder = Decoder::new(DecodeLimits::default());
        let first = encoder.schema_message();
        let Message::Schema(read) = decoder.message(first.into()).unwrap() else { panic!("no schema") };
        prop_assert_eq!(&*read, &schema);
        let config: Config = config.parse().unwrap();
        // Twice, because the encoder uses results of the first chunk for the second.
        for _ in 0..2 {
            let views: Vec<_> = columns.iter().map(Column::as_view).collect();
            let chunk = encoder.chunk(rows, &views, config).unwrap();
            let message = chunk.slices().concat();
            prop_assert_eq!(message.len(), chunk.len());
            encoder.recycle(chunk);
            let Message::Chunk(chunk) = decoder.message(message.into()).unwrap() else { panic!("no chunk") };
            let decoded: Vec<_> = (0..schema.fields.len()).map(|column| chunk.column(column).unwrap()).collect();
            check_bridge(&schema, rows, &decoded);
            for (index, (field, plain)) in schema.fields.iter().zip(&decoded).enumerate() {
                check_codes(field, plain, chunk.column_with_codes(index).unwrap());
            }
            for (index, (field, column)) in schema.fields.iter().zip(&columns).enumerate() {
                let decoded = chunk.column(index).unwrap_or_else(|error| panic!("{error}: {field:?}"));
                for row in 0..rows {
                    let (expected, found) = (logical::value(field, column, row), logical::value(field, &decoded, row));
                    prop_assert!(logical::same(field, &expected, &found), "row {} of {:?}: {} not {}", row, field, found, expected);
                }
            }
        }
        decoder.message(encoder.end_message().into()).unwrap();
        prop_assert_eq!(decoder.finish().unwrap().rows, 2 * rows as u64);
    }
}

/// Code that reads a child without its parent's NULLs must find valid indices.
#[test]
fn an_all_null_parent_leaves_a_valid_dictionary() {
    let index = IndexType::Int8;
    let text = Field::new("values", DataType::Utf8, true);
    let dictionary = Field::new("d", DataType::Dictionary { index, ordered: false }, true).with_children(vec![text]);
    let words = Column {
        rows: 1,
        validity: None,
        values: Values::Bytes { offsets: &[0, 0, 0, 0, 1, 0, 0, 0][..], data: &b"x"[..] },
    };
    let child = |rows| Column {
        rows,
        validity: None,
        values: Values::Dictionary { indices: &[0; 4][..rows], values: Box::new(words.clone()) },
    };
    let parents = [
        (DataType::Struct, Values::Struct(vec![child(2)])),
        (DataType::FixedSizeList(2), Values::FixedList(Box::new(child(4)))),
    ];
    for (data_type, values) in parents {
        let field = Field::new("c", data_type, true).with_children(vec![dictionary.clone()]);
        let schema = Schema { fields: vec![field], metadata: vec![] };
        let column = Column { rows: 2, validity: Some(Bitmap::new(&[0][..])), values };
        let mut encoder = Encoder::new(schema.clone());
        let mut decoder = Decoder::new(DecodeLimits::default());
        decoder.message(encoder.schema_message().into()).unwrap();
        let chunk = encoder.chunk(2, &[column], Config::PLAIN).unwrap();
        let Message::Chunk(chunk) = decoder.message(chunk.slices().concat().into()).unwrap() else {
            panic!("no chunk")
        };
        check_bridge(&schema, 2, &[chunk.column(0).unwrap()]);
    }
}

/// Each difference is positive, and so is their sum.
#[test]
fn offsets_that_wrap_are_refused_or_carried_and_never_followed() {
    let wrapping = |quarter: i64, width: usize| -> Vec<u8> {
        let offsets = (0..=400_i64).map(|row| if row % 4 == 0 { 4 * (row / 4) } else { quarter.wrapping_mul(row % 4) });
        offsets.flat_map(|offset| offset.to_le_bytes()[..width].to_vec()).collect()
    };
    for (data_type, offsets) in [(DataType::LargeUtf8, wrapping(1 << 62, 8)), (DataType::Utf8, wrapping(1 << 30, 4))] {
        let schema = Schema { fields: vec![Field::new("c", data_type, true)], metadata: vec![] };
        let values = Values::Bytes { offsets: &offsets[..], data: &[b'x'; 400][..] };
        let mut encoder = Encoder::new(schema);
        for config in [Config::PLAIN, Config::LIGHT, Config::LIGHT_FSST] {
            let column = Column { rows: 400, validity: None, values: values.clone() };
            let Ok(chunk) = encoder.chunk(400, &[column], config) else { continue };
            let mut decoder = Decoder::new(DecodeLimits::default());
            decoder.message(encoder.schema_message().into()).unwrap();
            let Ok(Message::Chunk(chunk)) = decoder.message(chunk.slices().concat().into()) else { continue };
            assert!(chunk.column(0).is_err());
        }
    }
}
