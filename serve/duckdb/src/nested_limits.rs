//! Parameters of LIMIT, OFFSET and FETCH in subqueries. There DuckDB takes constants only, if the subquery is correlated.

use std::ops::Range;

use colonnade_server::Parameter;
use colonnade_server::parameter::ParameterValue;
use colonnade_sql::edit::Edits;
use colonnade_sql::{Dialect, Token, TokenKind, code};

/// The parameters of LIMIT, OFFSET and FETCH in parentheses, by number from 1, with their places.
pub(crate) struct NestedLimits(Vec<(usize, Range<usize>)>);

impl NestedLimits {
    pub fn find(statement: &str) -> Self {
        let mut found = Vec::new();
        if !statement.contains('$') {
            return Self(found);
        }
        let (mut depth, mut is_after_limit) = (0usize, false);
        let mut tokens = code(statement, Dialect::DuckDb).peekable();
        while let Some(token) = tokens.next() {
            match token.kind {
                TokenKind::Symbol(b'(') => depth += 1,
                TokenKind::Symbol(b')') => depth = depth.saturating_sub(1),
                _ => {}
            }
            let number = token.placeholder().and_then(|number| number.parse().ok()).filter(|number| *number > 0);
            if let Some(number) =
                number.filter(|_| depth > 0 && is_after_limit && tokens.peek().is_some_and(ends_limit))
            {
                found.push((number, token.range()));
            }
            is_after_limit = token.is_one_of(&["limit", "offset", "first", "next"]);
        }
        Self(found)
    }

    /// The numbers of the parameters.
    pub fn numbers(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().map(|(number, _)| *number)
    }

    /// The changes that put any constant in their places.
    pub fn samples(&self) -> Edits {
        self.edits(|_| Some("1".to_owned()))
    }

    /// The changes that put their values in their places. A value that is no number stays a parameter.
    pub fn values(&self, parameters: &[Parameter]) -> Edits {
        self.edits(|number| match &parameters.iter().find(|parameter| parameter.number == number)?.value {
            ParameterValue::Null => Some("NULL".to_owned()),
            ParameterValue::Text(text) => text.trim().parse::<i64>().ok().map(|value| value.to_string()),
            _ => None,
        })
    }

    fn edits(&self, text: impl Fn(usize) -> Option<String>) -> Edits {
        let mut edits = Edits::default();
        for (number, place) in &self.0 {
            if let Some(text) = text(*number) {
                edits.replace(place.clone(), text);
            }
        }
        edits
    }
}

/// Whether the token after a number begins something else.
fn ends_limit(next: &Token<'_>) -> bool {
    const WORDS: [&str; 8] = ["offset", "limit", "row", "rows", "for", "union", "intersect", "except"];
    next.is_symbol(b')') || next.is_one_of(&WORDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_subqueries_become_constants() {
        let statement =
            "select (select a limit $1), x from t, lateral (select b offset $2 limit $1) where y = $3 limit $4";
        let limits = NestedLimits::find(statement);
        assert_eq!(limits.numbers().collect::<Vec<_>>(), [1, 2, 1]);
        let expected = "select (select a limit 1), x from t, lateral (select b offset 1 limit 1) where y = $3 limit $4";
        assert_eq!(limits.samples().apply(statement).text, expected);
        assert_eq!(NestedLimits::find("(select a fetch next $1 rows only)").numbers().count(), 1);
        for other in
            ["select a limit $1", "(select a limit $1 + 1)", "f(\"limit\" $1)", "(limit $0)", "limit", "(limit $1"]
        {
            assert_eq!(NestedLimits::find(other).numbers().count(), 0, "{other}");
        }
    }
}
