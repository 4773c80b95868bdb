//! The names that CREATE TABLE gives to constraints, which DuckDB drops.
//!
//! The table keeps them in one more constraint, a check that is always true: `CHECK ('constraint names {…}' IS NOT NULL)`.
//! So they are stored, changed, exported and dropped with the table, and other programs ignore them. The text is an
//! object of JSON: for each kind of which one has a name, the names of all of this kind in their order, `null` for those
//! without one. `catalog.sql` reads it.

use colonnade_server::caller::json_text;
use colonnade_sql::edit::Edits;
use colonnade_sql::{Dialect, Reading, Token, closing, quote};

use crate::created_list::CreatedList;

/// What the text begins with.
const MARK: &str = "'constraint names {";
/// Primary keys, unique constraints, foreign keys, checks.
const KINDS: [char; 4] = ['p', 'u', 'f', 'c'];

/// Adds the check, if a constraint has a name.
pub(crate) fn edits(statement: &Reading<'_>) -> Edits {
    let mut edits = Edits::default();
    let tokens = statement.tokens();
    if let Some((at, names)) = named(tokens)
        && !statement.text().contains(MARK)
    {
        let text = quote::string(&format!("constraint names {names}"), Dialect::DuckDb);
        edits.insert(tokens[at].start, format!(", CHECK ({text} IS NOT NULL)"));
    }
    edits
}

/// The parenthesis that ends the list of columns, and the names.
fn named(tokens: &[Token<'_>]) -> Option<(usize, String)> {
    let CreatedList { open, is_of_table: true } = CreatedList::find(tokens)? else { return None };
    let close = closing(tokens, open)?;
    let mut found: [Vec<Option<String>>; KINDS.len()] = Default::default();
    // The name before the next constraint, and whether REFERENCES belongs to one that has begun.
    let (mut name, mut is_foreign) = (None, false);
    let mut at = open + 1;
    while at < close {
        let (token, is_next) = (&tokens[at], |word| tokens[at + 1].is_word(word));
        let kind = match () {
            () if token.is_word("constraint") => {
                name = tokens[at + 1].name().map(|_| tokens[at + 1].folded().into_owned());
                at += 2;
                continue;
            }
            () if token.is_word("primary") && is_next("key") => 'p',
            () if token.is_word("unique") => 'u',
            () if token.is_word("foreign") && is_next("key") => 'f',
            () if token.is_word("references") && !is_foreign => 'f',
            () if token.is_word("check") => 'c',
            () => {
                // Another one, such as NOT NULL.
                if token.is_one_of(&["not", "null", "default", "generated"]) {
                    name = None;
                }
                if token.is_symbol(b',') {
                    (name, is_foreign) = (None, false);
                }
                at = if token.is_symbol(b'(') { closing(tokens, at)? } else { at } + 1;
                continue;
            }
        };
        is_foreign = token.is_word("foreign");
        let place = KINDS.iter().position(|known| *known == kind)?;
        found[place].push(name.take());
        at += 1;
    }
    let kinds = KINDS.iter().zip(&found).filter(|(_, names)| names.iter().any(Option::is_some));
    let members = kinds.map(|(kind, names)| {
        let names = names.iter().map(|name| name.as_deref().map_or_else(|| "null".to_owned(), json_text));
        format!("\"{kind}\":[{}]", names.collect::<Vec<_>>().join(","))
    });
    let members = members.collect::<Vec<_>>().join(",");
    (!members.is_empty()).then(|| (close, format!("{{{members}}}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(statement: &str) -> String {
        edits(&Reading::new(statement, Dialect::DuckDb)).apply(statement).text.into_owned()
    }

    #[test]
    fn the_table_keeps_the_names() {
        for (columns, names) in [
            ("a int CONSTRAINT A_key UNIQUE", r#"{"u":["a_key"]}"#),
            ("a int primary key, b int, constraint \"o'k\" check (a < (b)), check (b > 0)", r#"{"c":["o''k",null]}"#),
            (
                "a int constraint n not null check (a > 0) references t, constraint f foreign key (a) references t (b)",
                r#"{"f":[null,"f"]}"#,
            ),
            ("a int constraint p primary key constraint u unique, unique (a, b)", r#"{"p":["p"],"u":["u",null]}"#),
            ("a numeric(9, 2) default (1) constraint c check (a in (1, 2)) unique", r#"{"c":["c"]}"#),
        ] {
            let given = format!("create temp table if not exists s.t ({columns}) ");
            let expected = format!(
                "create temp table if not exists s.t ({columns}, CHECK ('constraint names {names}' IS NOT NULL)) "
            );
            assert_eq!(rewritten(&given), expected);
            assert_eq!(rewritten(&expected), expected);
        }
    }

    #[test]
    fn other_statements_stay() {
        for given in [
            "create table t (a int primary key, unique (a), check (a > 0), \"constraint\" int)",
            "create table t (a int constraint n not null, b int)",
            "create table t as (select a as constraint, b as check from u)",
            "alter table t add constraint u unique (a)",
            "create table t (a int constraint u unique",
            "create table t",
            "create index i on t (a)",
        ] {
            assert_eq!(rewritten(given), given);
        }
    }
}
