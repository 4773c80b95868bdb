//! Queries and statements of every kind, and what the lists say of them.

use super::expressions::Grammar;
use super::{ALL, Choices, GeneratedStatement, NONE, Permits, WORDS, WRITERS, WRITERS_WITH_FILES};

/// Writes a statement by DuckDB's grammar, or DuckDB's words in any order.
pub fn grammatical(choices: &mut Choices<'_>) -> GeneratedStatement {
    let mut grammar = Grammar::new(choices);
    let kind = grammar.statement();
    let mut statement = grammar.out;
    statement.kind = kind;
    statement
}

/// Beginnings of statements that carry another one, and DuckDB's kind of the whole.
const CARRIERS: [(&str, &str); 8] = [
    ("explain", "explain"),
    ("explain analyze", "explain"),
    ("explain ( analyze , format json )", "explain"),
    ("explain ( format text )", "explain"),
    ("explain analyze ( verbose )", "explain"),
    ("prepare a as", "prepare"),
    ("prepare a ( int , varchar ) as", "prepare"),
    ("prepare `copy` as", "prepare"),
];

/// Other statements, DuckDB's kind of each, and the users who may send it.
const OTHERS: [(&str, &str, Permits); 40] = [
    ("begin", "transaction", ALL),
    ("start transaction", "transaction", ALL),
    ("commit", "transaction", ALL),
    ("rollback", "transaction", ALL),
    ("execute a", "execute", ALL),
    ("deallocate a", "drop", ALL),
    ("use t", "set", ALL),
    ("vacuum", "vacuum", WRITERS),
    ("analyze", "vacuum", WRITERS),
    ("checkpoint", "call", WRITERS),
    ("attach 'x.db' as x", "attach", WRITERS_WITH_FILES),
    ("detach x", "detach", WRITERS_WITH_FILES),
    ("export database 'x'", "export", WRITERS_WITH_FILES),
    ("copy t to 'x.csv'", "copy", WRITERS_WITH_FILES),
    ("copy t ( i ) from 'x.csv' ( format csv )", "copy", WRITERS_WITH_FILES),
    ("copy from database a to b", "copy", WRITERS_WITH_FILES),
    ("load httpfs", "", NONE),
    ("install httpfs", "", NONE),
    ("force install httpfs", "", NONE),
    ("force checkpoint", "", NONE),
    ("import database 'x'", "", NONE),
    ("uninstall httpfs", "", NONE),
    ("create secret x ( type http )", "", NONE),
    ("create or replace temporary secret x ( type http )", "", NONE),
    ("create persistent secret x ( type http )", "", NONE),
    ("create trigger x after insert on t execute select 1", "", NONE),
    ("create database x", "", NONE),
    ("alter database t set alias to gone", "", NONE),
    ("drop secret x", "", NONE),
    ("drop database x", "", NONE),
    ("drop persistent secret x", "", NONE),
    ("comment on database x is 'y'", "", NONE),
    ("declare a cursor for select 1", "", NONE),
    ("fetch a", "", NONE),
    ("listen a", "", NONE),
    ("discard all", "", NONE),
    ("savepoint a", "", NONE),
    ("\"select\" 1", "", NONE),
    ("`begin`", "", NONE),
    ("'select' 1", "", NONE),
];

/// Statements that create, drop or alter: the text before and after a name, and DuckDB's kind.
const DEFINITIONS: [(&str, &str, &str); 14] = [
    ("create table", "( i int )", "create"),
    ("create or replace temp view", "as select 1", "create"),
    ("create temporary table", "as select 1", "create"),
    ("create macro", "( x ) as x", "create"),
    ("create schema", "", "create"),
    ("create sequence", "", "create"),
    ("create unique index a on", "( i )", "create"),
    ("create type", "as int", "create"),
    ("drop table", "cascade", "drop"),
    ("drop schema if exists", "", "drop"),
    ("alter table", "add column j int", "alter"),
    ("alter view", "rename to b", "alter"),
    ("comment on table", "is null", "alter"),
    ("comment on column", "is null", "alter"),
];

impl Grammar<'_, '_> {
    /// Writes a statement of any kind. Gives DuckDB's kind of it, if it is known.
    pub fn statement(&mut self) -> Option<&'static str> {
        match self.choices.byte() % 16 {
            0..4 => Some(self.query()),
            4 => Some(self.change()),
            5..8 => Some(self.carrier()),
            8 => self.setting(),
            9 => self.pragma(),
            10 => Some(self.with()),
            11 => {
                let (before, after, kind) = self.choices.one(&DEFINITIONS);
                self.words(before);
                self.write("mine");
                self.words(after);
                Some(kind)
            }
            12 => {
                self.words("call");
                self.permit(WRITERS);
                self.call();
                Some("call")
            }
            13 => {
                self.any_words();
                None
            }
            _ => {
                let (text, kind, permits) = self.choices.one(&OTHERS);
                self.permit(permits);
                self.words(text);
                (!kind.is_empty()).then_some(kind)
            }
        }
    }

    /// Writes tokens, some of them quoted. Spaces separate them, and none contains one.
    fn words(&mut self, text: &str) {
        text.split_ascii_whitespace().for_each(|token| self.write(token));
    }

    /// Writes one of these.
    fn one_of(&mut self, texts: &[&str]) {
        let text = self.choices.one(texts);
        self.words(text);
    }

    /// Writes EXPLAIN or PREPARE of any statement.
    fn carrier(&mut self) -> &'static str {
        let (text, kind) = self.choices.one(&CARRIERS);
        self.words(text);
        let first = self.out.tokens.len();
        let carried = self.statement();
        let is_plain = matches!(carried, Some("select" | "insert" | "update" | "delete" | "merge_into"));
        match carried {
            // This replaces what a nested carrier has recorded.
            Some(kind) if is_plain => self.out.carried = Some((first, kind)),
            // Nobody may send other kinds within EXPLAIN and PREPARE.
            Some(_) => self.permit(NONE),
            None => self.out.is_whole = false,
        }
        kind
    }

    /// Writes INSERT, UPDATE, DELETE, TRUNCATE or MERGE.
    fn change(&mut self) -> &'static str {
        match self.choices.byte() % 5 {
            0 => {
                self.words("insert into t ( i )");
                self.query();
                let returning = if self.choices.once_in(2) { "returning *" } else { "" };
                self.words(returning);
                "insert"
            }
            1 => {
                self.words("update t set i =");
                self.expression();
                "update"
            }
            2 => {
                self.words("delete from t where");
                self.expression();
                "delete"
            }
            3 => {
                self.words("truncate t");
                "delete"
            }
            _ => {
                self.words("merge into t using (");
                self.query();
                self.words(") u on true when matched then delete");
                "merge_into"
            }
        }
    }

    /// Writes WITH, whose first part is a query, a change, or a COPY, which nobody may send.
    fn with(&mut self) -> &'static str {
        let with = if self.choices.once_in(4) { "with recursive a" } else { "with a" };
        self.words(with);
        self.one_of(&["as (", "( i ) as (", "as materialized (", "as not materialized (", "using key ( i ) as ("]);
        if self.choices.once_in(3) {
            self.one_of(&["copy t to 'x'", "copy ( select 1 ) to 'x'", "copy \"t\" from 'x'", "copy 'x' to 'x'"]);
            self.permit(NONE);
        } else if self.choices.once_in(3) {
            self.change();
        } else {
            self.query();
        }
        self.words(")");
        match self.choices.byte() % 4 {
            0 => self.change(),
            _ => self.query(),
        }
    }

    /// Writes SET or RESET.
    fn setting(&mut self) -> Option<&'static str> {
        self.one_of(&["set", "set session", "set local", "reset", "set global", "reset global"]);
        if self.out.text.ends_with("global") {
            self.permit(NONE);
        }
        match self.choices.byte() % 8 {
            0 => self.words("variable x = 1"),
            1 => self.words("time zone 'UTC'"),
            2 => {
                self.words("\"global\" = 1");
                self.permit(NONE);
            }
            _ => {
                let (name, permits) = self.choices.one(&WORDS.settings);
                self.listed(name);
                self.permit(permits);
                self.words("=");
                self.expression();
            }
        }
        Some("set")
    }

    /// Writes PRAGMA without arguments, with one, or as an assignment.
    fn pragma(&mut self) -> Option<&'static str> {
        self.words("pragma");
        let (name, permits) = match self.choices.once_in(4) {
            true => self.choices.one(&WORDS.settings),
            false => self.choices.one(&WORDS.pragmas),
        };
        self.listed(name);
        let of =
            |list: &[(&str, Permits)]| list.iter().find(|(listed, _)| *listed == name).map_or(NONE, |found| found.1);
        match self.choices.byte() % 3 {
            0 => self.permit(of(&WORDS.pragmas)),
            1 => {
                self.permit(of(&WORDS.pragmas) & WORDS.call(name));
                self.between_parentheses();
            }
            _ => {
                self.permit(of(&WORDS.settings));
                self.words("= 1");
            }
        }
        let _ = permits;
        Some("pragma")
    }

    fn between_parentheses(&mut self) {
        self.write("(");
        self.expression();
        self.write(")");
    }

    /// Writes DuckDB's words and signs in any order.
    fn any_words(&mut self) {
        const SIGNS: [&str; 16] =
            ["(", ")", ",", ".", "[", "]", "{", "}", "=", "'x'", "\"x\"", "1", "$", ":", "*", "::"];
        self.out.is_whole = false;
        for _ in 0..=self.choices.below(32) {
            match self.choices.byte() % 4 {
                0 => self.one_of(&SIGNS),
                1 => {
                    let name = WORDS.functions[self.choices.below(WORDS.functions.len())];
                    self.listed(name);
                }
                _ => {
                    let word = WORDS.keywords[self.choices.below(WORDS.keywords.len())];
                    self.write(word);
                }
            }
        }
        // Brackets are not balanced here, so the counted depth is not the fence's.
        self.out.is_too_deep = false;
    }

    /// Writes a query. Gives DuckDB's kind of it.
    pub fn query(&mut self) -> &'static str {
        if !self.burn() {
            self.words("select 1");
            return "select";
        }
        match self.choices.byte() % 16 {
            0..6 => self.select(),
            6 => {
                self.write("(");
                self.query();
                self.write(")");
            }
            7 => {
                self.write("from");
                self.relations();
            }
            8 => {
                self.words("values");
                self.between_parentheses();
            }
            9 => {
                self.words("table");
                self.name();
            }
            10 => self.one_of(&["show tables", "show all tables", "show t", "describe t", "summarize t"]),
            11 => {
                self.one_of(&["describe", "summarize"]);
                self.query();
            }
            12 => {
                self.one_of(&["pivot (", "pivot_wider ("]);
                self.query();
                self.words(") on i using count ( * )");
            }
            13 => {
                self.words("with b as (");
                self.query();
                self.words(")");
                self.select();
            }
            14 => self.chain(),
            _ => {
                self.query();
                self.one_of(&["union all", "except", "intersect", "union by name"]);
                self.query();
            }
        }
        "select"
    }

    fn select(&mut self) {
        self.one_of(&["select", "select distinct", "select all"]);
        self.expression();
        if self.choices.once_in(2) {
            self.write("from");
            self.relations();
        }
        if self.choices.once_in(4) {
            self.write("where");
            self.expression();
        }
        if self.choices.once_in(8) {
            self.one_of(&["group by all", "order by all", "limit 1", "group by i having true"]);
        }
    }

    fn relations(&mut self) {
        self.relation();
        if self.burn() && self.choices.once_in(4) {
            self.one_of(&[",", "join", "cross join", "natural left join", ", lateral"]);
            self.relation();
        }
    }

    fn relation(&mut self) {
        match self.choices.byte() % 8 {
            0..3 => self.name(),
            3 => {
                let (name, _) = self.choices.one(&WORDS.views);
                self.listed(name);
            }
            4 | 5 => self.call(),
            6 => self.write("'x.csv'"),
            _ => {
                self.write("(");
                self.query();
                self.write(")");
            }
        }
    }

    /// Repeats a construct side by side, about as often as its bound allows.
    fn chain(&mut self) {
        let (begin, link, most) = self.choices.one(&[
            ("select 1", "union all select 1", 1000),
            ("select 1", "except select 1", 1000),
            ("from t", ", t", 300),
            ("from t", "cross join t", 300),
            ("from t", "join t using ( i )", 300),
            ("select i from t group by grouping sets ( i", ", i", 400),
            ("select i from t group by cube ( i", ", i", 400),
        ]);
        // The first relation also counts in some of these, so the bound itself is left out.
        let times = match self.choices.byte() % 32 {
            31 => most + 1,
            30 => most - 50,
            few => usize::from(few % 8),
        };
        self.limit(times, most);
        self.words(begin);
        for _ in 0..times {
            self.words(link);
        }
        self.write(if link == ", i" { ")" } else { "" });
    }
}
