//! How deep a statement nests, before anything that recurses looks at it.
//!
//! The engine parses, binds and plans by recursion, on the stack of the session's thread. `docs/reference/server.md` has the
//! depths at which it was seen to die by the size of the stack.

use colonnade_sql::{Token, TokenKind};

use super::Refusal;

/// Tokens: DuckDB takes some 1.6 KB for each while it parses and binds (an INSERT of 1,370,000 tokens took 2.2 GB).
const TOKENS: usize = 400_000;
/// Parentheses, brackets, braces and CASE within each other.
const NESTING: usize = 250;
/// Signs and NOTs, one after the other.
const SIGNS: usize = 50;
/// Names with points between them: DuckDB tries each as a column, a table and a schema, and cannot be interrupted then.
const PARTS: usize = 100;
/// AND and OR: the time to bind them grows with their square; 10,000 take seconds.
const CONDITIONS: usize = 10_000;
/// UNION, EXCEPT and INTERSECT.
const SETS: usize = 1000;
/// Relations of all FROMs together. DuckDB plans 250 of one FROM in 3 s, 500 in 14 s.
const JOINS: usize = 300;
/// PIVOT, UNPIVOT and SUMMARIZE, lambdas within each other, LIMIT and OFFSET within each other, all together: each nearly doubles the
/// time to plan, or the memory, and DuckDB cannot be interrupted then. Of LIMITs 18 take 8 s, of lambdas 20 more than 3 GB.
const DOUBLING: usize = 12;
/// Sets of GROUPING SETS, ROLLUP and CUBE, each of which has a hash table of its own.
const GROUPED: usize = 400;

/// What a statement has so far.
#[derive(Debug, Default)]
pub struct Depth {
    levels: Vec<Level>,
    outside: Level,
    tokens: usize,
    parts: usize,
    conditions: usize,
    signs: usize,
    sets: usize,
    joins: usize,
    /// Of what doubles the time to plan.
    doubling: usize,
    grouped: usize,
    /// Whether the next parenthesis is that of GROUPING SETS, ROLLUP or CUBE.
    is_grouping: bool,
    /// Whether a relation or a list of relations comes next.
    is_relation_next: bool,
    /// Whether DISTINCT came before, whose FROM is none.
    is_distinct: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Level {
    is_case: bool,
    is_lambda: bool,
    /// Whether commas separate relations here.
    is_from: bool,
    /// Whether commas separate sets of columns.
    is_grouping: bool,
    /// Whether LIMIT or OFFSET was the last clause that began here.
    is_limit: bool,
    /// Whether it is a part of a LIMIT or OFFSET.
    is_limited: bool,
}

/// Words that end a FROM.
const CLAUSES: [&str; 16] = [
    "where",
    "group",
    "having",
    "window",
    "qualify",
    "order",
    "limit",
    "offset",
    "fetch",
    "union",
    "except",
    "intersect",
    "select",
    "set",
    "values",
    "returning",
];

impl Depth {
    /// Takes the next token.
    ///
    /// # Errors
    /// If that is too much.
    pub fn add(&mut self, token: &Token<'_>) -> Result<(), Refusal> {
        let (is_next, is_distinct) = (self.is_relation_next, self.is_distinct);
        (self.is_relation_next, self.is_distinct) = (false, false);
        let is_sign = match token.kind {
            TokenKind::Word => self.word(token, is_distinct)?,
            TokenKind::Symbol(symbol) => self.symbol(symbol, is_next)?,
            _ => false,
        };
        self.parts = match token.kind {
            TokenKind::Symbol(b'.') => self.parts + 1,
            TokenKind::Word | TokenKind::Name => self.parts,
            _ => 0,
        };
        most(self.parts, PARTS, "parts of a name")?;
        // DuckDB counts the sign of a placeholder apart.
        self.tokens += 1 + usize::from(token.placeholder().is_some());
        most(self.tokens, TOKENS, "words and signs")?;
        self.signs = if is_sign { self.signs + 1 } else { 0 };
        most(self.signs, SIGNS, "signs in a row")
    }

    fn level(&mut self) -> &mut Level {
        self.levels.last_mut().unwrap_or(&mut self.outside)
    }

    fn open(&mut self, level: Level) -> Result<(), Refusal> {
        let is_limited = self.level().is_limit;
        self.levels.push(Level { is_limited, ..level });
        self.doubles(is_limited)?;
        most(self.levels.len(), NESTING, "levels of nesting")
    }

    fn doubles(&mut self, does: bool) -> Result<(), Refusal> {
        self.doubling += usize::from(does);
        most(self.doubling, DOUBLING, "PIVOTs, SUMMARIZEs, lambdas and LIMITs within each other")
    }

    fn close(&mut self) -> Option<Level> {
        let level = self.levels.pop()?;
        self.doubling -= usize::from(level.is_lambda) + usize::from(level.is_limited);
        Some(level)
    }

    /// Whether it is a sign.
    fn symbol(&mut self, symbol: u8, is_relation_next: bool) -> Result<bool, Refusal> {
        match symbol {
            b'(' | b'[' | b'{' => {
                let is_grouping = std::mem::take(&mut self.is_grouping);
                // FROM (a, b): what is in parentheses there is joined as well.
                let is_from = symbol == b'(' && is_relation_next;
                self.open(Level { is_from, is_grouping, ..Level::default() })?;
                self.is_relation_next = is_from;
            }
            b')' | b']' | b'}' => {
                // A CASE without END does not parse; what it has opened is closed with what it is in.
                while self.close().is_some_and(|level| level.is_case) {}
            }
            b',' => {
                let Level { is_from, is_grouping, .. } = *self.level();
                self.is_relation_next = is_from;
                self.joins += usize::from(is_from);
                self.grouped += usize::from(is_grouping);
                most(self.joins, JOINS, "joins")?;
                most(self.grouped, GROUPED, "grouping sets")?;
            }
            b'.' => {}
            _ => return Ok(true),
        }
        Ok(false)
    }

    /// Whether it is a sign.
    fn word(&mut self, token: &Token<'_>, is_distinct: bool) -> Result<bool, Refusal> {
        const LONGEST: usize = 12;
        if token.text.len() > LONGEST {
            return Ok(false);
        }
        let word = token.text.to_ascii_lowercase();
        match word.as_str() {
            "case" => self.open(Level { is_case: true, ..Level::default() })?,
            "end" if self.level().is_case => drop(self.close()),
            "distinct" => self.is_distinct = true,
            "from" if is_distinct => {}
            "from" | "using" => (self.level().is_from, self.is_relation_next) = (true, true),
            "join" | "lateral" => (self.joins, self.is_relation_next) = (self.joins + 1, true),
            "pivot" | "unpivot" | "pivot_wider" | "pivot_longer" | "summarize" => self.doubles(true)?,
            // One outside of all parentheses is an error of syntax.
            "lambda" if !self.levels.is_empty() && !std::mem::replace(&mut self.level().is_lambda, true) => {
                self.doubles(true)?;
            }
            "sets" | "rollup" | "cube" => self.is_grouping = true,
            "not" => return Ok(true),
            "and" | "or" => {
                self.conditions += 1;
                most(self.conditions, CONDITIONS, "ANDs and ORs")?;
            }
            _ if CLAUSES.contains(&word.as_str()) => {
                self.level().is_from = false;
                self.level().is_limit = matches!(word.as_str(), "limit" | "offset" | "fetch");
                self.sets += usize::from(matches!(word.as_str(), "union" | "except" | "intersect"));
            }
            _ => {}
        }
        most(self.joins, JOINS, "joins")?;
        most(self.sets, SETS, "set operations")?;
        Ok(false)
    }
}

fn most(count: usize, most: usize, what: &'static str) -> Result<(), Refusal> {
    if count > most { Err(Refusal::Deep { what, most }) } else { Ok(()) }
}
