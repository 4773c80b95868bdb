//! What the protocol describes of statements about spooled results, before they run.

use colonnade_sql::StatementKind;
use colonnade_sql::statement::{CopySource, CopyStatement, SpoolStatement};

use crate::error::Failure;
use crate::value::types::{Type, TypeKind};

/// What the protocol describes of a statement about spooled results.
pub struct SpoolDescription {
    /// The number of placeholders.
    pub placeholders: usize,
    /// The columns of its rows; COPY has none.
    pub columns: Option<Vec<(String, Type)>>,
}

/// The description of a statement; `None` if it is not about spooled results.
///
/// # Errors
/// If the statement is invalid.
pub fn of(kind: &StatementKind) -> Result<Option<SpoolDescription>, Failure> {
    Ok(match kind {
        StatementKind::Spool(statement) => {
            let statement = statement.as_ref().map_err(Clone::clone)?;
            Some(SpoolDescription { placeholders: statement.placeholders(), columns: Some(columns(statement)) })
        }
        StatementKind::Copy(Ok(CopyStatement::ToStdout(CopySource::Part(part), _))) => {
            Some(SpoolDescription { placeholders: part.placeholders(), columns: None })
        }
        _ => None,
    })
}

/// The columns of the statement's result.
fn columns(statement: &SpoolStatement) -> Vec<(String, Type)> {
    let (text, int4, int8) = (Type::text(), Type::new("integer", TypeKind::Int4), Type::new("bigint", TypeKind::Int8));
    let columns = match statement {
        SpoolStatement::Spool { .. } => vec![
            ("ticket", text),
            ("part", int4),
            ("rows", int8.clone()),
            ("plain_bytes", int8.clone()),
            ("encoded_bytes", int8),
        ],
        SpoolStatement::Release { .. } => vec![("released", Type::new("boolean", TypeKind::Bool))],
    };
    columns.into_iter().map(|(name, type_)| (name.to_owned(), type_)).collect()
}
