//! Queries of the session itself.

use colonnade_server::{EngineAnswer, EngineError, Parameter, SqlState, value};

use crate::session::OWN_BATCH;
use crate::{LibraryConnection, Translated, TranslatingSession};

impl<C: LibraryConnection> TranslatingSession<C> {
    /// The rows of a query that the client has not written, as texts. A position in it has no meaning for the client.
    pub(crate) fn own_rows(
        &mut self,
        query: &Translated,
        values: &[&Parameter],
    ) -> Result<Vec<Vec<Option<String>>>, EngineError> {
        let without_position = |error| EngineError { position: None, ..error };
        let answer = self.connection.execute(query, values, OWN_BATCH, false).map_err(without_position)?;
        let EngineAnswer::Rows(mut rows) = answer else { return Ok(Vec::new()) };
        let schema = rows.schema();
        let mut found = Vec::new();
        while let Some(batch) = rows.next().map_err(without_position)? {
            let first = found.len();
            found.resize(first + batch.num_rows(), Vec::new());
            for (field, array) in schema.fields().iter().zip(batch.columns()) {
                let column = value::ColumnWriter::new(field, array.as_ref(), "a text").map_err(internal)?;
                for (row, texts) in found[first..].iter_mut().enumerate() {
                    let mut text = Vec::new();
                    if !column.is_null(row) {
                        column.write_text(row, value::TextStyle::default(), &mut text).map_err(internal)?;
                    }
                    texts.push((!column.is_null(row)).then(|| String::from_utf8_lossy(&text).into_owned()));
                }
            }
        }
        Ok(found)
    }
}

fn internal(error: impl std::fmt::Display) -> EngineError {
    EngineError::new(SqlState::INTERNAL_ERROR, error.to_string())
}
