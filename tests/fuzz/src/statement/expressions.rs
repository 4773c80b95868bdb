//! Expressions, calls and names, and the users who may use them.

use super::words::UNDECIDED;
use super::{ALL, Choices, GeneratedStatement, NONE, Permits, WORDS};

/// Names that users have chosen.
const NAMES: [&str; 8] = ["t", "i", "canary", "\"A b\"", "`a``b`", "é", "main . t", "\"it's\""];
/// Values. Some of them look like other tokens or statements.
const VALUES: [&str; 14] = [
    "1",
    "'x'",
    "null",
    "1.5e-3",
    "'read_text('",
    "e'\\'; copy ('",
    "$$ ' /* $$",
    "$a$ $$ ; $a$",
    "'it''s'",
    "x'00'",
    "true",
    "1_000",
    "'(((((('",
    "*",
];
const OPERATORS: [&str; 14] =
    ["+", "-", "*", "and", "or", "=", "<", ":: int , ", "like", "is not distinct from", "||", "->", "^", "in"];

/// Writes a statement, and records what the fence must find.
pub struct Grammar<'a, 'b> {
    /// The decisions.
    pub choices: &'b mut Choices<'a>,
    /// The statement so far.
    pub out: GeneratedStatement,
    /// The number of open parentheses, brackets and CASEs.
    open: usize,
    /// The number of parts that may still be written.
    fuel: usize,
}

impl<'a, 'b> Grammar<'a, 'b> {
    /// Starts an empty statement, which all users may send.
    pub fn new(choices: &'b mut Choices<'a>) -> Self {
        const PARTS: usize = 40;
        let out = GeneratedStatement { permits: ALL, is_whole: true, ..GeneratedStatement::default() };
        Self { choices, out, open: 0, fuel: PARTS }
    }

    /// Counts a part. Gives whether it may be written.
    pub fn burn(&mut self) -> bool {
        self.fuel = self.fuel.saturating_sub(1);
        self.fuel > 0
    }

    /// Writes tokens with spaces between them, and counts open brackets.
    pub fn write(&mut self, tokens: &str) {
        if tokens.contains(['\'', '"', '`']) || tokens.starts_with("$$") || tokens.starts_with("$a$") {
            return self.token(tokens);
        }
        for token in tokens.split_ascii_whitespace() {
            match token {
                "(" | "[" | "{" | "case" => self.open += 1,
                ")" | "]" | "}" | "end" => self.open = self.open.saturating_sub(1),
                _ => {}
            }
            self.limit(self.open, 250);
            self.token(token);
        }
    }

    fn token(&mut self, token: &str) {
        if !self.out.text.is_empty() {
            self.out.text.push(' ');
        }
        let start = self.out.text.len();
        self.out.text.push_str(token);
        // Each character of an operator is a token.
        if token.starts_with(|c: char| c.is_ascii_punctuation() && !matches!(c, '\'' | '"' | '`' | '$' | '_')) {
            self.out.tokens.extend((start..self.out.text.len()).map(|at| at..at + 1));
        } else {
            self.out.tokens.push(start..self.out.text.len());
        }
    }

    /// Leaves only these users, of those who may send the statement so far.
    pub fn permit(&mut self, permits: Permits) {
        self.out.permits &= permits;
    }

    /// Records that a construct occurs `count` times, where the bound is `most`.
    pub fn limit(&mut self, count: usize, most: usize) {
        self.out.is_too_deep |= count > most;
    }

    /// Writes a name of the lists. It is quoted by choice, or if it is no plain word.
    pub fn listed(&mut self, name: &str) {
        let is_bare = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        match self.choices.byte() % 8 {
            0..=5 if is_bare => self.token(name),
            7 => self.token(&format!("`{}`", name.replace('`', "``"))),
            _ => self.token(&format!("\"{}\"", name.replace('"', "\"\""))),
        }
        self.permit(WORDS.name(name));
    }

    /// Writes a name that a user has chosen.
    pub fn name(&mut self) {
        let name = self.choices.one(&NAMES);
        self.write(name);
    }

    /// Writes a call of a function that all users may call, of any function, or of a macro.
    pub fn call(&mut self) {
        let name = match self.choices.byte() % 16 {
            0 => "abs",
            1 => UNDECIDED,
            2 => "mine",
            3..8 => WORDS.functions[self.choices.below(WORDS.functions.len())],
            _ => WORDS.listed[self.choices.below(WORDS.listed.len())].0,
        };
        self.permit(WORDS.call(name));
        match self.choices.byte() % 8 {
            0 => self.write("system . main ."),
            1 => {
                self.token("'x'");
                self.write(".");
            }
            _ => {}
        }
        // DuckDB accepts a string in place of a function's name.
        if self.choices.once_in(16) && !name.contains('\'') {
            self.token(&format!("'{name}'"));
            self.out.is_whole = false;
        } else {
            self.listed(name);
        }
        self.write("(");
        for at in 0..self.choices.below(3) {
            self.write(if at > 0 { "," } else { "" });
            self.expression();
        }
        self.write(")");
        match self.choices.byte() % 16 {
            14 => self.write("over ( )"),
            15 => self.write("filter ( where true )"),
            _ => {}
        }
    }

    /// Writes an expression.
    pub fn expression(&mut self) {
        if !self.burn() {
            return self.write("1");
        }
        match self.choices.byte() % 16 {
            0..3 => {
                let value = self.choices.one(&VALUES);
                self.write(value);
            }
            3..6 => self.name(),
            6..9 => self.call(),
            9 => {
                self.expression();
                let operator = self.choices.one(&OPERATORS);
                self.write(operator);
                if operator == "in" {
                    self.write("(");
                }
                self.expression();
                if operator == "in" {
                    self.write(")");
                }
            }
            10 => self.between("(", ")"),
            11 => {
                self.write("( ");
                self.query();
                self.write(")");
            }
            12 => {
                let (before, after) = self.choices.one(&[
                    ("[", "]"),
                    ("{ a :", "}"),
                    ("case when true then", "end"),
                    ("cast (", "as int )"),
                    ("not", ""),
                    ("-", ""),
                    ("~", ""),
                    ("lambda x :", ""),
                    ("coalesce ( 1 ,", ")"),
                ]);
                self.between(before, after);
            }
            13 => {
                let type_ = self.choices.one(&WORDS.types);
                self.write("1 :: ");
                self.listed(type_);
            }
            14 if self.choices.once_in(16) => self.tower(),
            15 if self.choices.once_in(8) => {
                // DuckDB's form for calling operators by name.
                self.write("operator ( + ) ( 1 , 2 )");
                self.permit(NONE);
            }
            _ => self.write("$ 1"),
        }
    }

    fn between(&mut self, before: &str, after: &str) {
        self.write(before);
        self.expression();
        self.write(after);
    }

    /// Nests a construct in itself, about as deep as its bound allows.
    fn tower(&mut self) {
        let (before, after, most) = self.choices.one(&[
            ("(", ")", 250),
            ("[", "]", 250),
            ("case when true then", "end", 250),
            ("abs (", ")", 250),
            ("not", "", 50),
            ("-", "", 50),
            ("list_transform ( a , lambda x :", ")", 12),
            ("( select", ")", 250),
            ("( pivot (", ") on i )", 12),
            // The outermost parenthesis is not within a LIMIT.
            ("( select 1 limit", ")", 13),
            ("a .", "", 100),
        ]);
        let times = self.choices.one(&[2, most / 2, most, most + 1, most + 50]);
        self.limit(times, most);
        for _ in 0..times {
            self.write(before);
        }
        self.write(if before == "( pivot (" { "select i" } else { "i" });
        for _ in 0..times {
            self.write(after);
        }
    }
}
