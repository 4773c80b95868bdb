//! The column that a result is cut by, and what cannot be cut.

use crate::{Error, ErrorKind};

/// The column that a user calls `name`, among columns of which `label` tells the names; `same` compares two names as the database does.
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

/// That there is a column that a user calls `name`.
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

/// What the source or the database cannot do.
pub(crate) fn unsupported(message: &str) -> Error {
    Error::new(ErrorKind::Unsupported, message)
}

/// The keys have no order to cut by.
pub(crate) fn without_order(column: &str, type_name: &str) -> Error {
    unsupported(&format!("column {column:?} of type {type_name} cannot make parts"))
        .with_hint("partition_on takes a column of numbers, dates, timestamps, texts or UUIDs")
}

/// Siblings would not see what the connection has changed.
pub(crate) fn in_transaction() -> Error {
    unsupported("the connection is within a transaction, whose changes other connections cannot see")
        .with_hint("commit first, or read without partition_num")
}
