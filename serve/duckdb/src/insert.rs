//! The INSERT of COPY … FROM STDIN. Rows are inserted batch by batch, so that no thread of the engine waits for a
//! client.

mod exact;

use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema, TimeUnit};
use colonnade_server::copy::input::needs_cast;
use colonnade_server::{EngineError, InsertedRows, SqlState, TargetColumn, ValueForm};
use colonnade_sql::{Dialect, quote};

/// The name of the copied rows in the INSERT.
pub(crate) const BATCH_NAME: &str = "colonnade_copied";
/// The column with the rows' numbers, in addition to those of the data.
const ROW: &str = "row_number";

/// The statement, and the rows that it reads.
pub(crate) struct Insertion {
    pub statement: String,
    pub batches: Vec<RecordBatch>,
}

impl Insertion {
    /// Checks values that DuckDB would store without a check.
    ///
    /// # Errors
    /// A value that its column cannot hold exactly.
    pub(crate) fn new(rows: InsertedRows<'_>) -> Result<Self, EngineError> {
        let InsertedRows { table, columns, targets, mut batches, form } = rows;
        let fields = batches.first().map(|batch| batch.schema().fields().clone()).unwrap_or_default();
        let values: Vec<_> = match form {
            ValueForm::Input => targets.iter().zip(&fields).map(|(target, field)| input(target, field)).collect(),
            ValueForm::Exported { first_row } => {
                check(&targets, &batches, first_row)?;
                targets.iter().zip(&fields).map(|(target, field)| exported(target, field)).collect()
            }
        };
        if let ValueForm::Exported { first_row } = form
            && values.iter().any(|value| value.contains(ROW))
        {
            batches = numbered(&batches, first_row).map_err(|error| {
                EngineError::new(SqlState::INTERNAL_ERROR, format!("the rows cannot be numbered: {error}"))
            })?;
        }
        // Without the alias, the fence would take a table that is called as a function is for a call of that function.
        let columns = columns.map(|columns| format!(" AS target ({columns})")).unwrap_or_default();
        let statement = format!("INSERT INTO {table}{columns} SELECT {} FROM {BATCH_NAME}", values.join(", "));
        Ok(Self { statement, batches })
    }
}

/// A value that may be a text: the INSERT casts it to the column's type. Other values keep their types.
fn input(target: &TargetColumn, field: &Field) -> String {
    let type_name = &target.type_.name;
    let is_cast = needs_cast(field.data_type()) && type_name != "VARCHAR";
    if is_cast { format!("CAST({} AS {type_name})", field.name()) } else { field.name().clone() }
}

/// A value in the type in which DuckDB exports the column. If DuckDB reads this type as the column's own, the value is
/// stored as it is. Otherwise it is cast, and must be what the stored value is exported as: a cast alone makes 2 of the
/// text `1.5` for a UHUGEINT.
fn exported(target: &TargetColumn, field: &Field) -> String {
    let (name, type_name) = (field.name(), &target.type_.name);
    // NULL needs no cast, and a HUGEINT may have more digits than the decimal as which it is exported.
    if matches!((field.data_type(), type_name.as_str()), (DataType::Null, _) | (DataType::Decimal128(38, 0), "HUGEINT"))
    {
        return name.clone();
    }
    let Some(read) = read_as(field.data_type()) else { return name.clone() };
    if without_quotes(&read) == without_quotes(type_name) {
        return name.clone();
    }
    let place =
        quote::string(&format!("column {}, row ", quote::identifier(&target.name, Dialect::DuckDb)), Dialect::DuckDb);
    let what = quote::string(&format!(" is not the exact form of a value of type {type_name}"), Dialect::DuckDb);
    format!(
        "CASE WHEN TRY_CAST(TRY_CAST({name} AS {type_name}) AS {read}) IS DISTINCT FROM {name} \
         THEN system.main.error(system.main.concat({place}, {ROW}, ': ', system.main.left(CAST({name} AS VARCHAR), 100), {what})) \
         ELSE CAST({name} AS {type_name}) END"
    )
}

/// The type as which DuckDB reads an Arrow type; `None` for those that it reads as the column's own whenever it exports
/// this one.
fn read_as(data_type: &DataType) -> Option<String> {
    let nested = |field: &Field| read_as(field.data_type()).or_else(|| scalar(field.data_type()).map(str::to_owned));
    Some(match data_type {
        DataType::Utf8 | DataType::Dictionary(..) => "VARCHAR".to_owned(),
        DataType::Binary => "BLOB".to_owned(),
        DataType::Decimal128(precision, scale) => format!("DECIMAL({precision},{scale})"),
        DataType::List(item) => format!("{}[]", nested(item)?),
        DataType::FixedSizeList(item, size) => format!("{}[{size}]", nested(item)?),
        DataType::Struct(fields) => format!("STRUCT({})", members(fields, &nested)?),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => {
                format!("MAP({}, {})", nested(&fields[0])?, nested(&fields[1])?)
            }
            _ => return None,
        },
        _ => return None,
    })
}

fn members(fields: &[Arc<Field>], nested: &dyn Fn(&Field) -> Option<String>) -> Option<String> {
    let members = fields
        .iter()
        .map(|field| Some(format!("{} {}", quote::identifier(field.name(), Dialect::DuckDb), nested(field)?)));
    Some(members.collect::<Option<Vec<_>>>()?.join(", "))
}

/// The types of single values that DuckDB reads as the same type as it exports them.
fn scalar(data_type: &DataType) -> Option<&'static str> {
    Some(match data_type {
        DataType::Null => "\"NULL\"",
        DataType::Boolean => "BOOLEAN",
        DataType::Int8 => "TINYINT",
        DataType::Int16 => "SMALLINT",
        DataType::Int32 => "INTEGER",
        DataType::Int64 => "BIGINT",
        DataType::UInt8 => "UTINYINT",
        DataType::UInt16 => "USMALLINT",
        DataType::UInt32 => "UINTEGER",
        DataType::UInt64 => "UBIGINT",
        DataType::Float32 => "FLOAT",
        DataType::Float64 => "DOUBLE",
        DataType::Date32 => "DATE",
        DataType::Time64(TimeUnit::Microsecond) => "TIME",
        DataType::Time64(TimeUnit::Nanosecond) => "TIME_NS",
        DataType::Timestamp(TimeUnit::Second, None) => "TIMESTAMP_S",
        DataType::Timestamp(TimeUnit::Millisecond, None) => "TIMESTAMP_MS",
        DataType::Timestamp(TimeUnit::Microsecond, None) => "TIMESTAMP",
        DataType::Timestamp(TimeUnit::Nanosecond, None) => "TIMESTAMP_NS",
        DataType::Timestamp(TimeUnit::Microsecond, Some(_)) => "TIMESTAMP WITH TIME ZONE",
        DataType::Timestamp(TimeUnit::Nanosecond, Some(_)) => "TIMESTAMPTZ_NS",
        DataType::Interval(_) => "INTERVAL",
        _ => return None,
    })
}

/// DuckDB quotes the names of a struct's members only if they need it. The columns' Arrow types have the same names, so
/// two texts that differ in quotes alone are the same type.
fn without_quotes(type_name: &str) -> String {
    type_name.replace('"', "")
}

/// # Errors
/// A value that its column cannot hold; column and row are named.
fn check(targets: &[&TargetColumn], batches: &[RecordBatch], first_row: u64) -> Result<(), EngineError> {
    let mut row = first_row;
    for batch in batches {
        for (target, array) in targets.iter().zip(batch.columns()) {
            if let Some(misfit) = exact::misfit(array, &target.type_.name) {
                let column = quote::identifier(&target.name, Dialect::DuckDb);
                let message = format!("column {column}, row {}: {}", row + misfit.row as u64, misfit.what);
                return Err(EngineError::new(misfit.code, message));
            }
        }
        row += batch.num_rows() as u64;
    }
    Ok(())
}

/// The batches with a column of the rows' numbers.
fn numbered(batches: &[RecordBatch], first_row: u64) -> Result<Vec<RecordBatch>, ArrowError> {
    let mut next = first_row as i64;
    let number = |batch: &RecordBatch| {
        let after = next + batch.num_rows() as i64;
        let numbers = Int64Array::from_iter_values(next..after);
        next = after;
        let mut fields = batch.schema().fields().to_vec();
        fields.push(Arc::new(Field::new(ROW, DataType::Int64, false)));
        let mut columns = batch.columns().to_vec();
        columns.push(Arc::new(numbers));
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
    };
    batches.iter().map(number).collect()
}

#[cfg(test)]
mod tests;
