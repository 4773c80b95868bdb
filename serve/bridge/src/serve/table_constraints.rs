//! Constraints of a table, from Python.

use colonnade_duckdb::TableConstraint;
use pyo3::prelude::*;

/// A `table_constraints.Constraint`.
#[derive(FromPyObject)]
pub(super) struct PyTableConstraint(
    String,
    String,
    String,
    String,
    Vec<String>,
    Option<String>,
    Option<String>,
    Vec<String>,
    bool,
);

impl From<PyTableConstraint> for TableConstraint {
    fn from(found: PyTableConstraint) -> Self {
        let PyTableConstraint(
            kind,
            name,
            schema,
            table,
            columns,
            expression,
            referenced_table,
            referenced,
            is_temporary,
        ) = found;
        let referenced_columns = referenced;
        Self { kind, name, schema, table, columns, expression, referenced_table, referenced_columns, is_temporary }
    }
}
