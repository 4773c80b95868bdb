//! A client's statement in DuckDB's SQL, with a map of positions to the client's text.

use colonnade_server::EngineError;
use colonnade_sql::edit::{Edited, Edits, PositionMap};
use colonnade_sql::{Dialect, Reading};

use crate::{ServedDatabase, catalog, constraint_names, divisions, errors, literal, rows, spellings, unconstrained};

/// Changes a part of PostgreSQL's SQL into DuckDB's.
type Pass = fn(&Reading<'_>, &ServedDatabase) -> Edits;

/// The passes, in order: each one reads what those before it have written.
const PASSES: [Pass; 10] = [
    |statement, _| catalog::arrows(statement),
    |statement, _| catalog::jsonb_operators(statement),
    |statement, served| catalog::edits(statement, &served.catalog),
    |statement, _| rows::edits(statement),
    |statement, _| spellings::edits(statement),
    |statement, _| divisions::edits(statement),
    |statement, _| literal::edits(statement),
    |statement, _| unconstrained::edits(statement),
    |statement, _| constraint_names::edits(statement),
    |statement, served| served.edits(statement),
];

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

    /// Translates PostgreSQL's SQL in it into DuckDB's. The passes share its tokens until one changes the text.
    pub(crate) fn translated(mut self, served: &ServedDatabase) -> Self {
        let mut passes = PASSES.iter();
        while let Some(edits) = {
            let reading = Reading::new(&self.text, Dialect::DuckDb);
            passes.by_ref().map(|pass| pass(&reading, served)).find(|edits| !edits.is_empty())
        } {
            self = self.edited(edits);
        }
        self
    }

    /// Rewrites the names of the served database in a statement that the server writes.
    pub(crate) fn with_names(self, served: &ServedDatabase) -> Self {
        let edits = served.edits(&Reading::new(&self.text, Dialect::DuckDb));
        self.edited(edits)
    }

    /// The statement after changes.
    pub(crate) fn edited(self, edits: Edits) -> Self {
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

    /// The same, of an error text about a statement that has this one after other text.
    pub fn error_after(&self, before: &str, text: &str) -> EngineError {
        let error = errors::error(text, &format!("{before}{}", self.text));
        let own = |position: usize| position.checked_sub(before.chars().count());
        EngineError { position: error.position.and_then(own).map(|position| self.position(position)), ..error }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pieces of statements that the passes change, and others.
    const PIECES: [&str; 52] = [
        "select",
        "from",
        "where",
        "and",
        "in",
        "not in",
        "=",
        "<>",
        "<",
        ">=",
        "||",
        "->",
        "->>",
        "::",
        ",",
        "(",
        ")",
        "[1]",
        "[",
        "]",
        "t",
        "public.t",
        "\"public\" . u",
        "shop.public.t",
        "pg_catalog.pg_class c",
        "pg_catalog.lower(",
        "information_schema.tables",
        "'{1,NULL}'::int4[]",
        "'\\x00ff'::bytea",
        "bytea '\\x00'",
        "any('{a,b}')",
        "any(array(select 1))",
        "'public.s'",
        "nextval('public.s')",
        "'t'::regclass",
        "cast(x as regtype)",
        "j",
        "j::jsonb",
        "'é\"'",
        "$1",
        "(a, b) = (1, '2024-01-01')",
        "(a, b) < (c, d)",
        "(a, b) in ((1, 2), (3, 4))",
        "like 'a\\%'",
        "unnest(a, b)",
        "operator(pg_catalog.~)",
        "-- x\n",
        "create index i on t using btree (a x_ops)",
        "1/0",
        "/ 0.0",
        "x::numeric",
        "create table t (a numeric",
    ];

    /// Each pass on its own, which reads the text for itself.
    fn by_single_passes(statement: &str, served: &ServedDatabase) -> Translated {
        PASSES.iter().fold(Translated::of(statement), |statement, pass| {
            let edits = pass(&Reading::new(&statement.text, Dialect::DuckDb), served);
            statement.edited(edits)
        })
    }

    proptest::proptest! {
        #[test]
        fn passes_that_share_tokens_write_what_each_pass_writes_alone(
            pieces in proptest::collection::vec(proptest::sample::select(&PIECES[..]), 0..24),
            has_public: bool,
        ) {
            let served = ServedDatabase { database: "shop".to_owned(), has_public, catalog: catalog::some_names() };
            let statement = pieces.join(" ");
            let (found, expected) = (Translated::new(&statement, &served), by_single_passes(&statement, &served));
            proptest::prop_assert_eq!(found.text, expected.text);
            proptest::prop_assert_eq!(found.map, expected.map);
        }
    }

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
