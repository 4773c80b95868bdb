//! A short statement that stands for a long one where the types of its places are asked for: the library is not asked
//! about a long INSERT, and makes no tree of other long statements.
//!
//! The rows of VALUES become one row for literals and one for parameters, because the column decides the type in each
//! row. Long literals become short ones, because their text decides nothing.

use std::ops::Range;

use colonnade_server::value::types::Type;
use colonnade_sql::{Dialect, Token, TokenKind, closing, code};

use crate::literal::is_open;

/// The bytes from which on a statement has an outline.
pub const LONG: usize = 32_768;
/// A longer literal is replaced.
const MAX_LITERAL: usize = 64;

/// A short statement, and what its places stand for.
#[derive(Debug, Default)]
pub struct Outline {
    /// The statement.
    pub text: String,
    /// The first bytes of its literals, in order, each with the first bytes of the literals that have its type.
    literals: Vec<(usize, Vec<usize>)>,
    /// The numbers of parameters, each with the numbers of those that have its type.
    parameters: Vec<(usize, Vec<usize>)>,
}

impl Outline {
    /// The outline of a statement; `None` if that is short.
    pub fn of(statement: &str) -> Option<Self> {
        if statement.len() < LONG {
            return None;
        }
        let tokens: Vec<_> = code(statement, Dialect::DuckDb).collect();
        let rows = rows(&tokens);
        let (first, end) = (rows.first().map_or(tokens.len(), |row| row.start), rows.last().map_or(0, |row| row.end));
        let mut found = Self::default();
        let mut copied = 0;
        for (at, token) in tokens.iter().enumerate().filter(|(at, _)| !(first..end).contains(at) || *at == first) {
            if at == first && end > first {
                found.text.push_str(&statement[copied..token.start]);
                found.push_rows(&tokens, &rows);
                copied = tokens[end - 1].end();
            } else if let Some(literal) = stand_in(token) {
                found.text.push_str(&statement[copied..token.start]);
                found.push_literal(literal, vec![token.start]);
                copied = token.end();
            }
        }
        found.text.push_str(&statement[copied..]);
        Some(found)
    }

    /// The types of the statement's literals, by their first bytes in order, from those of the outline.
    pub fn literal_types(&self, told: &[(usize, Type)]) -> Vec<(usize, Type)> {
        let mut types = Vec::new();
        for (start, type_) in told {
            if let Ok(found) = self.literals.binary_search_by_key(start, |(start, _)| *start) {
                types.extend(self.literals[found].1.iter().map(|start| (*start, type_.clone())));
            }
        }
        types.sort_by_key(|(start, _)| *start);
        types
    }

    /// The types of the statement's parameters by their numbers, from those of the outline.
    pub fn parameter_types(&self, told: Vec<(usize, Type)>) -> Vec<(usize, Type)> {
        let alike = |number: usize| self.parameters.iter().filter(move |(first, _)| *first == number);
        let others = told.iter().flat_map(|(number, type_)| {
            alike(*number).flat_map(|(_, numbers)| numbers).map(|number| (*number, type_.clone()))
        });
        let others: Vec<_> = others.collect();
        told.into_iter().chain(others).collect()
    }

    fn push_literal(&mut self, literal: &str, starts: Vec<usize>) {
        self.literals.push((self.text.len(), starts));
        self.text.push_str(literal);
    }

    /// One row that has the literals of all rows, and one that has their parameters.
    fn push_rows(&mut self, tokens: &[Token<'_>], rows: &[Range<usize>]) {
        let mut literals: Vec<Vec<&Token<'_>>> = Vec::new();
        let mut parameters: Vec<Vec<usize>> = Vec::new();
        for row in rows {
            for (column, item) in items(&tokens[row.start + 1..row.end - 1]).enumerate() {
                literals.resize_with(literals.len().max(column + 1), Vec::new);
                parameters.resize_with(parameters.len().max(column + 1), Vec::new);
                let [only] = item else { continue };
                if stand_in(only).is_some() {
                    literals[column].push(only);
                } else if let Some(number) = only.placeholder().and_then(|number| number.parse().ok()) {
                    parameters[column].push(number);
                }
            }
        }
        let mut before = "(";
        for alike in &literals {
            self.text.push_str(before);
            match alike.first().and_then(|first| stand_in(first)) {
                Some(literal) => self.push_literal(literal, alike.iter().map(|token| token.start).collect()),
                None => self.text.push_str("NULL"),
            }
            before = ", ";
        }
        self.text.push(')');
        if parameters.iter().all(Vec::is_empty) {
            return;
        }
        before = ", (";
        for alike in parameters {
            self.text.push_str(before);
            match alike.first() {
                Some(number) => {
                    self.text.push_str(&format!("${number}"));
                    self.parameters.push((*number, alike));
                }
                None => self.text.push_str("NULL"),
            }
            before = ", ";
        }
        self.text.push(')');
    }
}

/// What stands for a literal whose form may depend on its type.
fn stand_in<'a>(token: &Token<'a>) -> Option<&'a str> {
    let value = token.string(Dialect::DuckDb)?;
    let is_long = token.text.len() > MAX_LITERAL;
    match is_open(&value) {
        true if !is_long => Some(token.text),
        true if value.trim_ascii_start().starts_with('{') => Some("'{}'"),
        true => Some(r"'\x'"),
        false => is_long.then_some("''"),
    }
}

/// The rows of an INSERT with VALUES: each from its parenthesis to behind the one that closes it.
fn rows(tokens: &[Token<'_>]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let is_insert = tokens.first().is_some_and(|first| first.is_word("insert"));
    let is_start = |pair: &[Token<'_>]| pair[0].is_word("values") && pair[1].is_symbol(b'(');
    let Some(values) = tokens.windows(2).position(is_start).filter(|_| is_insert) else { return found };
    let mut open = values + 1;
    while let Some(close) = closing(tokens, open).filter(|close| *close > open) {
        found.push(open..close + 1);
        match tokens.get(close + 1..close + 3) {
            Some([comma, next]) if comma.is_symbol(b',') && next.is_symbol(b'(') => open = close + 2,
            _ => break,
        }
    }
    found
}

/// The items of a row.
fn items<'t, 'a>(row: &'t [Token<'a>]) -> impl Iterator<Item = &'t [Token<'a>]> {
    let mut depth = 0_usize;
    row.split(move |token| {
        match token.kind {
            TokenKind::Symbol(b'(' | b'[' | b'{') => depth += 1,
            TokenKind::Symbol(b')' | b']' | b'}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && token.is_symbol(b',')
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types;

    #[test]
    fn a_short_statement_has_none() {
        assert!(Outline::of("insert into t values ('{1}')").is_none());
    }

    #[test]
    fn rows_become_one_for_literals_and_one_for_parameters() {
        let rows = r"(1, '\x00ff', f('{a}', 2), $1), ($2, '{b}', NULL, $3), ";
        let long = "x".repeat(LONG);
        let sql = format!(
            r"insert into t (a, b, c, d) values {}({}, '{long}', DEFAULT, $3) returning '\x01'",
            rows.repeat(2),
            3
        );
        let outline = Outline::of(&sql).unwrap();
        assert_eq!(
            outline.text,
            r"insert into t (a, b, c, d) values (NULL, '\x00ff', NULL, NULL), ($2, NULL, NULL, $1) returning '\x01'"
        );
        let found = |text: &str| outline.text.find(text).unwrap();
        let told = [(found(r"'\x00ff'"), types::named("BLOB")), (found(r"'\x01'"), types::named("VARCHAR"))];
        let types = outline.literal_types(&told);
        let texts: Vec<_> =
            types.iter().map(|(start, type_)| (&sql[*start..*start + 3], type_.name.as_str())).collect();
        let expected = [
            (r"'\x", "BLOB"),
            ("'{b", "BLOB"),
            (r"'\x", "BLOB"),
            ("'{b", "BLOB"),
            ("'xx", "BLOB"),
            (r"'\x", "VARCHAR"),
        ];
        assert_eq!(texts, expected);
        let told = vec![(1, types::named("DATE")), (2, types::named("INTEGER"))];
        let parameters = outline.parameter_types(told);
        assert!(parameters.contains(&(3, types::named("DATE"))) && parameters.contains(&(2, types::named("INTEGER"))));
    }

    #[test]
    fn long_literals_become_short_ones() {
        let sql = format!(
            r"update t set b = '\x{}', l = '{{{}1}}', zip = '{}'",
            "00".repeat(LONG),
            "1,".repeat(99),
            "z".repeat(99)
        );
        let outline = Outline::of(&sql).unwrap();
        assert_eq!(outline.text, r"update t set b = '\x', l = '{}', zip = ''");
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_statements_never_panic(given in r#"(values|\(|\)|,|'|\$1|\{|\\x|[a1 é]){0,24}"#) {
            let sql = format!("insert into t {given}{}", " ".repeat(LONG));
            let outline = Outline::of(&sql).unwrap();
            for (start, starts) in &outline.literals {
                proptest::prop_assert!(outline.text[*start..].starts_with('\'') || !starts.is_empty());
            }
        }
    }
}
