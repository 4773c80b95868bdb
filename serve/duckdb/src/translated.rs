//! A client's statement in DuckDB's SQL, with a map of positions to the client's text.

use colonnade_server::EngineError;
use colonnade_sql::edit::{Edited, Edits, PositionMap};

use crate::{ServedDatabase, catalog, errors, literal, rows};

/// A statement in DuckDB's SQL.
#[derive(Clone, Debug, Default)]
pub struct Translated {
    /// Its text.
    pub text: String,
    /// Maps positions to the client's text.
    map: PositionMap,
}

impl Translated {
    /// Translates a statement of a client of PostgreSQL.
    pub fn new(statement: &str, served: &ServedDatabase) -> Self {
        Self::of(statement).translated(served)
    }

    /// A statement that is in DuckDB's SQL already.
    pub(crate) fn of(statement: &str) -> Self {
        Self { text: statement.to_owned(), map: PositionMap::default() }
    }

    /// Translates PostgreSQL's SQL in it into DuckDB's.
    pub(crate) fn translated(self, served: &ServedDatabase) -> Self {
        self.edited(catalog::arrows)
            .edited(catalog::jsonb_operators)
            .edited(|text| catalog::edits(text, &served.catalog))
            .edited(rows::edits)
            .edited(literal::edits)
            .edited(|text| served.edits(text))
    }

    /// The statement after a change.
    pub(crate) fn edited(self, edits: impl FnOnce(&str) -> Edits) -> Self {
        let edits = edits(&self.text);
        if edits.is_empty() {
            return self;
        }
        let Edited { text, map } = edits.apply(&self.text);
        Self { text: text.into_owned(), map: self.map.then(map) }
    }

    /// The position in the client's statement, in characters from 0, for a position in this one.
    pub fn position(&self, character: usize) -> usize {
        self.map.old_character(character)
    }

    /// Makes an error with an SQLSTATE of DuckDB's error text. Its position is in the client's text.
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
        let served = ServedDatabase { database: "shop".to_owned(), ..ServedDatabase::default() };
        let sql = "select '{1}'::int4[], '\\x00'::bytea from public.t, pg_catalog.pg_class where nope = 1";
        let translated = Translated::new(sql, &served);
        assert_eq!(
            translated.text,
            "select CAST(system.main.list_value('1') AS int4[]), system.main.unhex('00') from main.t, pg_catalog.pg_class where nope = 1"
        );
        let text = "Binder Error: Referenced column \"nope\" not found in FROM clause!";
        assert_eq!(translated.error(text).position, sql.find("nope"));
        let plain = Translated::new("select é, nope", &served);
        assert_eq!((plain.map.clone(), plain.error(text).position), (PositionMap::default(), Some(10)));
    }
}
