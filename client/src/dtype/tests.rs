#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::*;
use arrow_schema::DataType;

use super::column::{ConversionError, convert, shown};
use super::kind::possible;
use super::{Dtype, name};

fn to(name: &str) -> Dtype {
    name.parse().unwrap()
}

/// The values in the new type, as text; or which row is in the way, with `!` if nothing is near.
fn made(array: impl Array + 'static, name: &str) -> Result<Vec<String>, String> {
    let array: ArrayRef = Arc::new(array);
    possible(array.data_type(), &to(name).target).unwrap();
    match convert(&array, &to(name)) {
        Ok(made) => {
            assert_eq!(made.data_type(), &to(name).target);
            made.to_data().validate_full().unwrap();
            let value = |row: usize| shown(&made, row).trim_matches('"').to_owned();
            Ok((0..made.len()).map(|row| if made.is_null(row) { "NULL".to_owned() } else { value(row) }).collect())
        }
        Err(ConversionError::Changed(row)) => Err(row.to_string()),
        Err(ConversionError::Impossible(row)) => Err(format!("{row}!")),
        Err(ConversionError::Failed(cause)) => Err(cause.to_string()),
    }
}

fn ok(values: &[&str]) -> Result<Vec<String>, String> {
    Ok(values.iter().map(|value| (*value).to_owned()).collect())
}

fn err(text: &str) -> Result<Vec<String>, String> {
    Err(text.to_owned())
}

#[test]
fn names_are_read_and_written() {
    for text in [
        "bool",
        "int8",
        "uint64",
        "float32",
        "float64",
        "utf8",
        "large_utf8",
        "binary",
        "date32",
        "time32(ms)",
        "time64(us)",
        "timestamp(ns)",
        "timestamp(us, UTC)",
        "decimal128(12, 2)",
        "decimal256(76, 10)",
        "dictionary(uint8, utf8)",
    ] {
        assert_eq!(to(text).to_string(), text);
    }
    assert_eq!(to("timestamp[us, tz=Europe/Paris]"), to("timestamp(us, Europe/Paris)"));
    assert_eq!(to("dictionary<values=string, indices=uint8, ordered=0>"), to("dictionary(uint8, utf8)"));
    assert_eq!(to("decimal(40, 2)"), to("decimal256(40, 2)"));
    assert_eq!(to("date32[day]"), to("date32"));
    assert_eq!(to("lossy:string").to_string(), "lossy:utf8");
    assert_eq!(name::of(&DataType::Utf8), "utf8");
    for text in [
        "",
        "float",
        "int",
        "int32(3)",
        "decimal128(39, 2)",
        "decimal(2, 3)",
        "time32(us)",
        "timestamp",
        "timestamp(us",
        "dictionary(utf8, utf8)",
        "lossy:",
        "lossy:lossy:int8",
        "list(int8)",
        "é",
        "decimal(1, 0",
    ] {
        assert!(text.parse::<Dtype>().is_err(), "{text}");
    }
}

#[test]
fn integers_that_fit() {
    let wide = || Int64Array::from(vec![Some(1), None, Some(-128)]);
    assert_eq!(made(wide(), "int8"), ok(&["1", "NULL", "-128"]));
    assert_eq!(made(wide(), "uint8"), err("2!"));
    assert_eq!(made(Int64Array::from(vec![0, 128]), "lossy:int8"), err("1!"));
    assert_eq!(made(wide(), "utf8"), ok(&["1", "NULL", "-128"]));
    assert_eq!(made(wide(), "decimal128(5, 2)"), ok(&["1.00", "NULL", "-128.00"]));
    assert_eq!(made(wide(), "decimal128(4, 2)"), err("2!"));
    assert_eq!(made(Int64Array::from(vec![1 << 53, (1 << 53) + 1]), "float64"), err("1"));
    assert_eq!(made(Int64Array::from(vec![i64::MAX]), "float64"), err("0"));
    assert_eq!(made(Int64Array::from(vec![(1 << 53) + 1]), "lossy:float64"), ok(&["9007199254740992.0"]));
    assert_eq!(made(Int64Array::from(vec![0, 1, 2]), "bool"), err("2"));
    assert_eq!(made(UInt64Array::from(vec![u64::MAX]), "int64"), err("0!"));
}

#[test]
fn floats_keep_their_value() {
    assert_eq!(made(Float64Array::from(vec![1.0, -2.0]), "int32"), ok(&["1", "-2"]));
    assert_eq!(made(Float64Array::from(vec![1.0, 1.5]), "int32"), err("1"));
    assert_eq!(made(Float64Array::from(vec![-0.0]), "int32"), err("0"));
    assert_eq!(made(Float64Array::from(vec![1.9, -1.9]), "lossy:int32"), ok(&["1", "-1"]));
    assert_eq!(made(Float64Array::from(vec![f64::NAN]), "lossy:int32"), err("0!"));
    assert_eq!(made(Float64Array::from(vec![9.3e18]), "lossy:int64"), err("0!"));
    assert_eq!(
        made(Float64Array::from(vec![0.5, f64::NAN, f64::INFINITY, -0.0]), "float32"),
        ok(&["0.5", "NaN", "inf", "-0.0"])
    );
    assert_eq!(made(Float64Array::from(vec![0.1]), "float32"), err("0"));
    assert_eq!(made(Float64Array::from(vec![0.1]), "lossy:float32"), ok(&["0.1"]));
    assert_eq!(made(Float64Array::from(vec![1e300]), "lossy:float32"), err("0!"));
    assert_eq!(made(Float32Array::from(vec![0.1]), "float64"), ok(&["0.10000000149011612"]));
    assert_eq!(
        made(Float64Array::from(vec![0.1, 1e22]), "decimal128(38, 2)"),
        ok(&["0.10", "10000000000000000000000.00"])
    );
    assert_eq!(made(Float32Array::from(vec![0.1]), "decimal128(38, 2)"), ok(&["0.10"]));
    assert_eq!(made(Float64Array::from(vec![2.675]), "decimal128(38, 2)"), err("0"));
    assert_eq!(
        made(Float64Array::from(vec![2.675, -0.005, 0.004]), "lossy:decimal128(38, 2)"),
        ok(&["2.68", "-0.01", "0.00"])
    );
    assert_eq!(made(Float64Array::from(vec![f64::NAN]), "lossy:decimal128(38, 2)"), err("0!"));
}

fn decimal(values: &[i128], precision: u8, scale: i8) -> Decimal128Array {
    Decimal128Array::from(values.to_vec()).with_precision_and_scale(precision, scale).unwrap()
}

#[test]
fn decimals_keep_their_value() {
    assert_eq!(made(decimal(&[10, -123_456_789_012_345], 15, 2), "float64"), ok(&["0.1", "-1234567890123.45"]));
    // 17 digits: the one reads back, the other does not.
    assert_eq!(made(decimal(&[12_345_678_901_234_567, 99_999_999_999_999_999], 18, 2), "float64"), err("1"));
    assert_eq!(made(decimal(&[99_999_999_999_999_999], 18, 2), "lossy:float64"), ok(&["1000000000000000.0"]));
    assert_eq!(made(decimal(&[99_999_999], 10, 2), "float32"), err("0"));
    assert_eq!(made(decimal(&[10], 10, 2), "float32"), ok(&["0.1"]));
    assert_eq!(made(decimal(&[150, 1000], 10, 2), "decimal128(9, 1)"), ok(&["1.5", "10.0"]));
    assert_eq!(made(decimal(&[155], 10, 2), "decimal128(9, 1)"), err("0"));
    assert_eq!(made(decimal(&[155], 10, 2), "lossy:decimal128(9, 1)"), ok(&["1.6"]));
    assert_eq!(made(decimal(&[155], 10, 2), "decimal256(70, 10)"), ok(&["1.5500000000"]));
    assert_eq!(made(decimal(&[100], 10, 2), "int16"), ok(&["1"]));
    assert_eq!(made(decimal(&[150], 10, 2), "int16"), err("0"));
    assert_eq!(made(decimal(&[199, -199], 10, 2), "lossy:int16"), ok(&["1", "-1"]));
    assert_eq!(made(decimal(&[3_276_800], 10, 2), "int16"), err("0!"));
    assert_eq!(made(decimal(&[-5], 10, 2), "utf8"), ok(&["-0.05"]));
}

#[test]
fn every_short_decimal_is_a_float_that_reads_back() {
    for digits in (0..1_000_000_000_000_000i128).step_by(7_777_777_777_777) {
        for scale in [0, 2, 9, 15, 22] {
            let array: ArrayRef = Arc::new(decimal(&[digits], 38, scale));
            let quick = convert(&array, &to("float64")).unwrap().as_primitive::<Float64Type>().value(0);
            assert_eq!(quick, format!("{digits}e-{scale}").parse::<f64>().unwrap());
        }
    }
}

#[test]
fn text_is_read() {
    let text = |values: &[&str]| StringArray::from(values.to_vec());
    assert_eq!(made(text(&["1", " -2 ", "+3", "4.00", "5e2", "0"]), "int32"), ok(&["1", "-2", "3", "4", "500", "0"]));
    assert_eq!(made(text(&["4", "4.5"]), "int32"), err("1"));
    assert_eq!(made(text(&["4.9", "-4.9"]), "lossy:int32"), ok(&["4", "-4"]));
    for bad in ["", "x", "1x", ".", "-", "1e", "١", "1_000", "0x10", "1e99999999999", "NaN", "99999999999"] {
        assert_eq!(made(text(&[bad]), "int32"), err("0!"), "{bad}");
    }
    assert_eq!(made(text(&["0.1", "1.10", "NaN", "-Infinity", "1e-400"]), "float64"), err("4"));
    assert_eq!(
        made(text(&["0.1", "1.10", "NaN", "-Infinity", "0.00"]), "float64"),
        ok(&["0.1", "1.1", "NaN", "-inf", "0.0"])
    );
    assert_eq!(made(text(&["0.1000000000000000055511151231257827"]), "float64"), err("0"));
    assert_eq!(made(text(&["0.1000000000000000055511151231257827"]), "lossy:float64"), ok(&["0.1"]));
    assert_eq!(made(text(&["1e400"]), "lossy:float64"), err("0!"));
    assert_eq!(made(text(&["1.1", "-0.01", "7", "1e1"]), "decimal128(5, 2)"), ok(&["1.10", "-0.01", "7.00", "10.00"]));
    assert_eq!(made(text(&["1.105"]), "decimal128(5, 2)"), err("0"));
    assert_eq!(
        made(text(&["1.105", "0.0049", "0.005", "0.0005"]), "lossy:decimal128(5, 2)"),
        ok(&["1.11", "0.00", "0.01", "0.00"])
    );
    assert_eq!(made(text(&["999.995"]), "lossy:decimal128(5, 2)"), err("0!"));
    assert_eq!(made(text(&["1000"]), "decimal128(5, 2)"), err("0!"));
    assert_eq!(made(text(&["t", "FALSE", "1"]), "bool"), ok(&["true", "false", "true"]));
    assert_eq!(made(text(&["maybe"]), "bool"), err("0!"));
    assert_eq!(made(text(&["a", "b"]), "dictionary(int32, utf8)"), ok(&["a", "b"]));
    assert_eq!(made(BinaryArray::from(vec![b"a".as_slice(), b"\xff"]), "utf8"), err("1!"));
    assert_eq!(made(StringArray::from(vec![Some("é"), None]), "large_utf8"), ok(&["é", "NULL"]));
}

#[test]
fn text_is_read_as_dates_and_times() {
    let text = |values: &[&str]| StringArray::from(values.to_vec());
    assert_eq!(made(text(&["2024-02-29"]), "date32"), ok(&["2024-02-29"]));
    assert_eq!(made(text(&["2024-02-30"]), "date32"), err("0!"));
    assert_eq!(made(text(&["2024-02-29 12:00:00"]), "date32"), err("0"));
    assert_eq!(made(text(&["2024-02-29 12:00:00.123456"]), "timestamp(us)"), ok(&["2024-02-29T12:00:00.123456"]));
    assert_eq!(made(text(&["2024-02-29 12:00:00.1234560"]), "timestamp(us)"), ok(&["2024-02-29T12:00:00.123456"]));
    assert_eq!(made(text(&["2024-02-29 12:00:00.1234567"]), "timestamp(us)"), err("0"));
    assert_eq!(made(text(&["2024-02-29 12:00:00.5"]), "timestamp(s)"), err("0"));
    assert_eq!(made(text(&["2024-02-29T12:00:00+02:00"]), "timestamp(us)"), err("0!"));
    assert_eq!(made(text(&["2024-02-29T12:00:00+02:00"]), "timestamp(us, UTC)"), ok(&["2024-02-29T10:00:00Z"]));
    assert_eq!(made(text(&["2024-02-29T12:00:00"]), "timestamp(us, UTC)"), err("0!"));
    assert_eq!(made(text(&["12:34:56.789"]), "time64(us)"), ok(&["12:34:56.789"]));
    assert_eq!(made(text(&["24:34:56"]), "time64(us)"), err("0!"));
    assert_eq!(made(text(&["12:34"]), "time64(us)"), ok(&["12:34:00"]));
    assert_eq!(made(text(&["2024-02-29T00:00:00"]), "lossy:date32"), ok(&["2024-02-29"]));
    for other in ["2024-2-29", "2024-02-9", "20240229", " 2024-02-29", "24-02-29", "2024-02-29-01", "2024", ""] {
        assert_eq!(made(text(&[other]), "date32"), err("0!"), "{other:?}");
        assert_eq!(made(text(&[other]), "lossy:timestamp(us)"), err("0!"), "{other:?}");
    }
    for other in ["12", "123456", "1:02", "1:02:03", "01:2", "01:02:3", "01:02:03:04", ""] {
        assert_eq!(made(text(&[other]), "time64(us)"), err("0!"), "{other:?}");
    }
}

#[test]
fn moments_change_their_unit_only() {
    let moments = |values: &[i64]| TimestampMicrosecondArray::from(values.to_vec());
    assert_eq!(
        made(moments(&[1_000_000, -1_000]), "timestamp(ms)"),
        ok(&["1970-01-01T00:00:01", "1969-12-31T23:59:59.999"])
    );
    assert_eq!(made(moments(&[1]), "timestamp(ms)"), err("0"));
    assert_eq!(made(moments(&[-1]), "lossy:timestamp(ms)"), ok(&["1969-12-31T23:59:59.999"]));
    assert_eq!(made(moments(&[i64::MAX / 1000 + 1]), "timestamp(ns)"), err("0!"));
    assert_eq!(made(moments(&[86_400_000_000]), "date32"), ok(&["1970-01-02"]));
    assert_eq!(made(moments(&[1]), "date32"), err("0"));
    assert_eq!(made(Date32Array::from(vec![1]), "timestamp(ns)"), ok(&["1970-01-02T00:00:00"]));
    assert_eq!(made(Date32Array::from(vec![200_000_000]), "timestamp(us)"), err("0!"));
    let infinite: ArrayRef = Arc::new(Date32Array::from(vec![i32::MAX, -i32::MAX]));
    let made_of_it = convert(&infinite, &to("timestamp(ns)")).unwrap();
    assert_eq!(made_of_it.as_primitive::<TimestampNanosecondType>().values()[..], [i64::MAX, -i64::MAX]);
    assert_eq!(*convert(&made_of_it, &to("date32")).unwrap(), *infinite);
    assert_eq!(made(Time64MicrosecondArray::from(vec![86_400_000_000 - 1]), "time32(s)"), err("0"));
    let zoned = TimestampMicrosecondArray::from(vec![0]).with_timezone("UTC");
    assert_eq!(made(zoned.clone(), "timestamp(us)"), ok(&["1970-01-01T00:00:00"]));
    assert_eq!(made(zoned, "utf8"), ok(&["1970-01-01T00:00:00Z"]));
}

#[test]
fn a_dictionary_is_what_its_values_are() {
    let labels: DictionaryArray<Int8Type> = vec![Some("1"), None, Some("2")].into_iter().collect();
    assert_eq!(made(labels.clone(), "utf8"), ok(&["1", "NULL", "2"]));
    assert_eq!(made(labels.clone(), "int32"), ok(&["1", "NULL", "2"]));
    assert_eq!(made(labels, "dictionary(uint16, large_utf8)"), ok(&["1", "NULL", "2"]));
    let many = Int32Array::from_iter_values(0..300);
    assert!(made(many, "dictionary(uint8, int32)").unwrap_err().contains("key"));
}

#[test]
fn what_is_no_form_of_the_other_is_refused_before_the_first_row() {
    for (from, to_name) in [
        (DataType::Int64, "timestamp(us)"),
        (DataType::Date32, "int32"),
        (DataType::Boolean, "float64"),
        (DataType::Binary, "int32"),
        (DataType::Interval(arrow_schema::IntervalUnit::MonthDayNano), "utf8"),
        (DataType::new_list(DataType::Int32, true), "utf8"),
        (DataType::Utf8, "float16"),
        (DataType::Timestamp(arrow_schema::TimeUnit::Microsecond, Some("Europe/Paris".into())), "timestamp(us)"),
        (DataType::Timestamp(arrow_schema::TimeUnit::Microsecond, Some("Europe/Paris".into())), "utf8"),
    ] {
        assert!(possible(&from, &to(to_name).target).is_err(), "{from} {to_name}");
    }
    assert_eq!(made(NullArray::new(2), "int32"), ok(&["NULL", "NULL"]));
}
