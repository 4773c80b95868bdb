//! Casts to `regclass`, `regtype`, `regnamespace`, `regproc` and `regprocedure` (PostgreSQL's manual, "Object Identifier Types").
//!
//! In PostgreSQL such a value is the number of a thing, which looks like its name. DuckDB has no type like that, so a
//! cast becomes a call of one of two functions of `catalog.sql`, and what is written around it says which: `…_name` if the
//! value is cast to a text next, `…_number` if to anything else. A last cast of a constant or a parameter is meant to be
//! compared with a number, one of a column to be read.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use colonnade_sql::edit::Edits;
use colonnade_sql::{Token, TokenKind};

use super::{SCHEMA, qualifies};

pub const TYPES: [&str; 5] = ["regclass", "regtype", "regnamespace", "regproc", "regprocedure"];
/// Types that a name is cast to.
const TEXTS: [&str; 4] = ["text", "varchar", "name", "character"];
/// Functions that know a sequence by its name, in DuckDB.
const OF_SEQUENCES: [&str; 3] = ["nextval", "currval", "setval"];

/// The tokens of a statement, and what is known of the casts in it. Each is looked up in a few steps, however long the
/// statement is.
pub(super) struct Casts<'t, 'a> {
    tokens: &'t [Token<'a>],
    /// For each token the parenthesis that is open before it.
    parentheses: Vec<Option<usize>>,
    /// For each token the bracket that is open before it.
    brackets: Vec<Option<usize>>,
    /// Where the operand of each `::` begins that was looked at.
    operands: HashMap<usize, Option<usize>>,
}

impl<'t, 'a> Casts<'t, 'a> {
    pub fn new(tokens: &'t [Token<'a>]) -> Self {
        let (parentheses, brackets) = (openings(tokens, b'(', b')'), openings(tokens, b'[', b']'));
        Self { tokens, parentheses, brackets, operands: HashMap::new() }
    }

    /// Notes what becomes of a cast whose `::` or `AS` is the token at `at`; the number of tokens up to its end.
    pub fn rewrite(&mut self, at: usize, edits: &mut Edits) -> Option<usize> {
        let tokens = self.tokens;
        let is_postfix = is_double_colon(tokens, at);
        if !is_postfix && !tokens[at].is_word("as") {
            return None;
        }
        let (type_, end) = type_name(tokens, at + if is_postfix { 2 } else { 1 })?;
        let type_ = TYPES.into_iter().find(|name| *name == type_)?;
        let whole = tokens[at].start..tokens[end - 1].end();
        if is_postfix {
            let operand = self.operand(at)?;
            if is_symbol(tokens, end, b'[') {
                // Of a column, the names.
                let is_list = type_ == "regtype" && is_symbol(tokens, end + 1, b']') && is_column(&tokens[operand]);
                return is_list.then(|| {
                    edits.insert(tokens[operand].start, format!("{type_}_list("));
                    edits.replace(tokens[at].start..tokens[end + 1].end(), ")");
                    end + 2 - at
                });
            }
            let is_sequences = operand >= 2
                && is_symbol(tokens, operand - 1, b'(')
                && OF_SEQUENCES.iter().any(|name| tokens[operand - 2].is_word(name));
            if is_sequences {
                edits.remove(whole);
            } else {
                let kind = self.function(type_, operand..at, end);
                edits.insert(tokens[operand].start, format!("{type_}_{kind}("));
                edits.replace(whole, ")");
            }
        } else {
            let open = self.parentheses[at]?;
            let cast = tokens.get(open.checked_sub(1)?).filter(|token| token.is_word("cast"))?;
            if open + 1 == at || !is_symbol(tokens, end, b')') {
                return None;
            }
            let kind = self.function(type_, open + 1..at, end + 1);
            edits.replace(cast.start..cast.end(), format!("{type_}_{kind}"));
            edits.remove(whole);
        }
        Some(end - at)
    }

    /// Which of the functions a cast of `operand` to `type_` is, if `after` is the token that follows it. Functions that are
    /// compared are names.
    fn function(&self, type_: &str, operand: Range<usize>, after: usize) -> &'static str {
        match self.next_type(after) {
            Some(next) if type_ == "regproc" && !TEXTS.contains(&&*next) => "oid",
            Some(type_) if TEXTS.contains(&&*type_) => "name",
            Some(_) => "number",
            None if is_constant(&self.tokens[operand]) || self.is_compared(after) => "number",
            None => "name",
        }
    }

    /// Whether what ends before `at` is compared with a constant that is cast, too: as numbers.
    fn is_compared(&self, at: usize) -> bool {
        let signs = self.tokens[at..]
            .iter()
            .take(2)
            .take_while(|token| matches!(token.kind, TokenKind::Symbol(b'=' | b'<' | b'>' | b'!')));
        let constant = at + signs.count();
        constant > at
            && self.tokens.get(constant).is_some_and(|token| token.kind == TokenKind::Text)
            && is_double_colon(self.tokens, constant + 1)
    }

    /// The type that what ends before `at` is cast to.
    fn next_type(&self, at: usize) -> Option<Cow<'a, str>> {
        if is_double_colon(self.tokens, at) {
            return Some(type_name(self.tokens, at + 2)?.0);
        }
        if !self.tokens.get(at)?.is_word("as") {
            return None;
        }
        let open = self.parentheses[at]?;
        let is_cast = self.tokens.get(open.checked_sub(1)?)?.is_word("cast");
        if is_cast { Some(type_name(self.tokens, at + 1)?.0) } else { None }
    }

    /// Where the expression begins that the `::` at `cast` casts.
    fn operand(&mut self, cast: usize) -> Option<usize> {
        let operand = self.find_operand(cast);
        self.operands.insert(cast, operand);
        operand
    }

    /// The same: `::` binds closer than all but a dot and a subscript.
    fn find_operand(&self, cast: usize) -> Option<usize> {
        let tokens = self.tokens;
        let mut last = cast.checked_sub(1)?;
        loop {
            let mut start = match tokens[last].kind {
                TokenKind::Symbol(b']') => {
                    last = self.brackets[last]?.checked_sub(1)?;
                    continue;
                }
                TokenKind::Symbol(b')') => {
                    let open = self.parentheses[last]?;
                    // A function's name stands right before its arguments, a keyword mostly does not.
                    let is_name = |token: &Token<'_>| matches!(token.kind, TokenKind::Word | TokenKind::Name);
                    let name = open.checked_sub(1).filter(|&at| is_name(&tokens[at]) && touch(tokens, at));
                    name.unwrap_or(open)
                }
                TokenKind::Symbol(_) => return None,
                _ => last,
            };
            while start >= 2 && is_symbol(tokens, start - 1, b'.') {
                start -= 2;
            }
            if start < 3 || !is_double_colon(tokens, start - 2) {
                return Some(start);
            }
            // That was the type of a cast before, which begins where this one does.
            if let Some(operand) = self.operands.get(&(start - 2)) {
                return *operand;
            }
            last = start - 3;
        }
    }
}

fn is_column(operand: &Token<'_>) -> bool {
    matches!(operand.kind, TokenKind::Word | TokenKind::Name) && !operand.is_word("array")
}

/// For each token the opening that is not closed before it.
fn openings(tokens: &[Token<'_>], open: u8, close: u8) -> Vec<Option<usize>> {
    let mut pending = Vec::new();
    let before = tokens.iter().enumerate().map(|(at, token)| {
        let last = pending.last().copied();
        if token.kind == TokenKind::Symbol(open) {
            pending.push(at);
        } else if token.kind == TokenKind::Symbol(close) {
            pending.pop();
        }
        last
    });
    before.collect()
}

/// A literal or a parameter, whatever it is cast to.
fn is_constant(operand: &[Token<'_>]) -> bool {
    let [constant, rest @ ..] = operand else { return false };
    matches!(constant.kind, TokenKind::Text | TokenKind::Positional)
        && rest.first().is_none_or(|next| next.is_symbol(b':'))
}

/// The name of the type at `at`, without `pg_catalog.`, and where it ends.
fn type_name<'a>(tokens: &[Token<'a>], at: usize) -> Option<(Cow<'a, str>, usize)> {
    let at = match tokens.get(at..)? {
        [schema, dot, ..] if qualifies(schema, dot, SCHEMA) => at + 2,
        _ => at,
    };
    let name = tokens.get(at).filter(|token| matches!(token.kind, TokenKind::Word | TokenKind::Name))?;
    Some((name.folded(), at + 1))
}

fn is_double_colon(tokens: &[Token<'_>], at: usize) -> bool {
    is_symbol(tokens, at, b':') && is_symbol(tokens, at + 1, b':') && touch(tokens, at)
}

fn is_symbol(tokens: &[Token<'_>], at: usize, symbol: u8) -> bool {
    tokens.get(at).is_some_and(|token| token.is_symbol(symbol))
}

/// Whether nothing is between a token and the next one.
fn touch(tokens: &[Token<'_>], at: usize) -> bool {
    tokens.get(at + 1).is_some_and(|next| next.start == tokens[at].end())
}

#[cfg(test)]
mod tests {
    use super::super::tests::plain;

    #[test]
    fn casts_become_calls() {
        for (given, expected) in [
            ("x = 'pg_class'::regclass", "x = regclass_number('pg_class')"),
            ("x = 'pg_class'::pg_catalog.regclass::oid", "x = regclass_number('pg_class')::oid"),
            ("$1::text::regclass", "regclass_number($1::text)"),
            ("'t'::regclass::pg_catalog.text", "regclass_name('t')::text"),
            ("select c.oid::regclass as t", "select regclass_name(c.oid) as t"),
            ("select c.\"oid\" :: RegClass", "select regclass_name(c.\"oid\" )"),
            ("max(a, f(b))::regtype", "regtype_name(max(a, f(b)))"),
            ("select (a)::regnamespace::text", "select regnamespace_name((a))::text"),
            ("a.b[1][2]::regtype", "regtype_name(a.b[1][2])"),
            ("a::regclass::oid::regclass", "regclass_name(regclass_number(a)::oid)"),
            ("CAST($1::VARCHAR AS REGCLASS)", "regclass_number($1::VARCHAR )"),
            ("cast(CAST(a.b AS regclass) AS TEXT)", "cast(regclass_name(a.b ) AS TEXT)"),
            (
                "CAST(CAST(f(CAST(a AS REGCLASS)) AS REGCLASS) AS OID)",
                "CAST(regclass_number(f(regclass_name(a )) ) AS OID)",
            ),
            ("'f'::pg_catalog.regproc::pg_catalog.oid", "regproc_oid('f')::oid"),
            ("f.oid::pg_catalog.regprocedure as p", "regprocedure_name(f.oid) as p"),
            ("(select a::regclass as text)", "(select regclass_name(a) as text)"),
            ("nextval('s'::regclass)", "nextval('s')"),
            ("a as regclass", "a as regclass"),
            ("a::regtype <> 'x'::regtype", "regtype_number(a) <> regtype_number('x')"),
            ("a::regclass = 'x'", "regclass_name(a) = 'x'"),
            ("a::regclass[]", "a::regclass[]"),
            ("p.a::regtype[]::text[]", "regtype_list(p.a)::text[]"),
            ("'{25}'::regtype[]", "'{25}'::regtype[]"),
            ("::regclass", "::regclass"),
            ("a + ::regclass", "a + ::regclass"),
        ] {
            assert_eq!(plain(given), expected, "{given}");
        }
    }

    /// Each of these took a time that grew with the square of its length once.
    #[test]
    fn a_long_statement_takes_no_longer_than_its_length_says() {
        const MANY: usize = 100_000;
        let (casts, opened) = ("'t'::regclass as t, ".repeat(MANY), "(".repeat(MANY));
        assert_eq!(plain(&casts).len(), "regclass_number('t') as t, ".len() * MANY);
        let chained = format!("a{}", "::regclass".repeat(MANY));
        let chain = plain(&chained);
        assert!(chain.starts_with("regclass_name(regclass_number(") && chain.ends_with("))))"));
        assert_eq!(chain.matches("regclass_").count(), MANY);
        let nested = format!("{opened}a{}", ")::regclass".repeat(MANY));
        assert_eq!(plain(&nested).matches("regclass_").count(), MANY);
        assert!(plain(&format!("{opened}{casts}")).ends_with("regclass_number('t') as t, "));
        let _ = plain(&"cast(a as regclass, ".repeat(MANY));
        let _ = plain(&"operator(pg_catalog.".repeat(MANY));
    }
}
