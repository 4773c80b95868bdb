//! The column by which a result is cut, and the errors of what cannot be cut.

use crate::{Error, ErrorKind};

/// Finds the column that a user calls `name`. `label` returns the name of a column; `same` compares two names like the
/// database.
///
/// # Errors
/// `Usage` if there is none, or more than one.
pub(crate) fn find<'a, C>(
    columns: &'a [C],
    name: &str,
    label: impl Fn(&C) -> &str,
    same: impl Fn(&str, &str) -> bool,
) -> Result<&'a C, Error> {
    known(columns, name, &label, &same)?;
    let found: Vec<_> = columns.iter().filter(|column| same(label(column), name)).collect();
    match found[..] {
        [column] => Ok(column),
        _ => Err(Error::new(
            ErrorKind::Usage,
            format!("the result has {} columns named {name:?}, so it has no parts by it: rename one", found.len()),
        )),
    }
}

/// Checks that there is a column that a user calls `name`.
///
/// # Errors
/// `Usage` if there is none.
pub(crate) fn known<C>(
    columns: &[C],
    name: &str,
    label: impl Fn(&C) -> &str,
    same: impl Fn(&str, &str) -> bool,
) -> Result<(), Error> {
    if columns.iter().any(|column| same(label(column), name)) {
        return Ok(());
    }
    let names: Vec<_> = columns.iter().map(|column| format!("{:?}", label(column))).collect();
    let message = format!("the result has no column {name:?} to make parts by: it has {}", names.join(", "));
    Err(Error::new(ErrorKind::Usage, message))
}

/// The error of something that the source or the database cannot do.
pub(crate) fn unsupported(message: &str) -> Error {
    Error::new(ErrorKind::Unsupported, message)
}

/// The error of keys without an order.
pub(crate) fn without_order(column: &str, type_name: &str) -> Error {
    unsupported(&format!("column {column:?} of type {type_name} cannot make parts"))
        .with_hint("partition_on takes a column of numbers, dates, timestamps, texts or UUIDs")
}

/// The error of a connection in a transaction, whose changes siblings would not see.
pub(crate) fn in_transaction() -> Error {
    unsupported("the connection is within a transaction, whose changes other connections cannot see")
        .with_hint("commit first, or read without partition_num")
}
