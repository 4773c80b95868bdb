//! Flat rows as the nested arrays that ADBC has for them.

use std::collections::HashMap;
use std::sync::Arc;

use adbc_core::error::Result;
use adbc_core::schemas::{
    COLUMN_SCHEMA, CONSTRAINT_SCHEMA, GET_OBJECTS_SCHEMA, OBJECTS_DB_SCHEMA_SCHEMA, TABLE_SCHEMA, USAGE_SCHEMA,
};
use arrow_array::{
    ArrayRef, BooleanArray, Int16Array, Int32Array, ListArray, StringArray, StructArray, new_null_array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType, Field, Fields};

use super::Levels;
use crate::info::{Single, single};

/// A text, or NULL.
type Text = Option<String>;
/// Texts by column.
type Row = Vec<Text>;

/// Rows with names of their columns.
#[derive(Default)]
pub(super) struct Table {
    pub(super) names: Vec<String>,
    pub(super) rows: Vec<Row>,
}

/// The rows within each row of the level above, one after another.
pub(super) struct Children {
    pub(super) names: Vec<String>,
    pub(super) rows: Vec<Row>,
    /// How many of them each row of the level above has.
    lengths: Vec<usize>,
}

impl Table {
    /// Keeps the rows with such a value in a column.
    pub(super) fn keep(&mut self, column: &str, is_wanted: impl Fn(Option<&str>) -> bool) {
        if let Some(place) = self.names.iter().position(|name| name == column) {
            self.rows.retain(|row| is_wanted(row[place].as_deref()));
        }
    }

    /// The rows within each of `parents`, whose first texts are the parent's.
    pub(super) fn within(self, parents: &[Row], names: usize) -> Children {
        let mut groups: HashMap<Row, Vec<Row>> = HashMap::new();
        for row in self.rows {
            groups.entry(row[..names].to_vec()).or_default().push(row);
        }
        let (mut rows, mut lengths) = (Vec::new(), Vec::new());
        for parent in parents {
            let found = groups.remove(&parent[..names]).unwrap_or_default();
            lengths.push(found.len());
            rows.extend(found);
        }
        Children { names: self.names, rows, lengths }
    }
}

/// The number of names in a table's path, and in its schema's.
pub(super) const CATALOG: usize = 1;
pub(super) const DB_SCHEMA: usize = 2;
const TABLE: usize = 3;

/// # Errors
/// None: the arrays have the schema's types.
pub(super) fn nested(levels: Levels) -> Result<Single> {
    let catalogs = levels.catalogs;
    let schemas = levels.schemas.map(|schemas| schemas.within(&catalogs.rows, CATALOG));
    let tables = levels.tables.zip(schemas.as_ref());
    let tables = tables.map(|(tables, schemas)| tables.within(&schemas.rows, DB_SCHEMA));
    let within_tables =
        |level: Option<Table>| level.zip(tables.as_ref()).map(|(level, tables)| level.within(&tables.rows, TABLE));
    let columns = within_tables(levels.columns).map(|columns| structs(&columns, &COLUMN_SCHEMA, &[])).transpose()?;
    let constraints = within_tables(levels.constraints).map(|rows| constraints(&rows)).transpose()?;
    let inner = [("table_columns", columns), ("table_constraints", constraints)];
    let tables = tables.map(|tables| structs(&tables, &TABLE_SCHEMA, &inner)).transpose()?;
    let inner = [("db_schema_tables", tables)];
    let schemas = schemas.map(|schemas| structs(&schemas, &OBJECTS_DB_SCHEMA_SCHEMA, &inner)).transpose()?;
    let fields = GET_OBJECTS_SCHEMA.fields();
    let columns = arrays(&catalogs.names, &catalogs.rows, fields, &[("catalog_db_schemas", schemas)])?;
    single(GET_OBJECTS_SCHEMA.clone(), columns)
}

/// A list of structs for each row of the level above. `inner` are lists within the structs, by the field's name.
pub(super) fn structs(
    children: &Children,
    data_type: &DataType,
    inner: &[(&str, Option<ArrayRef>)],
) -> Result<ArrayRef> {
    let DataType::Struct(fields) = data_type else { return Err(no("struct").into()) };
    let columns = arrays(&children.names, &children.rows, fields, inner)?;
    let items = StructArray::try_new(fields.clone(), columns, None)?;
    list(Arc::new(items), &children.lengths, None)
}

/// The fields' arrays: of `inner` or of the column of that name; NULLs where there is neither.
pub(super) fn arrays(
    names: &[String],
    rows: &[Row],
    fields: &Fields,
    inner: &[(&str, Option<ArrayRef>)],
) -> Result<Vec<ArrayRef>> {
    let array = |field: &Arc<Field>| {
        let found = inner.iter().find(|(name, _)| name == field.name()).and_then(|(_, array)| array.clone());
        if let Some(array) = found {
            return Ok(array);
        }
        match names.iter().position(|name| name == field.name()) {
            Some(place) => texts(field.data_type(), rows.iter().map(|row| row[place].as_deref())),
            None => Ok(new_null_array(field.data_type(), rows.len())),
        }
    };
    fields.iter().map(array).collect()
}

/// Texts as values of a type; NULL where a text is none.
fn texts<'a>(data_type: &DataType, texts: impl Iterator<Item = Option<&'a str>>) -> Result<ArrayRef> {
    Ok(match data_type {
        DataType::Utf8 => Arc::new(texts.collect::<StringArray>()),
        DataType::Int16 => Arc::new(texts.map(|text| text?.parse().ok()).collect::<Int16Array>()),
        DataType::Int32 => Arc::new(texts.map(|text| text?.parse().ok()).collect::<Int32Array>()),
        DataType::Boolean => Arc::new(texts.map(|text| text.map(|text| text == "YES")).collect::<BooleanArray>()),
        _ => return Err(no("text, integer or truth value").into()),
    })
}

fn list(items: ArrayRef, lengths: &[usize], is_valid: Option<Vec<bool>>) -> Result<ArrayRef> {
    let item = Arc::new(Field::new_list_field(items.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths(lengths.iter().copied());
    Ok(Arc::new(ListArray::try_new(item, offsets, items, is_valid.map(NullBuffer::from))?))
}

/// A list of constraints for each table, of rows of which each has one column of a constraint, or none.
fn constraints(children: &Children) -> Result<ArrayRef> {
    let place = |name: &str| children.names.iter().position(|found| found == name);
    let name = |row: &Row, column: &str| place(column).and_then(|place| row[place].clone());
    let mut constraints = Children { names: children.names.clone(), rows: Vec::new(), lengths: Vec::new() };
    let (mut columns, mut usage) = (Vec::new(), Vec::new());
    let (mut column_counts, mut usage_counts) = (Vec::<usize>::new(), Vec::<usize>::new());
    let mut rows = children.rows.iter();
    for length in &children.lengths {
        let before = constraints.rows.len();
        for row in rows.by_ref().take(*length) {
            let of_table = &constraints.rows[before..];
            let is_next =
                of_table.last().is_none_or(|last| name(last, "constraint_name") != name(row, "constraint_name"));
            if is_next {
                constraints.rows.push(row.clone());
                column_counts.push(0);
                usage_counts.push(0);
            }
            if let (Some(column), Some(count)) = (name(row, "constrained_column"), column_counts.last_mut()) {
                columns.push(column);
                *count += 1;
            }
            if let (Some(_), Some(count)) = (name(row, "fk_table"), usage_counts.last_mut()) {
                usage.push(row.clone());
                *count += 1;
            }
        }
        constraints.lengths.push(constraints.rows.len() - before);
    }
    let has_usage = usage_counts.iter().map(|count| *count > 0).collect();
    let DataType::Struct(fields) = &*USAGE_SCHEMA else { return Err(no("struct").into()) };
    let usage = StructArray::try_new(fields.clone(), arrays(&children.names, &usage, fields, &[])?, None)?;
    let inner = [
        ("constraint_column_names", Some(list(Arc::new(StringArray::from(columns)), &column_counts, None)?)),
        ("constraint_column_usage", Some(list(Arc::new(usage), &usage_counts, Some(has_usage))?)),
    ];
    structs(&constraints, &CONSTRAINT_SCHEMA, &inner)
}

pub(super) fn no(what: &str) -> ArrowError {
    ArrowError::SchemaError(format!("ADBC's schema of objects has something other than a {what}"))
}
