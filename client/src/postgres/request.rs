//! The COPY statement that requests a stream. PROTOCOL §2.

use std::fmt::Write as _;

use colonnade_sql::lexer::first_word;
use colonnade_sql::split::trimmed;
use colonnade_sql::{Dialect, code, quote};
use colonnade_wire::{DecodeLimits, RequestedSize};

use crate::{Compression, Error, ErrorKind, Parallel, QueryOptions};

/// The format's version that this client reads.
pub(crate) const VERSION: u32 = 1;
/// The options of a COPY that sends or receives a stream of this version.
pub(crate) const STREAM: &str = "FORMAT colonnade, version 1";
/// The default size of chunks. PROTOCOL §2.
const CHUNKS: RequestedSize = RequestedSize { rows: 65_536, bytes: 4 << 20 };
/// The most bytes of a schema message, and of a chunk in addition to its values.
const MESSAGE_OVERHEAD: u64 = 16 << 20;
/// The most digits of a decimal in the format. FORMAT §4.
const DECIMAL_DIGITS: u8 = 76;

/// `COPY (query) TO STDOUT (…)`.
///
/// # Errors
/// `sql` has no statement, or the value of an option is invalid.
pub(crate) fn copy(sql: &str, options: &QueryOptions, dialect: Dialect) -> Result<String, Error> {
    let query = plain(sql, options, dialect)?;
    // The line break ends a comment in the query's last line.
    copy_of(&format!("(\n{query}\n)"), options)
}

/// `COPY … TO STDOUT (…)` of anything that COPY reads.
///
/// # Errors
/// The value of an option is invalid.
pub(crate) fn copy_of(source: &str, options: &QueryOptions) -> Result<String, Error> {
    check(options)?;
    let mut copy = format!("COPY {source} TO STDOUT ({STREAM}");
    if let Compression::Fixed(config) = options.compression {
        push(&mut copy, "compression", format_args!("'{config}'"));
    }
    for (name, value) in sizes(options) {
        if let Some(value) = value {
            push(&mut copy, name, format_args!("{value}"));
        }
    }
    if let Some((precision, scale)) = options.numeric {
        push(&mut copy, "numeric", format_args!("'{precision},{scale}'"));
    }
    if !options.as_text.is_empty() {
        let names: Vec<_> = options.as_text.iter().map(|name| quote::plain_or_quoted(name)).collect();
        push(&mut copy, "as_text", format_args!("{}", quote::string(&names.join(","), Dialect::POSTGRES)));
    }
    if options.parallel != Parallel::Auto {
        push(&mut copy, "parallel", format_args!("'{}'", options.parallel));
    }
    copy.push(')');
    Ok(copy)
}

/// The size of the chunks that [`copy`] requests.
pub(crate) fn chunks(options: &QueryOptions) -> RequestedSize {
    RequestedSize {
        rows: options.chunk_rows.unwrap_or(CHUNKS.rows),
        bytes: options.chunk_bytes.unwrap_or(CHUNKS.bytes),
    }
}

/// The largest accepted message and chunk. A chunk cannot exceed the limit of the result. The headers of a message do
/// not count towards that limit.
pub(crate) fn limits(options: &QueryOptions) -> DecodeLimits {
    let mut limits = DecodeLimits::default();
    limits.message_bytes = options.max_message_bytes.unwrap_or(limits.message_bytes);
    if let Some(most) = options.max_result_bytes {
        limits.message_bytes = limits.message_bytes.min(most.saturating_add(MESSAGE_OVERHEAD));
        limits.decoded_bytes = limits.decoded_bytes.min(most.saturating_add(MESSAGE_OVERHEAD));
    }
    limits
}

/// The statement alone, for a server that sends its own format. Options of the Colonnade format then have no effect.
///
/// # Errors
/// As for [`copy`].
pub(crate) fn plain<'a>(sql: &'a str, options: &QueryOptions, dialect: Dialect) -> Result<&'a str, Error> {
    let query = trimmed(sql, dialect);
    if query.is_empty() {
        return Err(Error::new(ErrorKind::Usage, "the query is empty"));
    }
    check(options).map(|()| query)
}

fn check(options: &QueryOptions) -> Result<(), Error> {
    let usage = |message: String| Err(Error::new(ErrorKind::Usage, message));
    if let Some((name, _)) = sizes(options).into_iter().find(|(_, value)| *value == Some(0)) {
        return usage(format!("{name} must be at least 1"));
    }
    if options.numeric.is_some_and(|(precision, scale)| !(1..=DECIMAL_DIGITS).contains(&precision) || scale > precision)
    {
        return usage(format!(
            "numeric must be a precision of 1 to {DECIMAL_DIGITS} and a scale of 0 to the precision"
        ));
    }
    Ok(())
}

/// The first words of queries.
const QUERIES: [&str; 5] = ["SELECT", "WITH", "VALUES", "TABLE", "("];
/// The first words of statements that change rows.
const CHANGES: [&str; 4] = ["INSERT", "UPDATE", "DELETE", "MERGE"];

/// Whether COPY accepts a statement, as far as its words show: it returns rows and does nothing else.
pub(crate) fn is_read(sql: &str) -> bool {
    starts_with(sql, &QUERIES)
        && !code(sql, Dialect::POSTGRES).any(|token| token.is_one_of(&CHANGES) || token.is_one_of(&["INTO"]))
}

/// Whether PostgreSQL's COPY has a place for a statement. It has none for others that return rows: EXPLAIN, SHOW, FETCH,
/// CALL, EXECUTE.
pub(crate) fn is_copied(sql: &str) -> bool {
    starts_with(sql, &QUERIES) || starts_with(sql, &CHANGES)
}

fn starts_with(sql: &str, words: &[&str]) -> bool {
    let first = first_word(sql, Dialect::POSTGRES);
    words.iter().any(|word| first.eq_ignore_ascii_case(word))
}

fn sizes(options: &QueryOptions) -> [(&'static str, Option<u64>); 3] {
    [
        ("chunk_rows", options.chunk_rows.map(u64::from)),
        ("chunk_bytes", options.chunk_bytes),
        ("max_message_bytes", options.max_message_bytes),
    ]
}

fn push(copy: &mut String, name: &str, value: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = write!(copy, ", {name} {value}");
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn options_are_named_only_where_they_differ() {
        let plain = copy("select 1; -- x", &QueryOptions::default(), Dialect::POSTGRES).unwrap();
        assert_eq!(plain, "COPY (\nselect 1\n) TO STDOUT (FORMAT colonnade, version 1)");
        let options = QueryOptions {
            compression: "light+zstd-3".parse().unwrap(),
            chunk_rows: Some(10),
            chunk_bytes: Some(20),
            max_message_bytes: Some(30),
            max_result_bytes: Some(40),
            numeric: Some((38, 9)),
            as_text: vec!["plain_1".to_owned(), "Odd, \"it's\"".to_owned()],
            parallel: Parallel::Off,
            type_names: false,
        };
        assert_eq!(
            copy("table t", &options, Dialect::POSTGRES).unwrap(),
            "COPY (\ntable t\n) TO STDOUT (FORMAT colonnade, version 1, compression 'light+zstd-3', chunk_rows 10, \
             chunk_bytes 20, max_message_bytes 30, numeric '38,9', as_text 'plain_1,\"Odd, \"\"it''s\"\"\"', \
             parallel 'off')"
        );
    }

    #[test]
    fn what_cannot_be_asked_is_refused() {
        let none = QueryOptions { chunk_rows: Some(0), ..QueryOptions::default() };
        assert!(copy("select 1", &none, Dialect::POSTGRES).is_err());
        for numeric in [(0, 0), (77, 0), (5, 6)] {
            let odd = QueryOptions { numeric: Some(numeric), ..QueryOptions::default() };
            assert!(copy("select 1", &odd, Dialect::POSTGRES).is_err());
        }
        assert!(copy(" ; -- nothing", &QueryOptions::default(), Dialect::POSTGRES).is_err());
    }
}
