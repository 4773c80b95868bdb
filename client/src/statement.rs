//! What a connection is asked to run.

use std::borrow::Cow;

use crate::{Dialect, Error, Parameters, bind};

/// A statement, and the values for its placeholders.
#[derive(Clone, Copy, Debug)]
pub struct Statement<'a> {
    /// Its text.
    pub sql: &'a str,
    /// `None` leaves what looks like a placeholder to the source.
    pub parameters: Option<&'a Parameters>,
}

impl<'a> Statement<'a> {
    /// The text with the values written into it.
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

/// On whose behalf a connection is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// The program's own: it may change what it likes.
    #[default]
    Own,
    /// A server's clients, who write statements for the settings that the server announces. The session keeps these settings,
    /// whatever runs in it, or ends; an SQLite file is reached alone, within bounds.
    Gateway,
}
