//! Which constraint of which table a statement has violated, as PostgreSQL's errors say in fields of their own.
//!
//! DuckDB's texts name a part of that: the column of NOT NULL, the expression of a check, the columns of a key. The table
//! is the one that the statement changes. The names are those of `pg_constraint` and `pg_index`, so the constraint is
//! looked up there. If several fit, or none, the fields stay empty.

use colonnade_server::EngineError;
use colonnade_server::engine::ErrorObject;
use colonnade_sql::{Dialect, Statement, code};

use crate::repeated::changed_table;
use crate::{LibraryConnection, TranslatingSession};

/// A constraint or a unique index of a table, or a foreign key that refers to the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableConstraint {
    /// As in `pg_constraint`: `p`, `u`, `f` or `c`; `n` for NOT NULL.
    pub kind: String,
    /// Its name. PostgreSQL 15 has none for NOT NULL.
    pub name: String,
    /// The schema of its table, as clients see it.
    pub schema: String,
    /// Its table.
    pub table: String,
    /// Its columns.
    pub columns: Vec<String>,
    /// The expression of a check.
    pub expression: Option<String>,
    /// The table to which a foreign key refers.
    pub referenced_table: Option<String>,
    /// The columns to which it refers.
    pub referenced_columns: Vec<String>,
    /// Whether its table is temporary.
    pub is_temporary: bool,
}

/// What DuckDB's text says of a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Violation<'a> {
    NotNull {
        table: &'a str,
        column: &'a str,
    },
    Check {
        table: &'a str,
        expression: &'a str,
    },
    /// The columns of a key and their values: `a: 1, b: 2`.
    PrimaryKey(&'a str),
    Unique(&'a str),
    /// The columns to which the foreign key refers.
    MissingKey(&'a str),
    /// The columns of the foreign key, which may be another table's.
    ReferencedKey(&'a str),
}

impl<'a> Violation<'a> {
    fn read(message: &'a str) -> Option<Self> {
        let text = message.strip_prefix("Constraint Error: ")?;
        if let Some(place) = text.strip_prefix("NOT NULL constraint failed: ") {
            // A column's name with a point in it is told from a schema's by the length of the whole only.
            let (table, column) = place.split_once('.')?;
            return (!column.contains('.')).then_some(Self::NotNull { table, column });
        }
        if let Some(place) = text.strip_prefix("CHECK constraint failed on table \"") {
            let (table, expression) = place.split_once("\" with expression CHECK(")?;
            return Some(Self::Check { table, expression: expression.strip_suffix(')')? });
        }
        let key = |before: &str, after: &str| Some(text.strip_prefix(before)?.rsplit_once(after)?.0);
        let foreign = "Violates foreign key constraint because key \"";
        key("Duplicate key \"", "\" violates primary key constraint")
            .map(Self::PrimaryKey)
            .or_else(|| key("Duplicate key \"", "\" violates unique constraint").map(Self::Unique))
            .or_else(|| key(foreign, "\" does not exist in the referenced table").map(Self::MissingKey))
            .or_else(|| key(foreign, "\" is still referenced by a foreign key").map(Self::ReferencedKey))
    }

    /// Whether a constraint of or to the table `target` may be the violated one.
    fn fits(self, constraint: &TableConstraint, target: &str) -> bool {
        let is_own = constraint.table.eq_ignore_ascii_case(target);
        match self {
            Self::NotNull { column, .. } => is_own && constraint.kind == "n" && constraint.columns == [column],
            Self::Check { expression, .. } => {
                is_own && constraint.kind == "c" && constraint.expression.as_deref() == Some(expression)
            }
            Self::PrimaryKey(_) => is_own && constraint.kind == "p",
            Self::Unique(key) => is_own && constraint.kind == "u" && has_columns(key, &constraint.columns),
            Self::MissingKey(key) => {
                is_own && constraint.kind == "f" && has_columns(key, &constraint.referenced_columns)
            }
            Self::ReferencedKey(key) => {
                let refers = |table: &String| table.eq_ignore_ascii_case(target);
                constraint.kind == "f"
                    && constraint.referenced_table.as_ref().is_some_and(refers)
                    && has_columns(key, &constraint.columns)
            }
        }
    }
}

/// Whether a key has these columns, in this order. A value may look like another column, so several lists may fit.
fn has_columns(key: &str, columns: &[String]) -> bool {
    let [first, others @ ..] = columns else { return false };
    let Some(mut rest) = key.strip_prefix(first.as_str()).and_then(|rest| rest.strip_prefix(": ")) else {
        return false;
    };
    for column in others {
        let Some((_, after)) = rest.split_once(&format!(", {column}: ")) else { return false };
        rest = after;
    }
    true
}

/// The schema in a table's name, if it has one, and its last part.
fn parts(table: &str) -> (Option<String>, String) {
    let mut names: Vec<_> = code(table, Dialect::DuckDb)
        .filter(|token| !token.is_symbol(b'.'))
        .map(|token| token.folded().into_owned())
        .collect();
    let last = names.pop().unwrap_or_default();
    (names.pop(), last)
}

/// The object of an error, if the constraints of and to the table decide it.
fn object(violation: Violation<'_>, target: &str, constraints: &[TableConstraint]) -> ErrorObject {
    let (schema, table) = parts(target);
    let fitting = || constraints.iter().filter(|constraint| violation.fits(constraint, &table));
    // A temporary table stands in front of others.
    let is_temporary = schema.is_none() && fitting().any(|constraint| constraint.is_temporary);
    let found: Vec<_> = fitting()
        .filter(|constraint| {
            let is_in = |schema: &String| schema.eq_ignore_ascii_case(&constraint.schema);
            schema.as_ref().is_none_or(is_in) && (constraint.is_temporary || !is_temporary)
        })
        .collect();
    let common = |field: fn(&TableConstraint) -> &String| {
        let first = field(found.first()?);
        found.iter().all(|other| field(other) == first).then(|| first.clone())
    };
    let column = match violation {
        Violation::NotNull { column, .. } => Some(column.to_owned()),
        _ => None,
    };
    // The constraint that is still referenced may be another table's.
    let own = Some(table).filter(|_| !matches!(violation, Violation::ReferencedKey(_)));
    ErrorObject {
        schema: common(|constraint| &constraint.schema).or(schema),
        table: common(|constraint| &constraint.table).or(own),
        constraint: common(|constraint| &constraint.name).filter(|_| column.is_none()),
        column,
    }
}

impl<C: LibraryConnection> TranslatingSession<C> {
    /// The error of a statement, with the constraint that it has violated.
    pub(crate) fn with_violated(&mut self, error: EngineError, statement: &Statement<'_>) -> EngineError {
        self.with_violated_of(error, || changed_table(&statement.kind, statement.text).map(str::to_owned))
    }

    /// The same, of a statement that changes this table.
    pub(crate) fn with_violated_of(
        &mut self,
        error: EngineError,
        target: impl FnOnce() -> Option<String>,
    ) -> EngineError {
        let Some(violation) = Violation::read(&error.message) else { return error };
        let target = target().unwrap_or_else(|| match violation {
            Violation::NotNull { table, .. } | Violation::Check { table, .. } => table.to_owned(),
            _ => String::new(),
        });
        if target.is_empty() {
            return error;
        }
        // The error of the statement counts, and not one of this query.
        let constraints = self.connection.library().constraints(&parts(&target).1).unwrap_or_default();
        let object = Some(Box::new(object(violation, &target, &constraints)));
        EngineError { object, ..error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn constraint(kind: &str, name: &str, schema: &str, table: &str, columns: &[&str]) -> TableConstraint {
        TableConstraint {
            kind: kind.to_owned(),
            name: name.to_owned(),
            schema: schema.to_owned(),
            table: table.to_owned(),
            columns: columns.iter().map(|column| (*column).to_owned()).collect(),
            ..TableConstraint::default()
        }
    }

    fn found(text: &str, target: &str, constraints: &[TableConstraint]) -> (String, String) {
        let text = format!("Constraint Error: {text}");
        let object = object(Violation::read(&text).unwrap(), target, constraints);
        (object.schema.unwrap_or_default(), object.constraint.unwrap_or_default())
    }

    #[test]
    fn a_key_is_found_by_its_columns() {
        let constraints = [
            constraint("u", "one", "s", "t", &["a"]),
            constraint("u", "two", "s", "t", &["a", "b c"]),
            constraint("u", "other", "s", "t", &["b c"]),
            constraint("p", "key", "s", "t", &["a"]),
        ];
        let unique =
            |key: &str| found(&format!("Duplicate key \"{key}\" violates unique constraint."), "t", &constraints);
        assert_eq!(unique("b c: 1"), ("s".to_owned(), "other".to_owned()));
        assert_eq!(unique("a: 1"), ("s".to_owned(), "one".to_owned()));
        // The value of one column, or the values of two.
        assert_eq!(unique("a: 1, b c: 2").1, "");
        assert_eq!(found("Duplicate key \"a: x\"y\" violates primary key constraint.", "T", &constraints).1, "key");
    }

    #[test]
    fn a_table_of_several_schemas_is_found_by_its_schema_or_as_a_temporary_one() {
        let temporary =
            TableConstraint { is_temporary: true, ..constraint("p", "temporary", "pg_temp_1", "t", &["a"]) };
        let (one, two) = (constraint("p", "one", "a", "t", &["a"]), constraint("p", "two", "b", "t", &["a"]));
        let text = "Duplicate key \"a: 1\" violates primary key constraint.";
        assert_eq!(found(text, "t", &[one.clone(), two.clone()]), (String::new(), String::new()));
        let named_alike = TableConstraint { name: one.name.clone(), ..two.clone() };
        assert_eq!(found(text, "t", &[one.clone(), named_alike]), (String::new(), "one".to_owned()));
        assert_eq!(found(text, "B.t", &[one.clone(), two.clone()]).1, "two");
        assert_eq!(found(text, "shop.\"a\".t", &[one.clone(), two.clone(), temporary.clone()]).1, "one");
        assert_eq!(found(text, "t", &[one, two, temporary]).1, "temporary");
    }

    #[test]
    fn foreign_keys_are_of_the_table_or_refer_to_it() {
        let key = TableConstraint {
            referenced_table: Some("t".to_owned()),
            referenced_columns: vec!["a".to_owned()],
            ..constraint("f", "r_x_fkey", "s", "r", &["x"])
        };
        let missing = "Violates foreign key constraint because key \"a: 7\" does not exist in the referenced table";
        let referenced = "Violates foreign key constraint because key \"x: 7\" is still referenced by a foreign key in a \
                          different table. If this";
        assert_eq!(found(missing, "r", std::slice::from_ref(&key)).1, "r_x_fkey");
        assert_eq!(found(missing, "t", std::slice::from_ref(&key)).1, "");
        assert_eq!(found(referenced, "t", std::slice::from_ref(&key)).1, "r_x_fkey");
        assert_eq!(found(referenced, "r", &[key]).1, "");
    }

    #[test]
    fn columns_and_checks_have_their_texts() {
        let not_null = Violation::read("Constraint Error: NOT NULL constraint failed: t.b c").unwrap();
        let nullable = constraint("n", "t_b c_not_null", "s", "t", &["b c"]);
        let object = object(not_null, "t", &[nullable]);
        assert_eq!(
            (object.schema.as_deref(), object.column.as_deref(), object.constraint),
            (Some("s"), Some("b c"), None)
        );
        assert_eq!(Violation::read("Constraint Error: NOT NULL constraint failed: t.b.c"), None);
        let check =
            TableConstraint { expression: Some("(a > 0)".to_owned()), ..constraint("c", "c", "s", "t", &["a"]) };
        let text = "CHECK constraint failed on table \"t\" with expression CHECK((a > 0))";
        assert_eq!(found(text, "t", std::slice::from_ref(&check)).1, "c");
        let other = TableConstraint { name: "d".to_owned(), ..check.clone() };
        assert_eq!(found(text, "t", &[check, other]).1, "");
    }
}
