//! What the driver and the database are.

use std::collections::HashSet;
use std::sync::Arc;

use adbc_core::constants::ADBC_VERSION_1_1_0;
use adbc_core::error::Result;
use adbc_core::options::InfoCode;
use adbc_core::schemas::{GET_INFO_SCHEMA, GET_TABLE_TYPES_SCHEMA};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Int64Array, RecordBatch, RecordBatchIterator, StringArray, UInt32Array, UnionArray,
    new_empty_array,
};
use arrow_buffer::ScalarBuffer;
use arrow_schema::{ArrowError, DataType, SchemaRef};
use colonnade_client::Dialect;

use crate::session::Session;
use crate::types::vendor;

/// One batch.
pub(crate) type Single = RecordBatchIterator<std::array::IntoIter<std::result::Result<RecordBatch, ArrowError>, 1>>;

const NAME: &str = "ADBC driver of Colonnade";
/// That of the crate `arrow-array`, which does not tell it.
const ARROW_VERSION: &str = "v60.1.0";

/// A value of the union that ADBC has for them.
enum Info {
    Text(String),
    Truth(bool),
    Number(i64),
}

/// The information that is asked for, or all.
///
/// # Errors
/// None: the arrays have the schema's types.
pub(crate) fn info(session: &Session, codes: Option<&HashSet<InfoCode>>) -> Result<Single> {
    // A connection that is busy or lost has the version that is known so far.
    let _ = session.source().identify(&mut || true);
    let (name, version) = vendor(session.source());
    let all = [
        (InfoCode::VendorName, Some(Info::Text(name))),
        (InfoCode::VendorVersion, version.map(Info::Text)),
        (InfoCode::VendorSql, Some(Info::Truth(true))),
        (InfoCode::VendorSubstrait, Some(Info::Truth(false))),
        (InfoCode::DriverName, Some(Info::Text(NAME.to_owned()))),
        (InfoCode::DriverVersion, Some(Info::Text(format!("v{}", env!("CARGO_PKG_VERSION"))))),
        (InfoCode::DriverArrowVersion, Some(Info::Text(ARROW_VERSION.to_owned()))),
        (InfoCode::DriverAdbcVersion, Some(Info::Number(ADBC_VERSION_1_1_0.into()))),
    ];
    let wanted = |code: &InfoCode| codes.is_none_or(|codes| codes.contains(code));
    let known = all.into_iter().filter_map(|(code, info)| Some((code, info?)));
    let found: Vec<_> = known.filter(|(code, _)| wanted(code)).collect();
    let names = UInt32Array::from_iter_values(found.iter().map(|(code, _)| u32::from(code)));
    let values = union(found.into_iter().map(|(_, info)| info))?;
    single(GET_INFO_SCHEMA.clone(), vec![Arc::new(names), Arc::new(values)])
}

fn union(values: impl Iterator<Item = Info>) -> Result<UnionArray> {
    let DataType::Union(fields, _) = GET_INFO_SCHEMA.field(1).data_type() else {
        return Err(ArrowError::SchemaError("information is a union".to_owned()).into());
    };
    let (mut texts, mut truths, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    let (mut types, mut offsets) = (Vec::<i8>::new(), Vec::new());
    for value in values {
        let (kind, place) = match value {
            Info::Text(text) => (0, pushed(&mut texts, text)),
            Info::Truth(truth) => (1, pushed(&mut truths, truth)),
            Info::Number(number) => (2, pushed(&mut numbers, number)),
        };
        types.push(kind);
        offsets.push(place);
    }
    let mut children: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from(texts)),
        Arc::new(BooleanArray::from(truths)),
        Arc::new(Int64Array::from(numbers)),
    ];
    children.extend(fields.iter().skip(children.len()).map(|(_, field)| new_empty_array(field.data_type())));
    Ok(UnionArray::try_new(fields.clone(), ScalarBuffer::from(types), Some(ScalarBuffer::from(offsets)), children)?)
}

/// Appends a value; gives its place.
fn pushed<T>(values: &mut Vec<T>, value: T) -> i32 {
    values.push(value);
    values.len() as i32 - 1
}

/// What the database calls its kinds of tables.
const fn kinds(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::Postgres { .. } | Dialect::DuckDb => {
            &["table", "partitioned table", "view", "materialized view", "foreign table"]
        }
        Dialect::Sqlite => &["table", "view"],
        Dialect::MySql { .. } | Dialect::Unknown => &["BASE TABLE", "VIEW", "SYSTEM VIEW", "SEQUENCE"],
    }
}

/// The kinds of tables.
///
/// # Errors
/// None: the array has the schema's type.
pub(crate) fn table_types(session: &Session) -> Result<Single> {
    let kinds = StringArray::from(kinds(session.dialect()).to_vec());
    single(GET_TABLE_TYPES_SCHEMA.clone(), vec![Arc::new(kinds)])
}

/// A reader of one batch.
///
/// # Errors
/// The arrays are not of the schema's types.
pub(crate) fn single(schema: SchemaRef, columns: Vec<Arc<dyn Array>>) -> Result<Single> {
    let batch = RecordBatch::try_new(schema.clone(), columns)?;
    Ok(RecordBatchIterator::new([Ok(batch)].into_iter(), schema))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_union_has_each_value_once() {
        let values = [Info::Text("a".to_owned()), Info::Number(7), Info::Truth(true), Info::Text("b".to_owned())];
        let array = union(values.into_iter()).unwrap();
        assert_eq!(array.len(), 4);
        assert_eq!(array.type_ids(), &[0, 2, 1, 0]);
        assert_eq!(array.offsets().unwrap(), &[0, 0, 0, 1]);
        let batch =
            single(GET_INFO_SCHEMA.clone(), vec![Arc::new(UInt32Array::from(vec![0, 1, 2, 3])), Arc::new(array)]);
        assert!(batch.is_ok());
    }
}
