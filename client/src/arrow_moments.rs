//! Dates and timestamps of Arrow's driver for PostgreSQL. It moves their epoch without a check, so infinite ones become
//! others.

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Date32Type, TimestampMicrosecondType};
use arrow_array::{Array as _, RecordBatch};
use arrow_schema::{DataType, TimeUnit};

use crate::{Error, ErrorKind};

/// The metadata key of PostgreSQL's type.
const TYPE_KEY: &str = "POSTGRESQL:type";
/// PostgreSQL's first date, 4714-11-24 BC, as days since 1970. What is before it has left the integer's range.
const FIRST_DAY: i32 = -2_440_588;
const FIRST_MICROSECOND: i64 = FIRST_DAY as i64 * 86_400_000_000;

/// Refuses a batch with such a value. `before` is the number of rows before it.
///
/// # Errors
/// A value that PostgreSQL does not have.
pub(crate) fn check(batch: &RecordBatch, before: u64) -> Result<(), Error> {
    let schema = batch.schema_ref();
    for (field, array) in schema.fields().iter().zip(batch.columns()) {
        if !field.metadata().contains_key(TYPE_KEY) {
            continue;
        }
        let valid = |row: &usize| array.is_valid(*row);
        let found = match array.data_type() {
            DataType::Date32 => {
                let values = array.as_primitive::<Date32Type>().values();
                (0..values.len()).filter(valid).find(|row| values[*row] < FIRST_DAY)
            }
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                let values = array.as_primitive::<TimestampMicrosecondType>().values();
                (0..values.len()).filter(valid).find(|row| values[*row] < FIRST_MICROSECOND)
            }
            _ => None,
        };
        if let Some(row) = found {
            let (name, row) = (field.name(), before + row as u64 + 1);
            let message = format!(
                "column \"{name}\", row {row}: an infinite value, or one beyond Arrow's range, which this driver changes"
            );
            let error = Error::new(ErrorKind::Database, message).with_sqlstate("22008");
            return Err(error.with_hint("read postgresql:// instead, or cast the column to text in the query"));
        }
    }
    Ok(())
}
