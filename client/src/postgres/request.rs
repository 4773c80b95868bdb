//! What a statement of the user becomes: a COPY that requests a stream (PROTOCOL §2), or a statement of the extended
//! query protocol.

use std::borrow::Cow;
use std::fmt::Write as _;

use colonnade_sql::lexer::first_word;
use colonnade_sql::split::trimmed;
use colonnade_sql::{Dialect, code, quote};
use colonnade_wire::{DecodeLimits, RequestedSize};

use super::parameters::{self, BoundStatement};
use crate::{Compression, Error, ErrorKind, Parallel, QueryOptions, Statement};

/// The format's version that this client reads.
pub(crate) const VERSION: u32 = 1;
/// The options of a COPY that sends or receives a stream of this version.
pub(crate) const STREAM: &str = "FORMAT colonnade, version 1";
/// The default size of chunks. PROTOCOL §2.
const CHUNKS: RequestedSize = RequestedSize { rows: 65_536, bytes: 4 << 20 };
/// The most bytes of a schema message, and of a chunk in addition to its values.
const MESSAGE_OVERHEAD: u64 = 16 << 20;
/// The SQLSTATE of a syntax error.
const SYNTAX: &str = "42601";
/// The most digits of a decimal in the format. FORMAT §4.
const DECIMAL_DIGITS: u8 = 76;

/// What stands around a query in [`CopiedQuery::copy`].
const BEFORE: &str = "COPY (\n";
const AFTER: &str = "\n) TO STDOUT (";

/// What a statement must return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResultMode {
    /// Rows; any other statement does not run.
    Rows,
    /// Rows or none.
    Any,
}

/// A statement of the user, and the result that it must have.
pub(super) struct Request<'a> {
    pub(super) statement: Statement<'a>,
    pub(super) options: &'a QueryOptions,
    pub(super) wanted: ResultMode,
}

impl Request<'_> {
    /// Whether the extension sends the rows of the statement as a stream. Other rows come in PostgreSQL's own protocol.
    pub(super) fn is_copied(&self) -> bool {
        match self.wanted {
            ResultMode::Rows => is_copied(self.statement.sql),
            ResultMode::Any => self.statement.parameters.is_none() && is_read(self.statement.sql),
        }
    }

    /// The statement for the extended query protocol.
    ///
    /// # Errors
    /// There is no statement, the value of an option is invalid, or as for [`parameters::bound`].
    pub(super) fn bound(&self) -> Result<BoundStatement, Error> {
        parameters::bound(Statement { sql: plain(self.statement.sql, self.options)?, ..self.statement })
    }
}

/// A query for COPY, which has no parameters.
pub(super) struct CopiedQuery<'a> {
    /// The user's text, with literals in place of placeholders.
    pub(super) sql: Cow<'a, str>,
    /// Where the query ends in it.
    end: usize,
}

impl<'a> CopiedQuery<'a> {
    /// The query that the user has written, in the dialect of the server.
    ///
    /// # Errors
    /// There is no statement, or as for [`bind`](crate::bind).
    pub(super) fn new(statement: Statement<'a>, dialect: Dialect) -> Result<Self, Error> {
        let sql = statement.with_literals(dialect)?;
        let end = nonempty(&sql, dialect)?.len();
        Ok(Self { sql, end })
    }

    /// The query alone.
    pub(super) fn text(&self) -> &str {
        &self.sql[..self.end]
    }

    /// `COPY (query) TO STDOUT (…)`.
    ///
    /// # Errors
    /// The value of an option is invalid.
    pub(super) fn copy(&self, options: &QueryOptions) -> Result<String, Error> {
        // The line break ends a comment in the query's last line.
        copy_of(&format!("(\n{}\n)", self.text()), options)
    }

    /// The error of the COPY, as the query alone has it.
    pub(super) fn error(&self, error: Error) -> Error {
        let query = self.text();
        let end = query.chars().count();
        let mut position = error.position().and_then(|(position, _)| position.checked_sub(BEFORE.len()));
        let is_behind = error.sqlstate() == Some(SYNTAX) && position.is_some_and(|position| position > end);
        let closing = is_behind.then(|| unopened(query)).flatten();
        position = closing.or(position);
        // An open quote contains the rest of the COPY, and an open bracket ends there.
        let message = match (error.message().split_once(AFTER), error.message().rsplit_once('"')) {
            (Some((before, _)), Some((_, after))) => format!("{before}\"{after}"),
            // The query's bracket has closed that of the COPY, whose own is one too many then.
            _ if closing.is_some() => "syntax error at or near \")\"".to_owned(),
            _ if is_behind => "syntax error at end of input".to_owned(),
            _ => error.message().to_owned(),
        };
        let is_several = || {
            let at = position.and_then(|position| query.char_indices().nth(position));
            at.is_some_and(|(_, character)| character == ';')
        };
        let from = |other: Error| error.origin().into_iter().fold(other, Error::with_origin);
        match error.sqlstate() {
            Some(SYNTAX) if is_several() => return from(Error::several_statements()),
            // COPY refuses them before they run.
            Some("0A000") if message.contains("COPY") => {
                return match code(query, Dialect::POSTGRES).any(|token| token.is_word("into")) {
                    true => from(Error::no_rows()),
                    false => error.with_hint("in Python, Connection.execute runs it"),
                };
            }
            _ => {}
        }
        let hint = error.hint().map(|hint| {
            hint.replace(", or name it in the COPY option \"as_text\".", ", or name it in the option as_text.")
        });
        let error =
            error.with_message(message).with_position(position.map(|position| position.min(end))).with_sent(query);
        match hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }
}

/// The character of the first bracket that closes none.
fn unopened(query: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let token = code(query, Dialect::POSTGRES).find(|token| {
        let is_unopened = token.is_symbol(b')') && depth == 0;
        depth = (depth + usize::from(token.is_symbol(b'('))).saturating_sub(usize::from(token.is_symbol(b')')));
        is_unopened
    })?;
    Some(query[..token.start].chars().count())
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

/// The size of the chunks that [`copy_of`] requests.
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
/// There is no statement, or the value of an option is invalid.
pub(super) fn plain<'a>(sql: &'a str, options: &QueryOptions) -> Result<&'a str, Error> {
    let query = nonempty(sql, Dialect::POSTGRES)?;
    check(options).map(|()| query)
}

/// The text without what follows its last statement.
fn nonempty(sql: &str, dialect: Dialect) -> Result<&str, Error> {
    let query = trimmed(sql, dialect);
    if query.is_empty() { Err(Error::new(ErrorKind::Usage, "the query is empty")) } else { Ok(query) }
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

/// Whether PostgreSQL's COPY has a place for a statement. It has none for others that return rows: EXPLAIN, SHOW,
/// FETCH, CALL, EXECUTE. Nor has it one for changes that return nothing.
fn is_copied(sql: &str) -> bool {
    let changes = || {
        let tokens = || code(sql, Dialect::POSTGRES);
        // FOR UPDATE, FOR NO KEY UPDATE
        tokens()
            .zip(tokens().skip(1))
            .any(|(before, token)| token.is_one_of(&CHANGES) && !before.is_one_of(&["for", "key"]))
    };
    let returns = || code(sql, Dialect::POSTGRES).any(|token| token.is_word("returning"));
    let first = first_word(sql, Dialect::POSTGRES);
    let is_one_of = |words: &[&str]| words.iter().any(|word| first.eq_ignore_ascii_case(word));
    is_one_of(&QUERIES) && !(is_one_of(&["WITH"]) && changes() && !returns()) || is_one_of(&CHANGES) && returns()
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
    use crate::StoredDates;

    fn copied(sql: &str) -> Result<CopiedQuery<'_>, Error> {
        CopiedQuery::new(sql.into(), Dialect::POSTGRES)
    }

    fn copy(sql: &str, options: &QueryOptions) -> Result<String, Error> {
        copied(sql)?.copy(options)
    }

    #[test]
    fn options_are_named_only_where_they_differ() {
        let plain = copy("select 1; -- x", &QueryOptions::default()).unwrap();
        assert_eq!(plain, "COPY (\nselect 1\n) TO STDOUT (FORMAT colonnade, version 1)");
        let options = QueryOptions {
            compression: "light+zstd-3".parse().unwrap(),
            chunk_rows: Some(10),
            chunk_bytes: Some(20),
            max_message_bytes: Some(30),
            max_result_bytes: Some(40),
            numeric: Some((38, 9)),
            as_text: vec!["plain_1".to_owned(), "Odd, \"it's\"".to_owned()],
            stored_dates: StoredDates::default(),
            parallel: Parallel::Off,
            type_names: false,
        };
        assert_eq!(
            copy("table t", &options).unwrap(),
            "COPY (\ntable t\n) TO STDOUT (FORMAT colonnade, version 1, compression 'light+zstd-3', chunk_rows 10, \
             chunk_bytes 20, max_message_bytes 30, numeric '38,9', as_text 'plain_1,\"Odd, \"\"it''s\"\"\"', \
             parallel 'off')"
        );
    }

    #[test]
    fn changes_that_return_nothing_are_not_copied() {
        for sql in [
            "select 1",
            "(select 1)",
            "update t set a = 1 returning a",
            "with x as (delete from t returning a) select * from x",
            "with x as (select 1 for no key update) select * from x",
            "WITH x AS (SELECT 'update') TABLE x",
        ] {
            assert!(is_copied(sql), "{sql}");
        }
        for sql in [
            "update t set a = 1",
            "insert into t values ('returning')",
            "with x as (select 1) delete from t",
            "show all",
        ] {
            assert!(!is_copied(sql), "{sql}");
        }
    }

    #[test]
    fn errors_do_not_speak_of_the_copy() {
        let query = "select é";
        let sent = copy(query, &QueryOptions::default()).unwrap();
        let of = |sqlstate: &str, message: &str, position| {
            copied(query)
                .unwrap()
                .error(Error::new(ErrorKind::Database, message).with_sqlstate(sqlstate).with_position(position))
        };
        let open = format!("unterminated quoted string at or near \"'x{}\"", sent.split_once('é').unwrap().1);
        assert_eq!(of(SYNTAX, &open, Some(14)).message(), "unterminated quoted string at or near \"'x\"");
        let found = of(SYNTAX, "syntax error at or near \"TO\"", Some(18));
        assert_eq!((found.message(), found.position()), ("syntax error at end of input", Some((8, Some(query)))));
        let near = Error::new(ErrorKind::Database, "syntax error at or near \")\"").with_sqlstate(SYNTAX);
        let found = copied("select 1)").unwrap().error(near.with_position(Some(18)));
        assert_eq!((found.message(), found.position().unwrap().0), ("syntax error at or near \")\"", 8));
        assert_eq!(of("42703", "column x", Some(14)).position(), Some((7, Some(query))));
        assert_eq!(
            of("0A000", "conditional DO INSTEAD rules are not supported for COPY", None).hint().unwrap().len(),
            37
        );
        let several = Error::new(ErrorKind::Database, "").with_sqlstate(SYNTAX).with_position(Some(15));
        assert_eq!(
            copied("select 1; select 2").unwrap().error(several).message(),
            Error::several_statements().message()
        );
    }

    #[test]
    fn what_cannot_be_asked_is_refused() {
        let none = QueryOptions { chunk_rows: Some(0), ..QueryOptions::default() };
        assert!(copy("select 1", &none).is_err());
        for numeric in [(0, 0), (77, 0), (5, 6)] {
            let odd = QueryOptions { numeric: Some(numeric), ..QueryOptions::default() };
            assert!(copy("select 1", &odd).is_err());
        }
        assert!(copy(" ; -- nothing", &QueryOptions::default()).is_err());
    }
}
