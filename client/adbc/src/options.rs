//! The driver's own options: how results are read. A database's are the defaults of its connections, theirs those of
//! their statements.

use std::fmt::Display;
use std::num::NonZero;
use std::str::FromStr;
use std::thread::available_parallelism;

use adbc_core::error::{Error, Result, Status};
use adbc_core::options::OptionValue;
use colonnade_client::QueryOptions;
use colonnade_client::partition::PartitionSplit;

use crate::error::{converted, refused};

/// What the names of all of them begin with.
const PREFIX: &str = "adbc.colonnade.";
/// The rest of each name.
const NAMES: [&str; 10] = [
    "compression",
    "parallel",
    "chunk_rows",
    "chunk_bytes",
    "max_message_bytes",
    "max_result_bytes",
    "numeric",
    "as_text",
    "partition_on",
    "partition_num",
];

/// How results are read.
#[derive(Clone, Debug)]
pub(crate) struct ReadOptions {
    pub(crate) query: QueryOptions,
    /// The column by which parts are made. Without one, the database makes them by where rows lie, if it can.
    partition_on: Option<String>,
    partition_num: Option<usize>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        let query = QueryOptions { type_names: true, ..QueryOptions::default() };
        Self { query, partition_on: None, partition_num: None }
    }
}

impl ReadOptions {
    /// Sets the option of a name. The empty text gives it its default.
    ///
    /// # Errors
    /// There is no such option, or it does not have this value.
    pub(crate) fn set(&mut self, name: &str, value: &OptionValue) -> Result<()> {
        let text = text(name, value)?;
        let defaults = QueryOptions::default();
        let options = &mut self.query;
        match name.strip_prefix(PREFIX).unwrap_or_default() {
            "compression" if text.is_empty() => options.compression = defaults.compression,
            "compression" => options.compression = text.parse().map_err(|error| converted(&error))?,
            "parallel" if text.is_empty() => options.parallel = defaults.parallel,
            "parallel" => options.parallel = text.parse().map_err(|error| converted(&error))?,
            "chunk_rows" => options.chunk_rows = number(name, &text)?,
            "chunk_bytes" => options.chunk_bytes = number(name, &text)?,
            "max_message_bytes" => options.max_message_bytes = number(name, &text)?,
            "max_result_bytes" => options.max_result_bytes = number(name, &text)?,
            "numeric" => options.numeric = numeric(name, &text)?,
            "as_text" => options.as_text = text.lines().map(str::to_owned).collect(),
            "partition_on" => self.partition_on = Some(text).filter(|text| !text.is_empty()),
            "partition_num" => self.partition_num = number::<NonZero<usize>>(name, &text)?.map(NonZero::get),
            _ => return Err(unknown(name)),
        }
        Ok(())
    }

    /// How a result becomes parts. Without a number, there are as many as processors.
    pub(crate) fn split(&self) -> PartitionSplit {
        let processors = || available_parallelism().map_or(1, NonZero::get);
        let count = self.partition_num.unwrap_or_else(processors);
        PartitionSplit { key: self.partition_on.clone(), count, range: None, consistent: true, repeatable: true }
    }

    /// The option's value as a text, which is empty for a default that the server chooses.
    ///
    /// # Errors
    /// There is no such option.
    pub(crate) fn get(&self, name: &str) -> Result<String> {
        let options = &self.query;
        Ok(match name.strip_prefix(PREFIX).unwrap_or_default() {
            "compression" => options.compression.to_string(),
            "parallel" => options.parallel.to_string(),
            "chunk_rows" => written(options.chunk_rows),
            "chunk_bytes" => written(options.chunk_bytes),
            "max_message_bytes" => written(options.max_message_bytes),
            "max_result_bytes" => written(options.max_result_bytes),
            "numeric" => written(options.numeric.map(|(precision, scale)| format!("{precision},{scale}"))),
            "as_text" => options.as_text.join("\n"),
            "partition_on" => written(self.partition_on.as_ref()),
            "partition_num" => written(self.partition_num),
            _ => return Err(not_found(name)),
        })
    }
}

/// An option's value as a text. Numbers may be given as such.
///
/// # Errors
/// It is neither a text nor an integer.
pub(crate) fn text(name: &str, value: &OptionValue) -> Result<String> {
    match value {
        OptionValue::String(text) => Ok(text.clone()),
        OptionValue::Int(number) => Ok(number.to_string()),
        _ => Err(refused(Status::InvalidArguments, format!("the option {name} is a text or an integer"))),
    }
}

/// An option's value as a truth value.
///
/// # Errors
/// It is neither `true` nor `false`.
pub(crate) fn truth(name: &str, value: &OptionValue) -> Result<bool> {
    match value {
        OptionValue::String(text) if text == "true" => Ok(true),
        OptionValue::String(text) if text == "false" => Ok(false),
        _ => Err(refused(Status::InvalidArguments, format!("the option {name} is \"true\" or \"false\""))),
    }
}

/// A value of an option that is read as an integer.
///
/// # Errors
/// It is none.
pub(crate) fn integer(name: &str, value: &str) -> Result<i64> {
    value.parse().map_err(|_| refused(Status::NotFound, format!("the option {name} has no integer: read it as a text")))
}

/// An option that nobody can set.
pub(crate) fn unknown(name: &str) -> Error {
    let own = NAMES.map(|name| format!("{PREFIX}{name}")).join(", ");
    refused(Status::NotImplemented, format!("this driver has no option {name} here; its own options are {own}"))
}

/// An option that nobody can read.
pub(crate) fn not_found(name: &str) -> Error {
    refused(Status::NotFound, format!("this driver has no option {name} here"))
}

/// An option of a type that none has.
pub(crate) fn no_such_type(name: &str, what: &str) -> Error {
    refused(Status::NotFound, format!("the option {name} is no {what}: read it as a text"))
}

fn number<T: FromStr>(name: &str, text: &str) -> Result<Option<T>> {
    let wrong = |_| refused(Status::InvalidArguments, format!("the option {name} is {text:?}, and must be an integer"));
    if text.is_empty() { Ok(None) } else { text.parse().map(Some).map_err(wrong) }
}

fn numeric(name: &str, text: &str) -> Result<Option<(u8, u8)>> {
    if text.is_empty() {
        return Ok(None);
    }
    let pair = text
        .split_once(',')
        .and_then(|(precision, scale)| Some((precision.trim().parse().ok()?, scale.trim().parse().ok()?)));
    let wrong = || format!("the option {name} is {text:?}, and must be a precision and a scale, such as \"38,9\"");
    pair.map(Some).ok_or_else(|| refused(Status::InvalidArguments, wrong()))
}

fn written<T: Display>(value: Option<T>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn what_is_set_is_read() {
        let mut options = ReadOptions::default();
        for (name, value) in [
            ("compression", "light+lz4"),
            ("parallel", "off"),
            ("chunk_rows", "1000"),
            ("chunk_bytes", "100000"),
            ("max_message_bytes", "1000000"),
            ("max_result_bytes", "10000000"),
            ("numeric", "38,9"),
            ("as_text", "a\nb, c"),
            ("partition_on", "id"),
            ("partition_num", "3"),
        ] {
            let name = format!("{PREFIX}{name}");
            options.set(&name, &value.into()).unwrap();
            assert_eq!(options.get(&name).unwrap(), value);
        }
        assert_eq!(options.query.as_text, ["a", "b, c"]);
        assert_eq!((options.split().key.as_deref(), options.split().count), (Some("id"), 3));
        for name in NAMES.map(|name| format!("{PREFIX}{name}")) {
            options.set(&name, &"".into()).unwrap();
        }
        assert_eq!(options.query, ReadOptions::default().query);
        assert_eq!(options.split().key, None);
        options.set("adbc.colonnade.chunk_rows", &7.into()).unwrap();
        assert_eq!(options.query.chunk_rows, Some(7));
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        let mut options = ReadOptions::default();
        for (name, value) in [("chunk_rows", "many"), ("numeric", "38"), ("chunk_bytes", "-1"), ("partition_num", "0")]
        {
            let name = format!("{PREFIX}{name}");
            let error = options.set(&name, &value.into()).unwrap_err();
            assert!(error.message.contains(&name) && error.status == Status::InvalidArguments, "{error}");
        }
        let error = options.set("adbc.colonnade.speed", &"high".into()).unwrap_err();
        assert_eq!(error.status, Status::NotImplemented);
        assert!(error.message.contains("adbc.colonnade.compression"));
    }
}
