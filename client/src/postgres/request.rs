//! The COPY statement that asks for a stream. PROTOCOL §2.

use std::fmt::Write as _;

use colonnade_wire::Config;

use crate::scan::statement;
use crate::{Error, ErrorKind, QueryOptions};

/// The format's version that this client reads.
pub(crate) const VERSION: u32 = 1;

/// `COPY (query) TO STDOUT (…)`.
///
/// # Errors
/// There is no statement in `sql`, or `compression` is none that exists.
pub(crate) fn copy(sql: &str, options: &QueryOptions) -> Result<String, Error> {
    let query = statement(sql);
    if query.is_empty() {
        return Err(Error::new(ErrorKind::Usage, "the query is empty"));
    }
    // The line break ends a comment in the query's last line.
    let mut copy = format!("COPY (\n{query}\n) TO STDOUT (FORMAT colonnade, version {VERSION}");
    if let Some(compression) = &options.compression {
        if compression != "auto" {
            compression
                .parse::<Config>()
                .map_err(|unknown| Error::new(ErrorKind::Usage, format!("{unknown}, or auto")).with_cause(unknown))?;
        }
        push(&mut copy, "compression", format_args!("'{compression}'"));
    }
    for (name, value) in [
        ("chunk_rows", options.chunk_rows.map(u64::from)),
        ("chunk_bytes", options.chunk_bytes),
        ("max_message_bytes", options.max_message_bytes),
    ] {
        match value {
            Some(0) => return Err(Error::new(ErrorKind::Usage, format!("{name} must be at least 1"))),
            Some(value) => push(&mut copy, name, format_args!("{value}")),
            None => {}
        }
    }
    copy.push(')');
    Ok(copy)
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
        let plain = copy("select 1; -- x", &QueryOptions::default()).unwrap();
        assert_eq!(plain, "COPY (\nselect 1\n) TO STDOUT (FORMAT colonnade, version 1)");
        let options = QueryOptions {
            compression: Some("light+zstd-3".to_owned()),
            chunk_rows: Some(10),
            chunk_bytes: Some(20),
            max_message_bytes: Some(30),
        };
        assert_eq!(
            copy("table t", &options).unwrap(),
            "COPY (\ntable t\n) TO STDOUT (FORMAT colonnade, version 1, compression 'light+zstd-3', chunk_rows 10, \
             chunk_bytes 20, max_message_bytes 30)"
        );
    }

    #[test]
    fn what_cannot_be_asked_is_refused() {
        let bad = QueryOptions { compression: Some("x', oops '".to_owned()), ..QueryOptions::default() };
        assert!(copy("select 1", &bad).unwrap_err().message().contains("or auto"));
        let none = QueryOptions { chunk_rows: Some(0), ..QueryOptions::default() };
        assert!(copy("select 1", &none).is_err());
        assert!(copy(" ; -- nothing", &QueryOptions::default()).is_err());
    }
}
