//! Cursors that are declared in SQL: DECLARE, FETCH, MOVE and CLOSE. They are portals, so the protocol's messages reach them by their
//! names, too; and they go forward only.

use std::sync::Arc;

use crate::engine::{Answer, EngineError, Parameter};
use crate::error::{Failure, SqlState};
use crate::lex::{Kind, Lexer, Token};
use crate::message::backend;
use crate::rows::{Cursor, Formats, Sent};
use crate::session::extended::Prepared;
use crate::session::portal::{Life, Portal};
use crate::session::prepared::PreparedStatement;
use crate::session::{BATCH, Session};

/// A statement about cursors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request<'a> {
    /// DECLARE name CURSOR FOR query.
    Declare(Declaration, &'a str),
    /// FETCH, or MOVE, which sends nothing.
    Fetch {
        name: String,
        /// How many rows, unless all.
        count: Option<u64>,
        is_move: bool,
    },
    /// CLOSE; of all if there is no name.
    Close(Option<String>),
}

/// What a cursor is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    pub name: String,
    /// Whether it outlives its transaction.
    pub is_held: bool,
}

/// Reads a statement that begins with one of these words.
///
/// # Errors
/// If it is wrong, or asks for a way back.
pub fn parse(statement: &str) -> Result<Request<'_>, Failure> {
    let mut words = Words { statement, tokens: Lexer::new(statement).collect(), at: 1 };
    match words.tokens.first() {
        Some(first) if first.is_word("declare") => words.declaration(),
        Some(first) if first.is_word("close") => {
            let name = if words.take("all") { None } else { Some(words.name()?) };
            words.end()?;
            Ok(Request::Close(name))
        }
        first => {
            let is_move = first.is_some_and(|first| first.is_word("move"));
            // A cursor may be called like a direction, if nothing else is said.
            let count = if words.tokens.len() == 2 { Some(1) } else { words.direction()? };
            if !words.take("from") {
                words.take("in");
            }
            let name = words.name()?;
            words.end()?;
            Ok(Request::Fetch { name, count, is_move })
        }
    }
}

struct Words<'a> {
    statement: &'a str,
    tokens: Vec<Token<'a>>,
    at: usize,
}

impl<'a> Words<'a> {
    fn take(&mut self, word: &str) -> bool {
        let is_next = self.tokens.get(self.at).is_some_and(|token| token.is_word(word));
        self.at += usize::from(is_next);
        is_next
    }

    fn wrong(&self) -> Failure {
        let at = self.tokens.get(self.at);
        let near = at.map_or("end of input".to_owned(), |token| format!("or near \"{}\"", token.text));
        let position = self.statement[..at.map_or(self.statement.len(), |token| token.start)].chars().count();
        let error = EngineError::new(SqlState::SYNTAX_ERROR, format!("syntax error at {near}"));
        EngineError { position: Some(position), ..error }.into()
    }

    fn name(&mut self) -> Result<String, Failure> {
        let token = self.tokens.get(self.at).filter(|token| matches!(token.kind, Kind::Word | Kind::Name));
        let name = token.map(Token::value).ok_or_else(|| self.wrong())?;
        self.at += 1;
        Ok(name)
    }

    fn end(&self) -> Result<(), Failure> {
        if self.at < self.tokens.len() { Err(self.wrong()) } else { Ok(()) }
    }

    fn declaration(mut self) -> Result<Request<'a>, Failure> {
        let name = self.name()?;
        loop {
            if self.take("no") {
                if !self.take("scroll") {
                    return Err(self.wrong());
                }
            } else if self.take("scroll") {
                return Err(Failure::NotSupported("a SCROLL cursor"));
            } else if self.take("binary") {
                return Err(Failure::NotSupported("a BINARY cursor"));
            } else if !self.take("insensitive") && !self.take("asensitive") {
                break;
            }
        }
        if !self.take("cursor") {
            return Err(self.wrong());
        }
        let is_held = self.take("with");
        if (is_held || self.take("without")) && !self.take("hold") || !self.take("for") {
            return Err(self.wrong());
        }
        let queries = ["select", "values", "with", "table", "from"];
        let first = self
            .tokens
            .get(self.at)
            .filter(|token| token.kind == Kind::Symbol(b'(') || queries.iter().any(|word| token.is_word(word)));
        let query = first.and_then(|first| self.statement.get(first.start..)).ok_or_else(|| self.wrong())?;
        Ok(Request::Declare(Declaration { name, is_held }, query))
    }

    /// How many rows forward; `None` for all.
    fn direction(&mut self) -> Result<Option<u64>, Failure> {
        const BACK: [&str; 6] = ["prior", "first", "last", "absolute", "relative", "backward"];
        if self.take("next") {
            return Ok(Some(1));
        }
        if BACK.iter().any(|word| self.take(word)) {
            return Err(Failure::Backward);
        }
        self.take("forward");
        if self.take("all") {
            return Ok(None);
        }
        match self.tokens.get(self.at).map(|token| (token.kind, token.text)) {
            Some((Kind::Symbol(b'-'), _)) => Err(Failure::Backward),
            Some((Kind::Number, number)) => {
                let count = number.parse().map_err(|_| self.wrong())?;
                self.at += 1;
                // The row where it stands, again.
                if count == 0 { Err(Failure::Backward) } else { Ok(Some(count)) }
            }
            _ => Ok(Some(1)),
        }
    }
}

impl Prepared {
    /// Ends a declared cursor, or all of them.
    fn close_cursors(&mut self, name: Option<&str>) -> Result<(), Failure> {
        match name {
            None => self.retain_portals(|portal| portal.life == Life::Protocol),
            Some(name) => drop(self.take_portal(name).map_err(|_| Failure::NoCursor(name.to_owned()))?),
        }
        Ok(())
    }
}

impl Session {
    /// Runs a statement about cursors of a simple query.
    pub fn cursors(&mut self, text: &str) -> Result<(), Failure> {
        match parse(text)? {
            Request::Declare(declaration, query) => {
                let offset = text.len() - query.len();
                self.declare(&declaration, query, &[]).map_err(|failure| shifted(failure, text, offset))
            }
            request => self.use_cursor(&request, &Formats::default(), true),
        }
    }

    /// The same for a statement that was prepared by the protocol. The text of a DECLARE is its query.
    pub fn prepared_cursors(&mut self, portal: &Portal) -> Result<(), Failure> {
        let is_waiting = self.prepared.waiting.take().is_some();
        let statement = &portal.statement;
        match &statement.declaration {
            Some(declaration) => self.declare(declaration, &statement.text, &portal.values),
            None => self.use_cursor(&parse(&statement.text)?, &portal.formats, is_waiting),
        }
    }

    fn declare(&mut self, declaration: &Declaration, query: &str, values: &[Parameter]) -> Result<(), Failure> {
        let Declaration { name, is_held } = declaration;
        let is_outside = !self.is_in_transaction() && !self.prepared.is_pipeline;
        if is_outside && !is_held {
            return Err(Failure::NoTransaction("DECLARE CURSOR"));
        }
        self.prepared.check_cursor(name)?;
        let _running = self.start()?;
        let Answer::Rows(rows) = self.query_answer(query, values, BATCH)? else {
            return Err(EngineError::no_rows().into());
        };
        let cursor = Cursor::new(rows, &Formats::default())?;
        let life = match (*is_held, is_outside) {
            (false, _) => Life::Declared,
            (true, false) => Life::Holdable,
            (true, true) => Life::Held,
        };
        let budget = &self.control.budget;
        let statement = Arc::new(budget.keep(PreparedStatement::running(query), query.len())?);
        let portal = budget.keep(Portal::declared(statement, cursor, life), name.len())?;
        self.prepared.put_portal(name, portal);
        backend::command_complete(self.output.buffer(), "DECLARE CURSOR");
        Ok(())
    }

    fn use_cursor(&mut self, request: &Request<'_>, formats: &Formats, describe: bool) -> Result<(), Failure> {
        let (name, count, is_move) = match request {
            Request::Fetch { name, count, is_move } => (name, *count, *is_move),
            Request::Close(name) => {
                self.prepared.close_cursors(name.as_deref())?;
                let tag = if name.is_some() { "CLOSE CURSOR" } else { "CLOSE CURSOR ALL" };
                backend::command_complete(self.output.buffer(), tag);
                return Ok(());
            }
            Request::Declare(..) => return Err(Failure::NotSupported("DECLARE in this place")),
        };
        let _running = self.start()?;
        // It is out of the way while it runs, since it may be the very one that must not be set aside.
        let mut portal = self.prepared.take_portal(name).map_err(|_| Failure::NoCursor(name.clone()))?;
        let rows = match portal.cursor() {
            None => Err(Failure::PortalDone(name.clone())),
            Some(cursor) if is_move => cursor.pass_over(&self.control, count),
            Some(cursor) => cursor.check(formats).and_then(|()| {
                if describe {
                    cursor.describe(self.output.buffer(), formats);
                }
                let (Sent::All(rows) | Sent::Some(rows)) =
                    cursor.send(&mut self.output, &self.control, formats, count)?;
                Ok(rows)
            }),
        };
        self.prepared.put_portal(name, portal);
        let tag = if is_move { "MOVE" } else { "FETCH" };
        backend::command_complete(self.output.buffer(), &format!("{tag} {}", rows?));
        Ok(())
    }
}

/// The error of a part of a statement, which begins at byte `offset`, as one of the whole.
pub fn shifted(failure: Failure, text: &str, offset: usize) -> Failure {
    match failure {
        Failure::Engine(error) => {
            let before = text[..offset].chars().count();
            Failure::Engine(EngineError { position: error.position.map(|position| before + position), ..error })
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fetch(name: &str, count: Option<u64>) -> Request<'static> {
        Request::Fetch { name: name.to_owned(), count, is_move: false }
    }

    #[test]
    fn reads_what_drivers_send() {
        let declaration = |name: &str, is_held| Declaration { name: name.to_owned(), is_held };
        for (statement, expected) in [
            ("DECLARE c1 CURSOR FOR\nSELECT 1", Request::Declare(declaration("c1", false), "SELECT 1")),
            (
                "declare \"My c\" no scroll cursor with hold for (values (1))",
                Request::Declare(declaration("My c", true), "(values (1))"),
            ),
            (
                "declare c insensitive cursor without hold for with x as (select 1) from x",
                Request::Declare(declaration("c", false), "with x as (select 1) from x"),
            ),
            ("FETCH 100 FROM c1", fetch("c1", Some(100))),
            ("fetch forward 7 in \"C\"", fetch("C", Some(7))),
            ("fetch forward all from c", fetch("c", None)),
            ("fetch all from c", fetch("c", None)),
            ("fetch next from c", fetch("c", Some(1))),
            ("fetch from c", fetch("c", Some(1))),
            ("fetch c", fetch("c", Some(1))),
            ("fetch next", fetch("next", Some(1))),
            ("close all", Request::Close(None)),
            ("CLOSE \"c\"", Request::Close(Some("c".to_owned()))),
        ] {
            assert_eq!(parse(statement).unwrap(), expected, "{statement}");
        }
        let moved = Request::Fetch { name: "c".to_owned(), count: None, is_move: true };
        assert_eq!(parse("move forward all in c").unwrap(), moved);
    }

    #[test]
    fn refuses_ways_back_and_nonsense() {
        for (statement, code) in [
            ("declare c scroll cursor for select 1", "0A000"),
            ("declare c binary cursor for select 1", "0A000"),
            ("declare c cursor for insert into t values (1)", "42601"),
            ("declare c cursor", "42601"),
            ("fetch -1 from c", "55000"),
            ("fetch 0 from c", "55000"),
            ("fetch prior from c", "55000"),
            ("move backward all in c", "55000"),
            ("fetch 1 from", "42601"),
            ("fetch 1.5 from c", "42601"),
            ("close", "42601"),
            ("close a b", "42601"),
        ] {
            assert_eq!(parse(statement).unwrap_err().code().as_str(), code, "{statement}");
        }
    }

    proptest::proptest! {
        #[test]
        fn anything_is_read_or_refused(
            rest in "(declare|fetch|move|close|cursor|for|from|with|hold|select| |c|-|1|\"é|;){0,10}"
        ) {
            let _ = parse(&format!("fetch {rest}"));
            let _ = parse(&format!("declare {rest}"));
        }
    }
}
