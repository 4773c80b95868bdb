//! What the database's planner knows of tables and columns: `GetStatistics`.

use std::sync::Arc;

use adbc_core::error::{Result, Status};
use adbc_core::schemas::{
    GET_STATISTIC_NAMES_SCHEMA, GET_STATISTICS_SCHEMA, STATISTIC_VALUE_SCHEMA, STATISTICS_DB_SCHEMA_SCHEMA,
    STATISTICS_SCHEMA,
};
use arrow_array::{ArrayRef, Float64Array, Int16Array, StringArray, UnionArray, new_empty_array};
use arrow_buffer::ScalarBuffer;
use arrow_schema::DataType;

use super::nested::{CATALOG, Children, DB_SCHEMA, arrays, no, structs};
use super::queries::Queries;
use super::{Filters, PLACE, read};
use crate::error::refused;
use crate::info::{Single, single};
use crate::session::Session;

/// Which of the values' types an estimate has.
const FLOAT64: i8 = 2;

/// The planner's estimates. All are approximate, whatever is asked for: a database counts only when it runs a query.
///
/// # Errors
/// This driver does not know where the database has them; otherwise those of the source.
pub(crate) fn statistics(session: &Session, filters: &Filters<'_>) -> Result<Single> {
    let queries = Queries::find(session)?;
    let [catalog, db_schema, table, _] = filters.patterns();
    let catalogs = read(session, queries.catalogs, &[catalog], PLACE)?;
    let schemas = read(session, queries.schemas, &[catalog, db_schema], PLACE)?.within(&catalogs.rows, CATALOG);
    let found = read(session, queries.statistics, &[catalog, db_schema, table], "table_name, place, statistic_key")?;
    let found = found.within(&schemas.rows, DB_SCHEMA);
    let inner = [("statistic_value", Some(values(&found)?))];
    let found = structs(&found, &STATISTICS_SCHEMA, &inner)?;
    let schemas = structs(&schemas, &STATISTICS_DB_SCHEMA_SCHEMA, &[("db_schema_statistics", Some(found))])?;
    let fields = GET_STATISTICS_SCHEMA.fields();
    let columns = arrays(&catalogs.names, &catalogs.rows, fields, &[("catalog_db_schemas", Some(schemas))])?;
    single(GET_STATISTICS_SCHEMA.clone(), columns)
}

/// The names of statistics that ADBC does not have: none.
///
/// # Errors
/// None: the arrays have the schema's types.
pub(crate) fn names() -> Result<Single> {
    let names: [ArrayRef; 2] = [Arc::new(StringArray::new_null(0)), Arc::new(Int16Array::from(Vec::<i16>::new()))];
    single(GET_STATISTIC_NAMES_SCHEMA.clone(), names.to_vec())
}

/// The estimates, in the union that ADBC has for values.
fn values(found: &Children) -> Result<ArrayRef> {
    let DataType::Union(fields, _) = &*STATISTIC_VALUE_SCHEMA else { return Err(no("union").into()) };
    let number = |text: Option<&String>| {
        let wrong = || refused(Status::Internal, "the database has an estimate that is no number");
        text.and_then(|text| text.parse().ok()).ok_or_else(wrong)
    };
    let place = found.names.iter().position(|name| name == "estimate");
    let texts = found.rows.iter().map(|row| place.and_then(|place| row[place].as_ref()));
    let estimates: ArrayRef = Arc::new(Float64Array::from(texts.map(number).collect::<Result<Vec<f64>>>()?));
    let children = fields.iter().map(|(kind, field)| match kind {
        FLOAT64 => estimates.clone(),
        _ => new_empty_array(field.data_type()),
    });
    let kinds = vec![FLOAT64; found.rows.len()];
    let offsets: ScalarBuffer<i32> = (0..found.rows.len() as i32).collect();
    Ok(Arc::new(UnionArray::try_new(fields.clone(), kinds.into(), Some(offsets), children.collect())?))
}
