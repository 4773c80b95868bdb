//! Compares rows part by part, as PostgreSQL does: `(a, b) = (1, '2024-01-01')` becomes `(a = 1 AND b = '2024-01-01')`.
//!
//! DuckDB compares rows as single values. It then takes a literal for a text, so that `(b) = ('2024-01-01')` is a
//! comparison of texts, and NULL for a value that is equal to NULL. The parts follow PostgreSQL's
//! make_row_comparison_op (src/backend/parser/parse_expr.c).

use std::fmt::Write as _;
use std::ops::Range;

use colonnade_sql::edit::Edits;
use colonnade_sql::{Reading, Token, TokenKind, closings};

/// The most bytes of the comparisons in the place of a statement's rows. The left side of IN stands in each of them.
const MAX_BYTES: usize = 4 << 20;
/// Words after which an expression begins.
const BEFORE: [&str; 16] = [
    "where",
    "and",
    "or",
    "not",
    "on",
    "when",
    "then",
    "else",
    "select",
    "having",
    "qualify",
    "case",
    "return",
    "distinct",
    "by",
    "returning",
];
/// Words that begin a clause: after a comma, it is still the one before it.
const CLAUSES: [&str; 11] =
    ["select", "from", "where", "set", "values", "group", "order", "having", "returning", "on", "qualify"];
/// Words that begin a query.
const QUERIES: [&str; 5] = ["select", "with", "values", "from", "table"];

/// The changes that compare the parts of rows.
pub fn edits(reading: &Reading<'_>) -> Edits {
    let (mut edits, statement) = (Edits::default(), reading.text());
    if !may_compare(statement) {
        return edits;
    }
    let tokens = reading.tokens();
    let rows = Rows { statement, tokens, closings: closings(tokens), assignments: assignments(tokens) };
    let (mut at, mut bytes) = (0, 0);
    while at < tokens.len() {
        if let Some((end, text)) = rows.comparison(at)
            && bytes + text.len() <= MAX_BYTES
        {
            bytes += text.len();
            edits.replace(tokens[at].start..tokens[end - 1].end(), text);
            at = end;
        } else {
            at += 1;
        }
    }
    edits
}

/// Whether a parenthesis closes before a comparison. It is decided without looking at tokens.
fn may_compare(statement: &str) -> bool {
    let mut rest = statement;
    while let Some(at) = rest.find(')') {
        rest = &rest[at + 1..];
        let next = rest.trim_ascii_start().as_bytes();
        if matches!(
            next,
            [b'=' | b'<' | b'>' | b'!', ..]
                | [b'i' | b'I', b'n' | b'N' | b's' | b'S', ..]
                | [b'n' | b'N', b'o' | b'O', b't' | b'T', ..]
        ) || matches!(next, [b'-', b'-', ..] | [b'/', b'*', ..])
        {
            return true;
        }
    }
    false
}

/// For each token, whether it is in the SET of an UPDATE and outside of its parentheses.
fn assignments(tokens: &[Token<'_>]) -> Vec<bool> {
    let (mut around, mut is_set) = (Vec::new(), false);
    let is_assignment = tokens.iter().map(|token| {
        match token.kind {
            TokenKind::Symbol(b'(') => around.push(std::mem::take(&mut is_set)),
            TokenKind::Symbol(b')') => is_set = around.pop().unwrap_or(false),
            TokenKind::Word if token.is_one_of(&CLAUSES) => is_set = token.is_word("set"),
            _ => {}
        }
        is_set
    });
    is_assignment.collect()
}

struct Rows<'t, 'a> {
    statement: &'a str,
    tokens: &'t [Token<'a>],
    closings: Vec<Option<usize>>,
    assignments: Vec<bool>,
}

/// How two rows are compared.
enum Comparison {
    /// Each part by the operator, and the results by the word.
    Parts(&'static str, &'static str),
    /// The first parts that differ, by the operator; the last ones by the second operator.
    Order(&'static str, &'static str),
    /// A list of rows, or its negation.
    In { is_not: bool },
}

impl Rows<'_, '_> {
    /// The comparison that begins at a token: its end, and what takes its place.
    fn comparison(&self, at: usize) -> Option<(usize, String)> {
        if !self.begins_expression(at) {
            return None;
        }
        let (left, end) = self.row(at)?;
        let (comparison, right) = self.operator(end)?;
        let mut out = String::new();
        match comparison {
            Comparison::In { is_not } => {
                let close = self.closings.get(right).copied().flatten()?;
                let items = self.items(right + 1..close);
                let mut rows = Vec::with_capacity(items.len());
                for item in items {
                    let (row, end) = self.row(item.start)?;
                    if end != item.end || row.len() != left.len() {
                        return None;
                    }
                    rows.push(row);
                }
                let length: usize = left.iter().map(|part| self.text(part).len()).sum();
                if length.saturating_mul(rows.len()) > MAX_BYTES {
                    return None;
                }
                out.push_str(if is_not { "(NOT (" } else { "(" });
                for (number, row) in rows.iter().enumerate() {
                    out.push_str(if number > 0 { " OR " } else { "" });
                    self.write_parts(&mut out, &left, row, "=", "AND");
                }
                out.push_str(if is_not { "))" } else { ")" });
                Some((close + 1, out))
            }
            Comparison::Parts(operator, word) => {
                let (right, end) = self.row(right).filter(|(right, _)| right.len() == left.len())?;
                self.write_parts(&mut out, &left, &right, operator, word);
                Some((end, out))
            }
            Comparison::Order(operator, last) => {
                let (right, end) = self.row(right).filter(|(right, _)| right.len() == left.len())?;
                for (number, (one, other)) in left.iter().zip(&right).enumerate() {
                    let (one, other) = (self.text(one), self.text(other));
                    let _ = match number + 1 == left.len() {
                        true => write!(out, "({one}) {last} ({other})"),
                        false => write!(out, "(({one}) {operator} ({other}) OR (({one}) = ({other}) AND "),
                    };
                }
                out.push_str(&"))".repeat(left.len() - 1));
                Some((end, format!("({out})")))
            }
        }
    }

    fn write_parts(&self, out: &mut String, left: &[Range<usize>], right: &[Range<usize>], operator: &str, word: &str) {
        out.push('(');
        for (number, (one, other)) in left.iter().zip(right).enumerate() {
            let word = if number > 0 { format!(" {word} ") } else { String::new() };
            let _ = write!(out, "{word}({}) {operator} ({})", self.text(one), self.text(other));
        }
        out.push(')');
    }

    fn text(&self, part: &Range<usize>) -> &str {
        &self.statement[self.tokens[part.start].start..self.tokens[part.end - 1].end()]
    }

    /// Whether an expression can begin at a token, so that parentheses there are neither of a call nor of a list of
    /// columns.
    fn begins_expression(&self, at: usize) -> bool {
        let Some(before) = at.checked_sub(1).map(|before| &self.tokens[before]) else { return false };
        match before.kind {
            TokenKind::Symbol(b',') => !self.assignments[at - 1],
            TokenKind::Symbol(b'(' | b'[') => true,
            TokenKind::Word => before.is_one_of(&BEFORE),
            _ => false,
        }
    }

    /// The parts of a row, and the token after it.
    fn row(&self, at: usize) -> Option<(Vec<Range<usize>>, usize)> {
        let is_named = self.tokens.get(at)?.is_word("row");
        let open = at + usize::from(is_named);
        // A list in other brackets is no row.
        let is_opened = self.tokens.get(open).is_some_and(|token| token.is_symbol(b'('));
        let close = self.closings.get(open).copied().flatten().filter(|_| is_opened)?;
        let begins_query = self.tokens.get(open + 1).is_some_and(|token| token.is_one_of(&QUERIES));
        let parts = self.items(open + 1..close);
        let is_row = !begins_query && (parts.len() > 1 || is_named && parts.len() == 1);
        (is_row && parts.iter().all(|part| !part.is_empty())).then_some((parts, close + 1))
    }

    /// What commas separate.
    fn items(&self, within: Range<usize>) -> Vec<Range<usize>> {
        let (mut items, mut start, mut depth) = (Vec::new(), within.start, 0_usize);
        for at in within.clone() {
            match self.tokens[at].kind {
                TokenKind::Symbol(b'(' | b'[' | b'{') => depth += 1,
                TokenKind::Symbol(b')' | b']' | b'}') => depth = depth.saturating_sub(1),
                TokenKind::Symbol(b',') if depth == 0 => {
                    items.push(start..at);
                    start = at + 1;
                }
                _ => {}
            }
        }
        items.push(start..within.end);
        items
    }

    /// The comparison at a token, and the token after it.
    fn operator(&self, at: usize) -> Option<(Comparison, usize)> {
        let symbol = |at: usize, symbol: u8| self.tokens.get(at).is_some_and(|token| token.is_symbol(symbol));
        let word = |at: usize, word: &str| self.tokens.get(at).is_some_and(|token| token.is_word(word));
        // A named row has its word before the parenthesis.
        let opens = |at: usize| symbol(at, b'(') || word(at, "row");
        let (comparison, end) = match () {
            () if symbol(at, b'<') && symbol(at + 1, b'>') => (Comparison::Parts("<>", "OR"), at + 2),
            () if symbol(at, b'!') && symbol(at + 1, b'=') => (Comparison::Parts("<>", "OR"), at + 2),
            () if symbol(at, b'<') && symbol(at + 1, b'=') => (Comparison::Order("<", "<="), at + 2),
            () if symbol(at, b'>') && symbol(at + 1, b'=') => (Comparison::Order(">", ">="), at + 2),
            () if symbol(at, b'=') => (Comparison::Parts("=", "AND"), at + 1),
            () if symbol(at, b'<') => (Comparison::Order("<", "<"), at + 1),
            () if symbol(at, b'>') => (Comparison::Order(">", ">"), at + 1),
            () if word(at, "in") => (Comparison::In { is_not: false }, at + 1),
            () if word(at, "not") && word(at + 1, "in") => (Comparison::In { is_not: true }, at + 2),
            () if word(at, "is") && word(at + 1, "distinct") && word(at + 2, "from") => {
                (Comparison::Parts("IS DISTINCT FROM", "OR"), at + 3)
            }
            () if word(at, "is") && word(at + 1, "not") && word(at + 2, "distinct") && word(at + 3, "from") => {
                (Comparison::Parts("IS NOT DISTINCT FROM", "AND"), at + 4)
            }
            () => return None,
        };
        opens(end).then_some((comparison, end))
    }
}

#[cfg(test)]
mod tests {
    use colonnade_sql::Dialect;

    use super::*;

    fn rewritten(statement: &str) -> String {
        edits(&Reading::new(statement, Dialect::DuckDb)).apply(statement).text.into_owned()
    }

    #[test]
    fn parts_are_compared() {
        for (given, expected) in [
            ("where (a, b) = ($1, '2')", "where ((a) = ($1) AND (b) = ('2'))"),
            ("where not (a, f(b, c)) <> row (1, 2) and d", "where not ((a) <> (1) OR (f(b, c)) <> (2)) and d"),
            (
                "where (a, b, c) >= (1, 2, 3)",
                "where (((a) > (1) OR ((a) = (1) AND ((b) > (2) OR ((b) = (2) AND (c) >= (3))))))",
            ),
            (
                "select 1, (a, b) in ((1, 2), row(3, 4)) x",
                "select 1, (((a) = (1) AND (b) = (2)) OR ((a) = (3) AND (b) = (4))) x",
            ),
            ("on (a, b) not in ((1, 2))", "on (NOT (((a) = (1) AND (b) = (2))))"),
            ("where row(a) is not distinct from row($1)", "where ((a) IS NOT DISTINCT FROM ($1))"),
            ("set a = ((b, c) = (d, e))", "set a = (((b) = (d) AND (c) = (e)))"),
        ] {
            assert_eq!(rewritten(given), expected, "{given}");
        }
    }

    #[test]
    fn others_stay() {
        for given in [
            "update t set (a, b) = (1, 2)",
            "update t set c = 3, (a, b) = (1, 2) where i",
            "where f(a, b) = (1, 2)",
            "where (a, b) = (select 1, 2)",
            "where (a, b) in (select 1, 2)",
            "where (a, b) = (1, 2, 3)",
            "where (a, b) = $1",
            "where (a) = (1)",
            "where [a, b] = (1, 2)",
            "select x in (1, 2) = (3, 4)",
            "insert into t (a, b) values (1, 2)",
            "where (a, b) = (1, 2",
        ] {
            assert_eq!(rewritten(given), given);
        }
    }

    #[test]
    fn the_text_has_a_limit() {
        let item = format!("({}, 2)", "x".repeat(1000));
        let statement = format!("where {item} in ({})", vec!["(1, 2)"; 10_000].join(", "));
        assert_eq!(rewritten(&statement), statement);
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_statements_never_panic(given in r"(where|and|set|select|row|\(a, b\)|\(1, 2\)|is|not|distinct from|in|[(),=<>!a1 é]){0,16}") {
            let _ = rewritten(&rewritten(&given));
        }
    }
}
