//! Rewrites casts to `regclass`, `regtype`, `regnamespace`, `regproc` and `regprocedure` (PostgreSQL's manual, "Object
//! Identifier Types").
//!
//! In PostgreSQL such a value is an object's number that is shown as the object's name. DuckDB has no such types, so a
//! cast becomes a call of one of two functions of `catalog_names.sql`. The context decides: `…_name` if the value
//! is then cast to a text, `…_number` if it is cast to another type. If it is not cast again, a constant or a parameter
//! is a number, because clients compare it with numbers, and a column is a name, because clients show it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use colonnade_sql::edit::Edits;
use colonnade_sql::{Token, TokenKind};

use super::names::CATALOG;
use super::{SCHEMA, qualifies};

pub const TYPES: [&str; 5] = ["regclass", "regtype", "regnamespace", "regproc", "regprocedure"];
/// The types of texts.
const TEXTS: [&str; 4] = ["text", "varchar", "name", "character"];
/// Functions whose first argument is the number of a relation or another object.
const OID_FUNCTIONS: [&str; 9] = [
    "obj_description",
    "col_description",
    "pg_relation_size",
    "pg_table_size",
    "pg_total_relation_size",
    "pg_get_indexdef",
    "pg_get_viewdef",
    "pg_get_constraintdef",
    "pg_sequence_last_value",
];
/// The function that gives the name of a value's type.
pub const TYPE_FUNCTION: &str = "pg_typeof";
/// Functions whose argument in DuckDB is the name of a sequence.
const SEQUENCE_FUNCTIONS: [&str; 3] = ["nextval", "currval", "setval"];

/// The tokens of a statement, with tables in which a cast finds its operand in a few steps. The steps do not grow with
/// the statement's length.
pub(super) struct Casts<'t, 'a> {
    tokens: &'t [Token<'a>],
    /// For each token, the innermost parenthesis that is open before it.
    parentheses: Vec<Option<usize>>,
    /// For each token, the innermost bracket that is open before it.
    brackets: Vec<Option<usize>>,
    /// The first token of the operand of each `::` that was examined.
    operands: HashMap<usize, Option<usize>>,
}

impl<'t, 'a> Casts<'t, 'a> {
    pub fn new(tokens: &'t [Token<'a>]) -> Self {
        let (parentheses, brackets) = (openings(tokens, b'(', b')'), openings(tokens, b'[', b']'));
        Self { tokens, parentheses, brackets, operands: HashMap::new() }
    }

    /// Adds the changes of a cast whose `::` or `AS` is the token at `at`. Gives the number of tokens from there to the
    /// cast's end.
    pub fn rewrite(&mut self, at: usize, edits: &mut Edits) -> Option<usize> {
        let tokens = self.tokens;
        let is_postfix = is_double_colon(tokens, at);
        if !is_postfix && !tokens[at].is_word("as") {
            return None;
        }
        let (type_, end) = type_name(tokens, at + if is_postfix { 2 } else { 1 })?;
        let whole = tokens[at].start..tokens[end - 1].end();
        if is_postfix && type_ == "oid" && !is_symbol(tokens, end, b'[') {
            // The number of a type whose name a function gives.
            let operand = self.operand(at).filter(|operand| is_type_function(&tokens[*operand..at]))?;
            edits.insert(tokens[operand].start, format!("{CATALOG}regtype_number("));
            edits.replace(whole, ")");
            return Some(end - at);
        }
        let type_ = TYPES.into_iter().find(|name| *name == type_)?;
        if is_postfix {
            let operand = self.operand(at)?;
            if is_symbol(tokens, end, b'[') {
                // An array column becomes a list of names, and a literal one of numbers.
                let kind = match tokens[operand].kind {
                    TokenKind::Text => "numbers",
                    _ if is_column(&tokens[operand]) => "list",
                    _ => return None,
                };
                let is_list = type_ == "regtype" && is_symbol(tokens, end + 1, b']');
                return is_list.then(|| {
                    edits.insert(tokens[operand].start, format!("{CATALOG}{type_}_{kind}("));
                    edits.replace(tokens[at].start..tokens[end + 1].end(), ")");
                    end + 2 - at
                });
            }
            let is_sequences = operand >= 2
                && is_symbol(tokens, operand - 1, b'(')
                && SEQUENCE_FUNCTIONS.iter().any(|name| tokens[operand - 2].is_word(name));
            if is_sequences {
                edits.remove(whole);
            } else {
                let kind = self.function(type_, operand..at, end);
                edits.insert(tokens[operand].start, format!("{CATALOG}{type_}_{kind}("));
                edits.replace(whole, ")");
            }
        } else {
            let open = self.parentheses[at]?;
            let cast = tokens.get(open.checked_sub(1)?).filter(|token| token.is_word("cast"))?;
            if open + 1 == at || !is_symbol(tokens, end, b')') {
                return None;
            }
            let kind = self.function(type_, open + 1..at, end + 1);
            edits.replace(cast.start..cast.end(), format!("{CATALOG}{type_}_{kind}"));
            edits.remove(whole);
        }
        Some(end - at)
    }

    /// The function that replaces a cast of `operand` to `type_`. `after` is the token after the cast. A `regproc` that
    /// is compared is a name.
    fn function(&self, type_: &str, operand: Range<usize>, after: usize) -> &'static str {
        match self.next_type(after) {
            Some(next) if type_ == "regproc" && !TEXTS.contains(&&*next) => "oid",
            Some(type_) if TEXTS.contains(&&*type_) => "name",
            Some(_) => "number",
            None if is_constant(&self.tokens[operand.clone()])
                || self.is_compared(after)
                || is_joined(&self.tokens[operand.clone()]) && self.is_beside_sign(operand.start, after)
                || self.is_argument(operand.start) =>
            {
                "number"
            }
            None => "name",
        }
    }

    /// Whether the operand at `at` is the first argument of a function of numbers.
    fn is_argument(&self, at: usize) -> bool {
        let before = at.checked_sub(2).and_then(|start| self.tokens.get(start..at));
        matches!(before, Some([name, open]) if open.is_symbol(b'(') && name.is_one_of(&OID_FUNCTIONS))
    }

    /// Whether the cast before `at` is compared with another cast of a constant. Then both are numbers.
    fn is_compared(&self, at: usize) -> bool {
        let signs = self.tokens[at..]
            .iter()
            .take(2)
            .take_while(|token| matches!(token.kind, TokenKind::Symbol(b'=' | b'<' | b'>' | b'!')));
        let constant = at + signs.count();
        constant > at
            && self.tokens.get(constant..=constant).is_some_and(is_constant)
            && is_double_colon(self.tokens, constant + 1)
    }

    /// Whether a sign of equality is before the token at `start`, or after the cast that ends before `after`.
    fn is_beside_sign(&self, start: usize, after: usize) -> bool {
        let is_text = |at: usize| self.tokens.get(at).is_some_and(|token| token.kind == TokenKind::Text);
        start > 0 && is_symbol(self.tokens, start - 1, b'=')
            || is_symbol(self.tokens, after, b'=') && !is_text(after + 1)
    }

    /// The type to which the cast before `at` is cast again.
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

    /// The first token of the operand of the `::`, or of the operator, at `at`. Remembers it for all `::` of a chain of
    /// casts.
    pub fn operand(&mut self, at: usize) -> Option<usize> {
        let mut chain = vec![at];
        let operand = self.find_operand(at, &mut chain);
        self.operands.extend(chain.into_iter().map(|cast| (cast, operand)));
        operand
    }

    /// Finds the operand: only a dot and a subscript have a higher precedence than `::`. Adds the casts before the one
    /// at `at`.
    fn find_operand(&self, at: usize, chain: &mut Vec<usize>) -> Option<usize> {
        let tokens = self.tokens;
        let mut last = at.checked_sub(1)?;
        loop {
            let mut start = match tokens[last].kind {
                TokenKind::Symbol(b']') => {
                    last = self.brackets[last]?.checked_sub(1)?;
                    continue;
                }
                TokenKind::Symbol(b')') => {
                    let open = self.parentheses[last]?;
                    // A function's name is directly before its parenthesis. A keyword usually has a space after it.
                    let name = open.checked_sub(1).filter(|&at| tokens[at].is_identifier() && touch(tokens, at));
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
            // The token was the type of an earlier cast with the same operand.
            if let Some(operand) = self.operands.get(&(start - 2)) {
                return *operand;
            }
            chain.push(start - 2);
            last = start - 3;
        }
    }
}

/// Whether the tokens call the function that gives the name of a value's type.
fn is_type_function(operand: &[Token<'_>]) -> bool {
    match operand {
        [schema, dot, name, ..] if qualifies(schema, dot, SCHEMA) => name.is_name(TYPE_FUNCTION),
        [name, open, ..] => name.is_name(TYPE_FUNCTION) && open.is_symbol(b'('),
        _ => false,
    }
}

fn is_column(operand: &Token<'_>) -> bool {
    operand.is_identifier() && !operand.is_word("array")
}

/// For each token, the innermost opening that is not closed before it.
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

/// A text that is put together: `(schema || '.' || name)`. Its number is what numbers are compared with.
fn is_joined(operand: &[Token<'_>]) -> bool {
    /// The tokens that are read. Operands may be nested, and each of them would be read again.
    const READ: usize = 32;
    let [open, .., close] = operand else { return false };
    let is_bar = |token: &Token<'_>| token.is_symbol(b'|');
    let mut pairs = operand.windows(2).take(READ);
    open.is_symbol(b'(') && close.is_symbol(b')') && pairs.any(|pair| pair.iter().all(is_bar))
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
    let name = tokens.get(at).filter(|token| token.is_identifier())?;
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
    use super::super::tests::rewritten;

    #[test]
    fn casts_become_calls() {
        for (given, expected) in [
            ("x = 'pg_class'::regclass", "x = colonnade_catalog.pg.regclass_number('pg_class')"),
            ("x = 'pg_class'::pg_catalog.regclass::oid", "x = colonnade_catalog.pg.regclass_number('pg_class')::oid"),
            ("$1::text::regclass", "colonnade_catalog.pg.regclass_number($1::text)"),
            ("'t'::regclass::pg_catalog.text", "colonnade_catalog.pg.regclass_name('t')::text"),
            ("select c.oid::regclass as t", "select colonnade_catalog.pg.regclass_name(c.oid) as t"),
            ("select c.\"oid\" :: RegClass", "select colonnade_catalog.pg.regclass_name(c.\"oid\" )"),
            ("max(a, f(b))::regtype", "colonnade_catalog.pg.regtype_name(max(a, f(b)))"),
            ("select (a)::regnamespace::text", "select colonnade_catalog.pg.regnamespace_name((a))::text"),
            ("a.b[1][2]::regtype", "colonnade_catalog.pg.regtype_name(a.b[1][2])"),
            (
                "a::regclass::oid::regclass",
                "colonnade_catalog.pg.regclass_name(colonnade_catalog.pg.regclass_number(a)::oid)",
            ),
            ("CAST($1::VARCHAR AS REGCLASS)", "colonnade_catalog.pg.regclass_number($1::VARCHAR )"),
            ("cast(CAST(a.b AS regclass) AS TEXT)", "cast(colonnade_catalog.pg.regclass_name(a.b ) AS TEXT)"),
            (
                "CAST(CAST(f(CAST(a AS REGCLASS)) AS REGCLASS) AS OID)",
                "CAST(colonnade_catalog.pg.regclass_number(f(colonnade_catalog.pg.regclass_name(a )) ) AS OID)",
            ),
            ("'f'::pg_catalog.regproc::pg_catalog.oid", "colonnade_catalog.pg.regproc_oid('f')::oid"),
            ("f.oid::pg_catalog.regprocedure as p", "colonnade_catalog.pg.regprocedure_name(f.oid) as p"),
            ("(select a::regclass as text)", "(select colonnade_catalog.pg.regclass_name(a) as text)"),
            ("nextval('s'::regclass)", "nextval('s')"),
            ("a as regclass", "a as regclass"),
            (
                "a::regtype <> 'x'::regtype",
                "colonnade_catalog.pg.regtype_number(a) <> colonnade_catalog.pg.regtype_number('x')",
            ),
            ("pg_typeof($1)::oid", "colonnade_catalog.pg.regtype_number(pg_typeof($1))"),
            ("a.oid::oid", "a.oid::oid"),
            (
                "pg_typeof(a)::regtype = $1::regtype",
                "colonnade_catalog.pg.regtype_number(pg_typeof(a)) = colonnade_catalog.pg.regtype_number($1)",
            ),
            (
                "obj_description((a || b)::regclass, 'pg_class')",
                "obj_description(colonnade_catalog.pg.regclass_number((a || b)), 'pg_class')",
            ),
            ("(a || '.' || b)::regclass = c", "colonnade_catalog.pg.regclass_number((a || '.' || b)) = c"),
            ("c = ('a' || b)::regclass", "c = colonnade_catalog.pg.regclass_number(('a' || b))"),
            ("(a || b)::regclass = 'c'", "colonnade_catalog.pg.regclass_name((a || b)) = 'c'"),
            ("a::regclass = 'x'", "colonnade_catalog.pg.regclass_name(a) = 'x'"),
            ("a::regclass[]", "a::regclass[]"),
            ("p.a::regtype[]::text[]", "colonnade_catalog.pg.regtype_list(p.a)::text[]"),
            ("'{25}'::regtype[]", "colonnade_catalog.pg.regtype_numbers('{25}')"),
            ("f(a)::regclass[]", "f(a)::regclass[]"),
            ("::regclass", "::regclass"),
            ("a + ::regclass", "a + ::regclass"),
        ] {
            assert_eq!(rewritten(given), expected, "{given}");
        }
    }

    /// An earlier version took quadratic time for each of these.
    #[test]
    fn time_grows_linearly_with_the_length() {
        const MANY: usize = 100_000;
        let (casts, opened) = ("'t'::regclass as t, ".repeat(MANY), "(".repeat(MANY));
        assert_eq!(rewritten(&casts).len(), "colonnade_catalog.pg.regclass_number('t') as t, ".len() * MANY);
        let chained = format!("a{}", "::regclass".repeat(MANY));
        let chain = rewritten(&chained);
        assert!(
            chain.starts_with("colonnade_catalog.pg.regclass_name(colonnade_catalog.pg.regclass_number(")
                && chain.ends_with("))))")
        );
        assert_eq!(chain.matches("regclass_").count(), MANY);
        let nested = format!("{opened}a{}", ")::regclass".repeat(MANY));
        assert_eq!(rewritten(&nested).matches("regclass_").count(), MANY);
        assert!(rewritten(&format!("{opened}{casts}")).ends_with("colonnade_catalog.pg.regclass_number('t') as t, "));
        let _ = rewritten(&"cast(a as regclass, ".repeat(MANY));
        let _ = rewritten(&"operator(pg_catalog.".repeat(MANY));
    }
}
