//! The options of a query.

use std::fmt;
use std::str::FromStr;

use colonnade_wire::Config;

use crate::{Error, ErrorKind};

/// The key in a field's metadata whose value is the database's name of the type. [`QueryOptions::type_names`] requests
/// it.
pub const TYPE_NAME_KEY: &str = "colonnade.type_name";

/// How a result is sent. `None` leaves the choice to the server (`spec/PROTOCOL.md`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryOptions {
    /// How chunks are encoded.
    pub compression: Compression,
    /// The most rows of a chunk.
    pub chunk_rows: Option<u32>,
    /// The most plain bytes of a chunk.
    pub chunk_bytes: Option<u64>,
    /// The most bytes of a message. Both sides refuse a larger one.
    pub max_message_bytes: Option<u64>,
    /// The most bytes of a result's columns in total. A larger result is an error.
    pub max_result_bytes: Option<u64>,
    /// PostgreSQL: precision and scale of the decimals that unconstrained numerics become. They are text if `None`.
    pub numeric: Option<(u8, u8)>,
    /// PostgreSQL, MySQL, SQLite and ODBC: the result columns that arrive as text, in the database's own form.
    pub as_text: Vec<String>,
    /// SQLite: the columns of dates and times whose values are not read as such.
    pub stored_dates: StoredDates,
    /// PostgreSQL with the extension: whether parallel workers encode.
    pub parallel: Parallel,
    /// PostgreSQL, MySQL and MariaDB: whether fields have the database's name of their type, as far as the source knows
    /// it ([`TYPE_NAME_KEY`]). With PostgreSQL's extension, this takes a round trip more for each query.
    pub type_names: bool,
}

/// Columns of dates and times that arrive as SQLite stores them: it has no type for these, so a file may have texts in
/// any form, and numbers. Names of other columns, and names that the result does not have, change nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredDates {
    /// All arrive as text.
    pub all_as_text: bool,
    /// These arrive as text.
    pub as_text: Vec<String>,
    /// The types of these are those of their values.
    pub by_values: Vec<String>,
}

/// How the chunks of a result are encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// The server chooses for each chunk.
    #[default]
    Auto,
    /// All chunks have this encoding.
    Fixed(Config),
}

/// Whether the workers of a parallel plan encode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parallel {
    /// They encode in plans that are parallel anyway.
    #[default]
    Auto,
    /// They encode, and the planner counts such plans as cheaper.
    On,
    /// They do not encode.
    Off,
}

impl FromStr for Compression {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        let unknown = |name| Error::new(ErrorKind::Usage, format!("{name}, or auto")).with_cause(name);
        text.parse().map(Self::Fixed).map_err(unknown)
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Fixed(config) => config.fmt(f),
        }
    }
}

impl FromStr for Parallel {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "auto" => Ok(Self::Auto),
            "on" => Ok(Self::On),
            "off" => Ok(Self::Off),
            _ => Err(Error::new(ErrorKind::Usage, format!("parallel {text:?} is not one of auto, on, off"))),
        }
    }
}

impl fmt::Display for Parallel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::On => "on",
            Self::Off => "off",
        })
    }
}

impl QueryOptions {
    /// Checks the options for a source whose server neither encodes nor has numerics without a precision. Options that
    /// request the source's usual behaviour are accepted.
    ///
    /// # Errors
    /// An option requests something else.
    pub fn refuse_for_plain_source(&self, has_as_text: bool) -> Result<(), Error> {
        let refused = |what: String, hint: String| Err(Error::new(ErrorKind::Unsupported, what).with_hint(hint));
        if self.numeric.is_some() {
            let hint = "declare the column DECIMAL(p, s), or cast in the query";
            return refused("the option numeric is for PostgreSQL".to_owned(), hint.to_owned());
        }
        if !self.as_text.is_empty() && !has_as_text {
            let what = "the option as_text is for PostgreSQL, MySQL, SQLite and ODBC";
            return refused(what.to_owned(), "cast in the query".to_owned());
        }
        let encoded = |name: &str, value: &dyn fmt::Display, instead: &str| {
            let who = "PostgreSQL with the extension and for colonnade serve";
            let what = format!("the option {name} is \"{value}\", which is for {who}");
            refused(what, format!("leave {name} out, or write \"{instead}\""))
        };
        match self {
            Self { compression: Compression::Fixed(config), .. } if *config != Config::PLAIN => {
                encoded("compression", config, "auto")
            }
            Self { parallel: Parallel::On, .. } => encoded("parallel", &self.parallel, "auto"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn names_are_parsed_and_written() {
        for name in ["auto", "plain", "light", "light+fsst+lz4", "light+zstd-3"] {
            assert_eq!(name.parse::<Compression>().unwrap().to_string(), name);
        }
        for name in ["auto", "on", "off"] {
            assert_eq!(name.parse::<Parallel>().unwrap().to_string(), name);
        }
        assert!("x', oops '".parse::<Compression>().unwrap_err().message().ends_with("or auto"));
        assert!("sideways".parse::<Parallel>().unwrap_err().message().contains("auto, on, off"));
    }

    #[test]
    fn a_plain_source_follows_what_it_does_anyway() {
        let plain = QueryOptions { compression: Compression::Fixed(Config::PLAIN), ..QueryOptions::default() };
        let off = QueryOptions { parallel: Parallel::Off, ..QueryOptions::default() };
        let text = QueryOptions { as_text: vec!["a".to_owned()], ..QueryOptions::default() };
        for options in [&QueryOptions::default(), &plain, &off, &text] {
            options.refuse_for_plain_source(true).unwrap();
        }
        let light = QueryOptions { compression: Compression::Fixed(Config::LIGHT), ..QueryOptions::default() };
        let on = QueryOptions { parallel: Parallel::On, ..QueryOptions::default() };
        for (options, name) in [(&light, "compression"), (&on, "parallel"), (&text, "as_text")] {
            assert!(options.refuse_for_plain_source(false).unwrap_err().message().contains(name));
        }
    }
}
