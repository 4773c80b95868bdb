//! A client's statement in DuckDB's SQL, and where its parts were in the client's text.

use std::borrow::Cow;

use colonnade_server::EngineError;
use colonnade_sql::edit::{Edited, PositionMap};

use crate::{Home, catalog, errors, literal};

/// A statement as DuckDB takes it.
#[derive(Clone, Debug, Default)]
pub struct Translated {
    /// Its text.
    pub text: String,
    /// The changes that have led to it, in their order.
    maps: Vec<PositionMap>,
}

impl Translated {
    /// A statement of a client of PostgreSQL.
    pub fn new(statement: &str, home: &Home) -> Self {
        Self::of(statement).edited(catalog::plain).edited(literal::translate).edited(|text| home.names(text))
    }

    /// A statement that is DuckDB's already.
    pub(crate) fn of(statement: &str) -> Self {
        Self { text: statement.to_owned(), maps: Vec::new() }
    }

    /// The statement after a change.
    pub(crate) fn edited(mut self, edit: impl FnOnce(&str) -> Edited<'_>) -> Self {
        let Edited { text, map } = edit(&self.text);
        if let Cow::Owned(text) = text {
            self.text = text;
            self.maps.push(map);
        }
        self
    }

    /// The character of the client's statement, from 0, for a character of this one.
    pub fn position(&self, character: usize) -> usize {
        self.maps.iter().rev().fold(character, |character, map| map.old_character(character))
    }

    /// What DuckDB said about the statement, as an error with its SQLSTATE, and its place in the client's text.
    pub fn error(&self, text: &str) -> EngineError {
        let error = errors::error(text, &self.text);
        EngineError { position: error.position.map(|position| self.position(position)), ..error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_those_of_the_clients_text() {
        let home = Home { database: "shop".to_owned(), has_public: false };
        let sql = "select '{1}'::int4[], '\\x00'::bytea from public.t, pg_catalog.pg_class where nope = 1";
        let translated = Translated::new(sql, &home);
        assert_eq!(translated.text, "select CAST(['1'] AS int4[]), unhex('00') from main  .t, pg_class where nope = 1");
        let text = "Binder Error: Referenced column \"nope\" not found in FROM clause!";
        assert_eq!(translated.error(text).position, sql.find("nope"));
        let plain = Translated::new("select é, nope", &home);
        assert_eq!((plain.maps.len(), plain.error(text).position), (0, Some(10)));
    }
}
