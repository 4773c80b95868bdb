//! The client's errors as ADBC's.

use std::ffi::c_char;

use adbc_core::error::{Error, Status};
use colonnade_client::{self as client, ErrorKind, printable};

/// Characters of a SQLSTATE.
const SQLSTATE: usize = 5;

/// The key of an error's detail with the database's own number. A program of ADBC 1.1 gets the number only there,
/// because the field for it has a mark that there are details (`adbc.h`).
const VENDOR_CODE: &str = "vendor_code";

/// Statuses by SQLSTATE: the first row counts whose text is the beginning. Five characters are PostgreSQL's or MySQL's
/// own states, two a class of the standard. <https://www.postgresql.org/docs/current/errcodes-appendix.html>,
/// <https://dev.mysql.com/doc/mysql-errors/8.4/en/server-error-reference.html>
const BY_SQLSTATE: [(&str, Status); 38] = [
    ("42501", Status::Unauthorized),
    // A name that does not exist: a table, a column, a function, any other object.
    ("42P01", Status::NotFound),
    ("42703", Status::NotFound),
    ("42883", Status::NotFound),
    ("42704", Status::NotFound),
    ("42S02", Status::NotFound),
    ("42S22", Status::NotFound),
    // A name that exists: a database, a schema, a table, a column, a function, any other object.
    ("42P04", Status::AlreadyExists),
    ("42P06", Status::AlreadyExists),
    ("42P07", Status::AlreadyExists),
    ("42701", Status::AlreadyExists),
    ("42723", Status::AlreadyExists),
    ("42710", Status::AlreadyExists),
    ("42S01", Status::AlreadyExists),
    // A statement was stopped: PostgreSQL's state, and MySQL's.
    ("57014", Status::Cancelled),
    ("70100", Status::Cancelled),
    ("08", Status::IO),
    ("0A", Status::NotImplemented),
    ("21", Status::InvalidData),
    ("22", Status::InvalidData),
    ("23", Status::Integrity),
    ("24", Status::InvalidState),
    ("25", Status::InvalidState),
    ("26", Status::InvalidState),
    ("28", Status::Unauthenticated),
    ("2B", Status::InvalidState),
    ("2D", Status::InvalidState),
    ("34", Status::NotFound),
    ("3D", Status::NotFound),
    ("3F", Status::NotFound),
    ("42", Status::InvalidArguments),
    ("44", Status::Integrity),
    ("53", Status::IO),
    ("54", Status::InvalidArguments),
    ("55", Status::InvalidState),
    ("57", Status::IO),
    ("58", Status::IO),
    ("XX", Status::Internal),
];

/// An error that this driver finds itself.
pub(crate) fn refused(status: Status, message: impl Into<String>) -> Error {
    Error::with_message_and_status(message, status)
}

/// What ADBC has and this driver does not, with what to do instead.
pub(crate) fn not_implemented(message: &str) -> Error {
    refused(Status::NotImplemented, message)
}

/// The same with a SQLSTATE.
pub(crate) fn with_sqlstate(mut error: Error, sqlstate: &str) -> Error {
    if let Ok(bytes) = <[u8; SQLSTATE]>::try_from(sqlstate.as_bytes()) {
        error.sqlstate = bytes.map(|byte| byte as c_char);
    }
    error
}

/// The client's error. Its message has the detail and the hint, each on a line of its own.
pub(crate) fn converted(error: &client::Error) -> Error {
    let mut message = printable(error.message(), true).into_owned();
    for (name, more) in [("detail", error.detail()), ("hint", error.hint()), ("source", error.origin())] {
        if let Some(more) = more {
            message.push_str(&format!("\n{name}: {}", printable(more, true)));
        }
    }
    let mut converted = refused(status(error), message);
    if let Some(code) = error.code() {
        converted.vendor_code = code;
        converted.details = Some(vec![(VENDOR_CODE.to_owned(), code.to_string().into_bytes())]);
    }
    error.sqlstate().into_iter().fold(converted, with_sqlstate)
}

/// By SQLSTATE, if there is one of a known class, otherwise by what failed.
fn status(error: &client::Error) -> Status {
    let sqlstate = error.sqlstate().unwrap_or_default();
    let found = BY_SQLSTATE.iter().find(|(state, _)| sqlstate.starts_with(state));
    found.map_or_else(|| by_kind(error.kind()), |(_, status)| *status)
}

fn by_kind(kind: ErrorKind) -> Status {
    match kind {
        ErrorKind::Usage => Status::InvalidArguments,
        ErrorKind::Connect | ErrorKind::ConnectionLost => Status::IO,
        ErrorKind::Protocol => Status::Internal,
        ErrorKind::Unsupported => Status::NotImplemented,
        ErrorKind::Limit => Status::InvalidData,
        ErrorKind::Interrupted => Status::Cancelled,
        ErrorKind::Unavailable => Status::InvalidState,
        _ => Status::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sqlstate: &str) -> Error {
        converted(&client::Error::new(ErrorKind::Database, "it failed").with_sqlstate(sqlstate))
    }

    #[test]
    fn the_sqlstate_gives_the_status() {
        for (sqlstate, status) in [
            ("42P01", Status::NotFound),
            ("42601", Status::InvalidArguments),
            ("42501", Status::Unauthorized),
            ("23505", Status::Integrity),
            ("57014", Status::Cancelled),
            ("57P01", Status::IO),
            ("28P01", Status::Unauthenticated),
            ("HY000", Status::Unknown),
        ] {
            assert_eq!(of(sqlstate).status, status, "{sqlstate}");
        }
        assert_eq!(of("42P01").sqlstate.map(|byte| byte as u8), *b"42P01");
    }

    #[test]
    fn the_databases_number_is_kept() {
        let converted = converted(&client::Error::new(ErrorKind::Database, "it failed").with_code(-1064));
        assert_eq!(converted.vendor_code, -1064);
        assert_eq!(converted.details, Some(vec![("vendor_code".to_owned(), b"-1064".to_vec())]));
        assert_eq!((of("42601").vendor_code, of("42601").details), (0, None));
    }

    #[test]
    fn a_class_stands_behind_its_own_states() {
        for (place, (state, _)) in BY_SQLSTATE.iter().enumerate() {
            let earlier = &BY_SQLSTATE[..place];
            assert!(!earlier.iter().any(|(other, _)| state.starts_with(other)), "{state} is never found");
        }
    }

    #[test]
    fn the_message_has_what_a_user_needs() {
        let error = client::Error::new(ErrorKind::Usage, "it is wrong").with_hint("write\0 it right");
        let converted = converted(&error.with_detail(Some("so wrong".to_owned())).with_origin("sqlite:///a"));
        assert_eq!(converted.status, Status::InvalidArguments);
        assert!(converted.message.starts_with("it is wrong\ndetail: so wrong\nhint: write"));
        assert!(converted.message.ends_with("source: sqlite:///a"));
        // A C string ends at a NUL.
        assert!(!converted.message.contains('\0'));
        assert_eq!(converted.sqlstate, [0; SQLSTATE]);
    }
}
