//! Limits the nesting of a statement, before any recursive code reads it.
//!
//! DuckDB parses, binds and plans by recursion, on the stack of the session's thread. `docs/reference/server.md` has
//! the depths at which it crashed, by the size of the stack.

use colonnade_sql::{Token, TokenKind};

use super::Refusal;

/// Tokens. DuckDB needs about 1.6 KB for each while it parses and binds (2.2 GB for an INSERT of 1,370,000 tokens). An
/// INSERT with the protocol's maximum of parameters, one in a row, has 327,675.
const MAX_TOKENS: usize = 400_000;
/// The tokens of a cast that the server adds to a placeholder (`placeholder.rs`): CAST, four parentheses, AS, a type.
/// They are not counted, because the client has not written them: an INSERT with the protocol's maximum of parameters
/// must be possible.
const CAST_TOKENS: usize = 7;
/// The maximum number of parameters, which bounds what is not counted. DuckDB needs 0.7 GB for an INSERT of so many.
const MAX_PARAMETERS: usize = 65_535;
/// Nested parentheses, brackets, braces and CASEs.
const MAX_NESTING: usize = 250;
/// Consecutive signs and NOTs.
const MAX_SIGNS: usize = 50;
/// Names with dots between them. DuckDB tries each as a column, a table and a schema, and cannot be interrupted
/// meanwhile.
const MAX_PARTS: usize = 100;
/// ANDs and ORs of one SELECT. DuckDB optimizes 1,000 in 1 to 2 s and in up to 0.6 GB, 2,500 in more than 20 s and in 3
/// GB.
const MAX_CONDITIONS: usize = 1000;
/// Those of all SELECTs. DuckDB moves conditions from one SELECT into another.
const MAX_ALL_CONDITIONS: usize = 3000;
/// Items of SELECT, GROUP BY, ORDER BY and PARTITION BY. The time to bind a list is quadratic in its length if the
/// items are equal or have equal names: 3,000 take up to 1 s, 10,000 take 5 to 10 s. So the squares of the lengths of
/// all lists are added up.
const MAX_ITEMS: usize = 3000;
/// What an item counts in REPLACE and RENAME, and in a struct, which UNNEST may make columns of. DuckDB binds 1,000 in
/// 1 s.
const SLOW_ITEM: usize = 3;
/// Lists up to this length take little time, however many there are.
const SHORT_LIST: usize = 100;
/// UNION, EXCEPT and INTERSECT.
const MAX_SETS: usize = 1000;
/// Relations in all FROMs together. DuckDB plans 250 relations of one FROM in 3 s, 500 in 14 s.
const MAX_JOINS: usize = 300;
/// PIVOTs, UNPIVOTs and SUMMARIZEs, nested lambdas, and nested LIMITs and OFFSETs, all together. Each nearly doubles
/// the time or the memory to plan, and DuckDB cannot be interrupted meanwhile. 18 LIMITs take 8 s, 20 lambdas more than
/// 3 GB.
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
    /// The ANDs and ORs of all SELECTs.
    conditions: usize,
    /// The sum of the squares of the lists' lengths.
    item_squares: usize,
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
    /// What a comma counts in the parenthesis that the next token may open.
    next_item: usize,
    /// Whether the last token was AS or a point. The next word may be a name, also if it is a keyword.
    is_name_next: bool,
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
    /// Whether it has a SELECT of its own.
    is_query: bool,
    /// The ANDs and ORs of its last SELECT, or of the condition that it is a part of.
    conditions: usize,
    /// What a comma counts: 0 if it separates no items.
    item: usize,
    /// What the items of the last list count.
    items: usize,
}

/// Words before a list of items.
const LISTS: [&str; 4] = ["select", "group", "order", "partition"];
/// Words of clauses that are names elsewhere, or stand behind a star.
const NAMES: [&str; 6] = ["partition", "set", "values", "union", "except", "intersect"];

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
        let (next_item, may_be_name) = (std::mem::take(&mut self.next_item), self.is_name_next);
        self.is_name_next = token.is_word("as") || token.is_symbol(b'.');
        let is_sign = match token.kind {
            TokenKind::Word => self.word(token, is_distinct, may_be_name)?,
            TokenKind::Symbol(symbol) => self.symbol(symbol, is_next, next_item)?,
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
        if !level.is_query {
            self.level().conditions += level.conditions;
        }
        Some(level)
    }

    /// Begins a clause, which is a list of items or something else. What may be a name ends no list.
    fn begin_clause(&mut self, word: &str, may_be_name: bool) {
        let level = self.level();
        let is_list = LISTS.contains(&word);
        if may_be_name || NAMES.contains(&word) || level.item == SLOW_ITEM {
            if is_list && level.item == 0 {
                (level.item, level.items) = (1, 1);
            }
            return;
        }
        level.item = usize::from(is_list);
        level.items = level.item;
        if word == "select" {
            (level.is_query, level.conditions) = (true, 0);
        }
    }

    fn add_item(&mut self) -> Result<(), Refusal> {
        let level = self.level();
        let square = |items: usize| if items > SHORT_LIST { items * items } else { 0 };
        let before = square(level.items);
        level.items += level.item;
        let added = square(level.items) - before;
        self.item_squares += added;
        let is_within = self.item_squares <= MAX_ITEMS * MAX_ITEMS;
        if is_within { Ok(()) } else { Err(Refusal::Deep { what: "items in its lists", limit: MAX_ITEMS }) }
    }

    /// Whether it is a sign.
    fn symbol(&mut self, symbol: u8, is_relation_next: bool, next_item: usize) -> Result<bool, Refusal> {
        match symbol {
            b'(' | b'[' | b'{' => {
                let is_grouping = std::mem::take(&mut self.is_grouping);
                // In FROM (a, b), the relations in parentheses are joined too.
                let is_from = symbol == b'(' && is_relation_next;
                let item = if symbol == b'{' { SLOW_ITEM } else { next_item };
                self.open(Level { is_from, is_grouping, item, items: item, ..Level::default() })?;
                self.next_item = usize::from(item > 0 || is_grouping);
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
                self.add_item()?;
                self.next_item = usize::from(self.level().item > 0 || is_grouping);
                check_count(self.joins, MAX_JOINS, "joins")?;
                check_count(self.grouped, MAX_GROUPED, "grouping sets")?;
            }
            b'.' => {}
            _ => return Ok(true),
        }
        Ok(false)
    }

    /// Whether it is a sign.
    fn word(&mut self, token: &Token<'_>, is_distinct: bool, may_be_name: bool) -> Result<bool, Refusal> {
        const LONGEST: usize = 12;
        if token.text.len() > LONGEST {
            return Ok(false);
        }
        let word = token.text.to_ascii_lowercase();
        match word.as_str() {
            "case" if !may_be_name => self.open(Level { is_case: true, ..Level::default() })?,
            "end" if self.level().is_case => drop(self.close()),
            "distinct" => self.is_distinct = true,
            "from" if is_distinct => {}
            "from" | "using" => {
                (self.level().is_from, self.is_relation_next) = (true, true);
                self.begin_clause(&word, may_be_name);
            }
            "join" | "lateral" => (self.joins, self.is_relation_next) = (self.joins + 1, true),
            "pivot" | "unpivot" | "pivot_wider" | "pivot_longer" | "summarize" => self.add_doubling(true)?,
            // A lambda outside of all parentheses is a syntax error.
            "lambda" if !self.levels.is_empty() && !std::mem::replace(&mut self.level().is_lambda, true) => {
                self.add_doubling(true)?;
            }
            "sets" | "rollup" | "cube" => self.is_grouping = true,
            "not" => return Ok(true),
            "replace" | "rename" => self.next_item = SLOW_ITEM,
            // DISTINCT ON (…), GROUP BY (…)
            "on" | "by" => self.next_item = 1,
            "and" | "or" => {
                self.conditions += 1;
                self.level().conditions += 1;
                check_count(self.level().conditions, MAX_CONDITIONS, "ANDs and ORs in one SELECT")?;
                check_count(self.conditions, MAX_ALL_CONDITIONS, "ANDs and ORs")?;
            }
            "partition" => self.begin_clause(&word, may_be_name),
            _ if CLAUSES.contains(&word.as_str()) => {
                self.level().is_from = false;
                self.begin_clause(&word, may_be_name);
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
