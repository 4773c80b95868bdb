//! A connection: transactions, what there is in the database, statements.

use std::collections::HashSet;
use std::sync::Arc;

use adbc_core::error::Result;
use adbc_core::options::{InfoCode, ObjectDepth, OptionConnection, OptionValue};
use adbc_core::{CancelHandle, Connection, Optionable};
use arrow_array::RecordBatchReader;
use arrow_schema::Schema;

use crate::objects::{self, Filters};
use crate::options::{ReadOptions, integer, no_such_type, text, truth};
use crate::session::{Isolation, Session};
use crate::statement::AdbcStatement;
use crate::{info, partitions, schema};

/// A connection to a database.
pub(crate) struct AdbcConnection {
    session: Arc<Session>,
    read: ReadOptions,
}

/// A result of a metadata function.
type Reader = Box<dyn RecordBatchReader + Send + 'static>;

impl AdbcConnection {
    pub(crate) fn new(session: Arc<Session>, read: ReadOptions) -> Self {
        Self { session, read }
    }
}

impl Connection for AdbcConnection {
    type StatementType = AdbcStatement;

    fn new_statement(&mut self) -> Result<AdbcStatement> {
        Ok(AdbcStatement::new(self.session.clone(), self.read.clone()))
    }

    fn get_cancel_handle(&self) -> Box<dyn CancelHandle> {
        self.session.canceller()
    }

    fn get_info(&self, codes: Option<HashSet<InfoCode>>) -> Result<Reader> {
        Ok(Box::new(info::info(&self.session, codes.as_ref())?))
    }

    fn get_objects(
        &self,
        depth: ObjectDepth,
        catalog: Option<&str>,
        db_schema: Option<&str>,
        table: Option<&str>,
        kinds: Option<Vec<&str>>,
        column: Option<&str>,
    ) -> Result<Reader> {
        let filters = Filters { catalog, db_schema, table, kinds, column };
        Ok(Box::new(objects::objects(&self.session, depth, &filters)?))
    }

    fn get_table_schema(&self, catalog: Option<&str>, db_schema: Option<&str>, table_name: &str) -> Result<Schema> {
        schema::of_table(&self.session, catalog, db_schema, table_name)
    }

    fn get_table_types(&self) -> Result<Reader> {
        Ok(Box::new(info::table_types(&self.session)?))
    }

    fn get_statistic_names(&self) -> Result<Reader> {
        Ok(Box::new(objects::statistic_names()?))
    }

    fn get_statistics(
        &self,
        catalog: Option<&str>,
        db_schema: Option<&str>,
        table: Option<&str>,
        _approximate: bool,
    ) -> Result<Reader> {
        let filters = Filters { catalog, db_schema, table, kinds: None, column: None };
        Ok(Box::new(objects::statistics(&self.session, &filters)?))
    }

    fn commit(&mut self) -> Result<()> {
        self.session.commit()
    }

    fn rollback(&mut self) -> Result<()> {
        self.session.rollback()
    }

    fn read_partition(&self, partition: impl AsRef<[u8]>) -> Result<Reader> {
        Ok(Box::new(partitions::read(&self.session, partition.as_ref(), &self.read)?))
    }
}

impl Optionable for AdbcConnection {
    type Option = OptionConnection;

    fn set_option(&mut self, key: OptionConnection, value: OptionValue) -> Result<()> {
        let name = key.as_ref();
        match key {
            OptionConnection::AutoCommit => self.session.set_autocommit(truth(name, &value)?),
            OptionConnection::IsolationLevel => self.session.set_isolation(Isolation::parse(&text(name, &value)?)?),
            OptionConnection::ReadOnly => self.session.set_read_only(truth(name, &value)?),
            OptionConnection::CurrentCatalog => self.session.set_catalog(&text(name, &value)?),
            OptionConnection::CurrentSchema => self.session.set_db_schema(&text(name, &value)?),
            _ => self.read.set(name, &value),
        }
    }

    fn get_option_string(&self, key: OptionConnection) -> Result<String> {
        match key {
            OptionConnection::AutoCommit => Ok(self.session.autocommit().to_string()),
            OptionConnection::IsolationLevel => Ok(self.session.isolation().name().to_owned()),
            OptionConnection::ReadOnly => Ok(self.session.read_only().to_string()),
            OptionConnection::CurrentCatalog => schema::current(&self.session, schema::Current::Catalog),
            OptionConnection::CurrentSchema => schema::current(&self.session, schema::Current::DbSchema),
            _ => self.read.get(key.as_ref()),
        }
    }

    fn get_option_bytes(&self, key: OptionConnection) -> Result<Vec<u8>> {
        Err(no_such_type(key.as_ref(), "bytes"))
    }

    fn get_option_int(&self, key: OptionConnection) -> Result<i64> {
        let name = key.as_ref().to_owned();
        integer(&name, &self.get_option_string(key)?)
    }

    fn get_option_double(&self, key: OptionConnection) -> Result<f64> {
        Err(no_such_type(key.as_ref(), "float"))
    }
}
