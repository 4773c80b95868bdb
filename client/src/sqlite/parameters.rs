//! Binds values to the placeholders that SQLite finds in a statement.
//! <https://www.sqlite.org/lang_expr.html#parameters>

use super::library::{Database, SqliteStatement};
use crate::literal::sqlite::atom;
use crate::parameter::unused;
use crate::{Error, ErrorKind, Parameters, Value};

/// Compiles the first statement of `sql` and binds its values. Returns it and the text after it.
///
/// # Errors
/// The statement is wrong; a placeholder without a value, or a value without a placeholder.
pub(super) fn prepare<'d, 's>(
    database: &'d Database,
    sql: &'s str,
    parameters: Option<&Parameters>,
) -> Result<(Option<SqliteStatement<'d>>, &'s str), Error> {
    let (mut statement, rest) = database.prepare(sql)?;
    let mut used = vec![false; parameters.map_or(0, Parameters::len)];
    if let Some(statement) = &mut statement {
        for place in 1..=statement.parameters() {
            let name = statement.parameter(place);
            let (index, value) = find(parameters, name.as_deref())?;
            used[index] = true;
            let refused = |what| usage(format!("parameter {}: {what}", name.as_deref().unwrap_or("?")));
            statement.bind(place, &atom(value).map_err(refused)?)?;
        }
    }
    if let (Some(index), Some(parameters)) = (used.iter().position(|used| !used), parameters) {
        return Err(unused(parameters.name(index)));
    }
    Ok((statement, rest))
}

/// The value for the placeholder of this name, including `$`; `?` has no name.
fn find<'p>(parameters: Option<&'p Parameters>, name: Option<&str>) -> Result<(usize, &'p Value), Error> {
    let name = name.and_then(|name| name.strip_prefix('$'));
    let (Some(parameters), Some(name)) = (parameters, name) else {
        return Err(usage("the query has a placeholder without a value".to_owned())
            .with_hint("write placeholders as $1 or $name, and give a value for each"));
    };
    parameters.value(name)
}

fn usage(message: String) -> Error {
    Error::new(ErrorKind::Usage, message)
}
