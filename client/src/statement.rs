//! The statement that a connection runs.

use std::borrow::Cow;

use crate::{Dialect, Error, Parameters, bind};

/// A statement and the values for its placeholders.
#[derive(Clone, Copy, Debug)]
pub struct Statement<'a> {
    /// Its text.
    pub sql: &'a str,
    /// With `None`, the source reads the placeholders itself.
    pub parameters: Option<&'a Parameters>,
}

impl<'a> Statement<'a> {
    /// The text with literals in place of placeholders.
    ///
    /// # Errors
    /// As for [`bind`].
    pub(crate) fn with_literals(self, dialect: Dialect) -> Result<Cow<'a, str>, Error> {
        match self.parameters {
            None => Ok(Cow::Borrowed(self.sql)),
            Some(parameters) => bind(self.sql, parameters, dialect).map(Cow::Owned),
        }
    }
}

impl<'a> From<&'a str> for Statement<'a> {
    fn from(sql: &'a str) -> Self {
        Self { sql, parameters: None }
    }
}

impl<'a> From<&'a String> for Statement<'a> {
    fn from(sql: &'a String) -> Self {
        Self { sql, parameters: None }
    }
}

/// Who uses a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// This program, which may change all settings.
    #[default]
    Own,
    /// The clients of a gateway, whose statements assume the settings that the gateway announces. The session keeps
    /// these settings or ends. An SQLite file is accessed within limits.
    Gateway,
}
