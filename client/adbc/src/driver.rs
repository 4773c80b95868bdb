//! The driver, and a database: what connections are made from.

use std::sync::Arc;

use adbc_core::error::{Result, Status};
use adbc_core::options::{OptionConnection, OptionDatabase, OptionValue};
use adbc_core::{Database, Driver, Optionable};
use colonnade_client::{self as client, Login};

use crate::connection::AdbcConnection;
use crate::error::{converted, refused};
use crate::options::{ReadOptions, integer, no_such_type, not_found, text};
use crate::session::Session;

/// What the exported functions begin with.
#[derive(Default)]
pub(crate) struct AdbcDriver;

impl Driver for AdbcDriver {
    type DatabaseType = AdbcDatabase;

    fn new_database(&mut self) -> Result<AdbcDatabase> {
        Ok(AdbcDatabase::default())
    }

    fn new_database_with_opts(
        &mut self,
        options: impl IntoIterator<Item = (OptionDatabase, OptionValue)>,
    ) -> Result<AdbcDatabase> {
        let mut database = AdbcDatabase::default();
        options.into_iter().try_for_each(|(key, value)| database.set_option(key, value))?;
        Ok(database)
    }
}

/// Where connections lead, and how their results are read.
#[derive(Default)]
pub(crate) struct AdbcDatabase {
    uri: Option<String>,
    login: Login,
    read: ReadOptions,
}

impl Database for AdbcDatabase {
    type ConnectionType = AdbcConnection;

    fn new_connection(&self) -> Result<AdbcConnection> {
        self.new_connection_with_opts([])
    }

    fn new_connection_with_opts(
        &self,
        options: impl IntoIterator<Item = (OptionConnection, OptionValue)>,
    ) -> Result<AdbcConnection> {
        let missing = || refused(Status::InvalidState, "the database has no URI: set the option \"uri\"");
        let uri = self.uri.as_deref().ok_or_else(missing)?;
        let source = client::connect_as(&self.login, uri, &mut || true).map_err(|error| converted(&error))?;
        let mut connection = AdbcConnection::new(Arc::new(Session::new(source)), self.read.clone());
        options.into_iter().try_for_each(|(key, value)| connection.set_option(key, value))?;
        Ok(connection)
    }
}

impl Optionable for AdbcDatabase {
    type Option = OptionDatabase;

    fn set_option(&mut self, key: OptionDatabase, value: OptionValue) -> Result<()> {
        let name = key.as_ref();
        match key {
            OptionDatabase::Uri => self.uri = Some(text(name, &value)?),
            OptionDatabase::Username => self.login.user = Some(text(name, &value)?),
            OptionDatabase::Password => self.login.password = Some(text(name, &value)?),
            _ => self.read.set(name, &value)?,
        }
        Ok(())
    }

    /// A password is not given back.
    fn get_option_string(&self, key: OptionDatabase) -> Result<String> {
        let name = key.as_ref();
        match key {
            OptionDatabase::Uri => self.uri.clone().ok_or_else(|| not_found(name)),
            OptionDatabase::Username => self.login.user.clone().ok_or_else(|| not_found(name)),
            OptionDatabase::Password => Err(not_found(name)),
            _ => self.read.get(name),
        }
    }

    fn get_option_bytes(&self, key: OptionDatabase) -> Result<Vec<u8>> {
        Err(no_such_type(key.as_ref(), "bytes"))
    }

    fn get_option_int(&self, key: OptionDatabase) -> Result<i64> {
        let name = key.as_ref().to_owned();
        integer(&name, &self.get_option_string(key)?)
    }

    fn get_option_double(&self, key: OptionDatabase) -> Result<f64> {
        Err(no_such_type(key.as_ref(), "float"))
    }
}
