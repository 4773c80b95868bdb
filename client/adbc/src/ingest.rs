//! Bulk ingestion: the bound rows become rows of a table, all of them or none, by the client's writers.

use adbc_core::error::{Error, Result, Status};
use adbc_core::options::{IngestMode, OptionStatement, OptionValue};
use arrow_array::RecordBatchReader;
use arrow_schema::SchemaRef;
use colonnade_client::{
    self as client, Batch, ContinueCheck, Dialect, ErrorKind, IfExists, ResultStream, Stats, WriteTarget,
};

use crate::error::{converted, not_implemented, refused};
use crate::options::{not_found, text, truth};
use crate::schema;
use crate::session::Session;

/// The options `adbc.ingest.*` of a statement.
#[derive(Clone, Default)]
pub(crate) struct IngestOptions {
    table: Option<String>,
    mode: Option<IngestMode>,
    catalog: Option<String>,
    db_schema: Option<String>,
    temporary: bool,
}

impl IngestOptions {
    /// Sets an option; `false` if it is none of these. The empty text gives it its default.
    ///
    /// # Errors
    /// It does not have this value.
    pub(crate) fn set(&mut self, key: &OptionStatement, value: &OptionValue) -> Result<bool> {
        let name = key.as_ref();
        let filled = || text(name, value).map(|text| Some(text).filter(|text| !text.is_empty()));
        match key {
            OptionStatement::TargetTable => self.table = filled()?,
            OptionStatement::TargetCatalog => self.catalog = filled()?,
            OptionStatement::TargetDbSchema => self.db_schema = filled()?,
            OptionStatement::IngestMode => self.mode = filled()?.map(|mode| mode.parse()).transpose()?,
            OptionStatement::Temporary => self.temporary = truth(name, value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The option's value; `None` if it is none of these.
    ///
    /// # Errors
    /// It is not set.
    pub(crate) fn get(&self, key: &OptionStatement) -> Option<Result<String>> {
        let value = match key {
            OptionStatement::TargetTable => self.table.clone(),
            OptionStatement::TargetCatalog => self.catalog.clone(),
            OptionStatement::TargetDbSchema => self.db_schema.clone(),
            OptionStatement::IngestMode => Some(self.mode.unwrap_or(IngestMode::Create).into()),
            OptionStatement::Temporary => Some(self.temporary.to_string()),
            _ => return None,
        };
        Some(value.ok_or_else(|| not_found(key.as_ref())))
    }

    /// Whether the next execution ingests.
    pub(crate) fn names_table(&self) -> bool {
        self.table.is_some()
    }

    /// The next execution runs a query.
    pub(crate) fn forget_table(&mut self) {
        self.table = None;
    }

    /// # Errors
    /// No table is named, or it is in a catalog that the connection cannot write to.
    fn target(&self, session: &Session) -> Result<WriteTarget> {
        let table = self.table.clone();
        let table = table.ok_or_else(|| refused(Status::InvalidState, "no table is named to ingest into"))?;
        let if_exists = match self.mode.unwrap_or(IngestMode::Create) {
            IngestMode::Create => IfExists::Fail,
            IngestMode::Append => IfExists::Append,
            IngestMode::Replace => IfExists::Replace,
            IngestMode::CreateAppend => IfExists::CreateAppend,
        };
        let schema = self.schema(session)?;
        Ok(WriteTarget { schema, table, if_exists, key: Vec::new(), temporary: self.temporary })
    }

    /// The schema in the client's sense: MySQL's is a database, which ADBC calls a catalog.
    fn schema(&self, session: &Session) -> Result<Option<String>> {
        let (catalog, db_schema) = (self.catalog.clone(), self.db_schema.clone());
        match (session.dialect(), catalog) {
            (Dialect::MySql { .. }, _) if db_schema.is_some() => {
                Err(not_implemented("this database has no schemas: name the database as adbc.ingest.target_catalog"))
            }
            (Dialect::MySql { .. }, catalog) => Ok(catalog),
            (_, None) => Ok(db_schema),
            (Dialect::Sqlite, Some(catalog)) if catalog == "main" && db_schema.is_none() => Ok(None),
            (Dialect::Postgres { .. } | Dialect::DuckDb, Some(catalog))
                if schema::current(session, schema::Current::Catalog)? == catalog =>
            {
                Ok(db_schema)
            }
            (_, Some(catalog)) => {
                let message = format!(
                    "this connection does not write to the catalog {catalog:?}: leave adbc.ingest.target_catalog out, or connect to that database"
                );
                Err(not_implemented(&message))
            }
        }
    }

    /// Writes the rows into the table. Returns their number.
    ///
    /// # Errors
    /// A row has no exact form in the table, the reader fails, or the database refuses. The table is then as it was.
    pub(crate) fn ingest(&self, session: &Session, rows: Box<dyn RecordBatchReader + Send>) -> Result<u64> {
        let target = self.target(session)?;
        if session.dialect() == Dialect::Sqlite && !session.autocommit() {
            // The writer has a connection of its own, so a rollback of this one would leave the rows.
            let message = "an SQLite file is written in a transaction of its own: switch autocommit on before";
            return Err(refused(Status::InvalidState, message));
        }
        let mut rows = Bound { schema: rows.schema(), reader: rows };
        let mut keep = || !session.is_cancelled();
        let written = client::write(session.source(), &mut rows, &target, &mut keep);
        // The client's own error says that it was interrupted; ADBC's has a status and a SQLSTATE for it.
        written.map_err(|error| match error.kind() {
            ErrorKind::Interrupted => session.check_cancelled().err().unwrap_or_else(|| converted(&error)),
            _ => converted(&error),
        })
    }
}

/// What the user has bound, as the rows of a write.
struct Bound {
    schema: SchemaRef,
    reader: Box<dyn RecordBatchReader + Send>,
}

impl ResultStream for Bound {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn next(&mut self, keep: ContinueCheck<'_>) -> std::result::Result<Option<Batch>, client::Error> {
        if !keep() {
            return Err(client::Error::new(ErrorKind::Interrupted, "the ingestion was cancelled"));
        }
        let wrong = |cause| {
            let message = format!("the bound stream cannot be read: {cause}");
            client::Error::new(ErrorKind::Database, message).with_sqlstate("22000")
        };
        Ok(self.reader.next().transpose().map_err(wrong)?.map(Batch::from))
    }

    fn stats(&self) -> Stats {
        Stats::default()
    }
}

/// An execution that ingests has no query.
///
/// # Errors
/// Always.
pub(crate) fn no_query(what: &str) -> Error {
    refused(Status::InvalidState, format!("{what} needs an SQL query, and the statement ingests into a table"))
}
