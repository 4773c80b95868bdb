//! What statements have in common that differ in values only.

use colonnade_sql::TokenKind;

use super::{Refusal, tokens};

/// The statement without the values of its numbers, and of its texts next to a comparison. Statements of one form have
/// the same columns of the same tables. Other texts stay, because DuckDB also reads names from texts: `a AS 'b'`.
///
/// # Errors
/// If DuckDB could split the text into other tokens.
pub fn form(sql: &str) -> Result<String, Refusal> {
    let (mut form, mut is_compared) = (String::with_capacity(sql.len()), false);
    for token in tokens(sql) {
        let token = token?;
        form.push_str(match token.kind {
            TokenKind::Number => "0",
            TokenKind::Text if is_compared => "''",
            _ => token.text,
        });
        form.push(' ');
        is_compared = matches!(token.kind, TokenKind::Symbol(b'=' | b'<' | b'>'));
    }
    Ok(form)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_differ_in_values_have_one_form() {
        let one = form("select a from t where id = 17 and b <> 'x' -- the first\n limit 5").unwrap();
        assert_eq!(one, form("select a  from t where id=4 and b<>e'\\'' limit 1_000").unwrap());
    }

    #[test]
    fn names_and_texts_that_may_be_names_stay() {
        for (one, other) in [
            ("select \"a 1\" from t", "select \"a 2\" from t"),
            ("select a1 from t", "select a2 from t"),
            ("select a as 'x' from t", "select a as 'y' from t"),
            ("select x from t as t('x', 'y')", "select x from t as t('y', 'x')"),
            ("select columns('a') from t", "select columns('b') from t"),
            ("select a from t where b = $1", "select a from t where b = $2"),
        ] {
            assert_ne!(form(one).unwrap(), form(other).unwrap());
        }
    }
}
