//! Limits the nesting of a statement, before any recursive code reads it.
//!
//! DuckDB parses, binds and plans by recursion, on the stack of the session's thread. `docs/reference/server.md` has the depths at which it
//! crashed, by the size of the stack.

use colonnade_sql::{Token, TokenKind};

use super::Refusal;

/// Tokens. DuckDB needs about 1.6 KB for each while it parses and binds (2.2 GB for an INSERT of 1,370,000 tokens).
const MAX_TOKENS: usize = 400_000;
/// The tokens of a cast that the server adds to a placeholder (`placeholder.rs`): CAST, four parentheses, AS, a type. They are not counted,
/// because the client has not written them: an INSERT with the protocol's maximum of parameters must be possible.
const CAST_TOKENS: usize = 7;
/// The maximum number of parameters, which bounds what is not counted. DuckDB needs 0.7 GB for an INSERT of so many.
const MAX_PARAMETERS: usize = 65_535;
/// Nested parentheses, brackets, braces and CASEs.
const MAX_NESTING: usize = 250;
/// Consecutive signs and NOTs.
const MAX_SIGNS: usize = 50;
/// Names with dots between them. DuckDB tries each as a column, a table and a schema, and cannot be interrupted meanwhile.
const MAX_PARTS: usize = 100;
/// ANDs and ORs. The time to bind them is quadratic; 10,000 take seconds.
const MAX_CONDITIONS: usize = 10_000;
/// UNION, EXCEPT and INTERSECT.
const MAX_SETS: usize = 1000;
/// Relations in all FROMs together. DuckDB plans 250 relations of one FROM in 3 s, 500 in 14 s.
const MAX_JOINS: usize = 300;
/// PIVOTs, UNPIVOTs and SUMMARIZEs, nested lambdas, and nested LIMITs and OFFSETs, all together. Each nearly doubles the time or the memory
/// to plan, and DuckDB cannot be interrupted meanwhile. 18 LIMITs take 8 s, 20 lambdas more than 3 GB.
const MAX_DOUBLING: usize = 12;
/// Sets of GROUPING SETS, ROLLUP and CUBE. Each has its own hash table.
const MAX_GROUPED: usize = 400;

/// Counts the constructs of a statement.
#[derive(Debug, Default)]
pub struct Depth {
    levels: Vec<Level>,
    outside: Level,
    tokens: usize,
    placeholders: usize,
    parts: usize,
    conditions: usize,
    signs: usize,
    sets: usize,
    joins: usize,
    /// The constructs that double the time to plan.
    doubling: usize,
    grouped: usize,
    /// Whether the next parenthesis belongs to GROUPING SETS, ROLLUP or CUBE.
    is_grouping: bool,
    /// Whether a relation or a list of relations follows.
    is_relation_next: bool,
    /// Whether the last token was DISTINCT. The FROM of IS DISTINCT FROM has no relations.
    is_distinct: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Level {
    is_case: bool,
    is_lambda: bool,
    /// Whether commas separate relations.
    is_from: bool,
    /// Whether commas separate sets of columns.
    is_grouping: bool,
    /// Whether the last clause that began in this level is LIMIT or OFFSET.
    is_limit: bool,
    /// Whether the level is a part of a LIMIT or OFFSET.
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
    /// Counts the next token.
    ///
    /// # Errors
    /// If a limit is exceeded.
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
        check_count(self.parts, MAX_PARTS, "parts of a name")?;
        // The sign of a placeholder is a separate token in DuckDB.
        self.tokens += 1 + usize::from(token.placeholder().is_some());
        self.placeholders += usize::from(token.placeholder().is_some());
        let casts = CAST_TOKENS * self.placeholders.min(MAX_PARAMETERS);
        check_count(self.tokens.saturating_sub(casts), MAX_TOKENS, "words and signs")?;
        self.signs = if is_sign { self.signs + 1 } else { 0 };
        check_count(self.signs, MAX_SIGNS, "signs in a row")
    }

    fn level(&mut self) -> &mut Level {
        self.levels.last_mut().unwrap_or(&mut self.outside)
    }

    fn open(&mut self, level: Level) -> Result<(), Refusal> {
        let is_limited = self.level().is_limit;
        self.levels.push(Level { is_limited, ..level });
        self.add_doubling(is_limited)?;
        check_count(self.levels.len(), MAX_NESTING, "levels of nesting")
    }

    fn add_doubling(&mut self, is_doubling: bool) -> Result<(), Refusal> {
        self.doubling += usize::from(is_doubling);
        check_count(self.doubling, MAX_DOUBLING, "PIVOTs, SUMMARIZEs, lambdas and LIMITs within each other")
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
                // In FROM (a, b), the relations in parentheses are joined too.
                let is_from = symbol == b'(' && is_relation_next;
                self.open(Level { is_from, is_grouping, ..Level::default() })?;
                self.is_relation_next = is_from;
            }
            b')' | b']' | b'}' => {
                // A CASE without END is a syntax error. It is closed with the level around it.
                while self.close().is_some_and(|level| level.is_case) {}
            }
            b',' => {
                let Level { is_from, is_grouping, .. } = *self.level();
                self.is_relation_next = is_from;
                self.joins += usize::from(is_from);
                self.grouped += usize::from(is_grouping);
                check_count(self.joins, MAX_JOINS, "joins")?;
                check_count(self.grouped, MAX_GROUPED, "grouping sets")?;
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
            "pivot" | "unpivot" | "pivot_wider" | "pivot_longer" | "summarize" => self.add_doubling(true)?,
            // A lambda outside of all parentheses is a syntax error.
            "lambda" if !self.levels.is_empty() && !std::mem::replace(&mut self.level().is_lambda, true) => {
                self.add_doubling(true)?;
            }
            "sets" | "rollup" | "cube" => self.is_grouping = true,
            "not" => return Ok(true),
            "and" | "or" => {
                self.conditions += 1;
                check_count(self.conditions, MAX_CONDITIONS, "ANDs and ORs")?;
            }
            _ if CLAUSES.contains(&word.as_str()) => {
                self.level().is_from = false;
                self.level().is_limit = matches!(word.as_str(), "limit" | "offset" | "fetch");
                self.sets += usize::from(matches!(word.as_str(), "union" | "except" | "intersect"));
            }
            _ => {}
        }
        check_count(self.joins, MAX_JOINS, "joins")?;
        check_count(self.sets, MAX_SETS, "set operations")?;
        Ok(false)
    }
}

fn check_count(count: usize, limit: usize, what: &'static str) -> Result<(), Refusal> {
    if count > limit { Err(Refusal::Deep { what, limit }) } else { Ok(()) }
}
