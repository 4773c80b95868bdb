//! Finds `$1`, `$2`, … in a statement, and adds casts to them.

use colonnade_sql::edit::Edits;
use colonnade_sql::lexer::first_word;
use colonnade_sql::{Dialect, code};

/// The placeholders of a statement, in its order.
#[derive(Debug, Default)]
pub struct Placeholders {
    places: Vec<Placeholder>,
    /// Their numbers, from 1, in order and each once.
    numbers: Vec<usize>,
}

#[derive(Debug)]
struct Placeholder {
    start: usize,
    end: usize,
    /// The number, from 1.
    number: u16,
    /// The position of `ANY`, if the placeholder is in `ANY($1)`.
    any: Option<usize>,
}

impl Placeholders {
    /// Finds the placeholders. A dollar sign without a number is left to DuckDB, which reports the error. The placeholders in a PREPARE
    /// belong to the prepared statement, so they are not found.
    pub fn find(statement: &str) -> Self {
        if first_word(statement, Dialect::DuckDb).eq_ignore_ascii_case("prepare") {
            return Self::default();
        }
        let mut found = Vec::new();
        // The quantifier before the placeholder.
        let (mut word, mut any) = (None, None);
        for token in code(statement, Dialect::DuckDb) {
            let number = token.placeholder().and_then(|number| number.parse().ok()).filter(|number| *number > 0);
            if let Some(number) = number {
                let (start, end) = (token.start, token.end());
                let is_alone = statement[end..].trim_start().starts_with(')');
                found.push(Placeholder { start, end, number, any: any.filter(|_| is_alone) });
            }
            any = word.filter(|_| token.is_symbol(b'('));
            word = token.is_one_of(&["any", "all", "some"]).then_some(token.start);
        }
        let mut numbers: Vec<_> = found.iter().map(|placeholder| usize::from(placeholder.number)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        Self { places: found, numbers }
    }

    /// The statement with `($1)` instead of each `ANY($1)`, and the numbers, from 0, of these placeholders. DuckDB does not infer the type of
    /// a list in `ANY($1)`, but it infers the type of an item in `($1)`.
    pub fn without_quantifiers(&self, statement: &str) -> (String, Vec<usize>) {
        let mut out = statement.to_owned();
        let mut numbers = Vec::new();
        for placeholder in &self.places {
            if let Some(start) = placeholder.any {
                let length = statement[start..].bytes().take_while(u8::is_ascii_alphabetic).count();
                out.replace_range(start..start + length, &" ".repeat(length));
                numbers.push(usize::from(placeholder.number) - 1);
            }
        }
        (out, numbers)
    }

    pub fn count(&self) -> usize {
        self.numbers.last().copied().unwrap_or(0)
    }

    /// The numbers of the placeholders, from 1, each once.
    pub fn into_numbers(self) -> Vec<usize> {
        self.numbers
    }

    /// Whether the placeholder with this number, from 0, occurs.
    pub fn has(&self, index: usize) -> bool {
        self.numbers.binary_search(&(index + 1)).is_ok()
    }

    /// The changes that add a CAST around each placeholder that has a type in `types`, by number from 0.
    pub fn casts(&self, types: &[Option<String>]) -> Edits {
        let mut edits = Edits::default();
        for placeholder in &self.places {
            if let Some(Some(name)) = types.get(usize::from(placeholder.number) - 1) {
                // CAST() has the same precedence as the placeholder itself. By the inner parentheses, `column_names.py` distinguishes it from
                // a client's cast, which gives its column a name.
                let cast = format!("CAST((${}) AS {name})", placeholder.number);
                edits.replace(placeholder.start..placeholder.end, cast);
            }
        }
        edits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_outside_quotes_are_cast() {
        let sql = "select $1, '$2', $2::text, \"$3\" -- $4\n, $$ $5 $$, $12";
        let found = Placeholders::find(sql);
        assert_eq!(found.count(), 12);
        assert!(found.has(0) && found.has(11) && !found.has(2));
        let types = vec![Some("INTEGER".to_owned()), None];
        let expected = "select CAST(($1) AS INTEGER), '$2', $2::text, \"$3\" -- $4\n, $$ $5 $$, $12";
        assert_eq!(Placeholders::find("prepare p as select $1").count(), 0);
        assert_eq!(found.casts(&types).apply(sql).text, expected);
    }

    #[test]
    fn lists_are_found_by_their_quantifier() {
        let sql = "select i = ANY ($1), j <> all($2), k = some( $3 ), any($4::int[]), f($5), (any), ($6)";
        let expected = "select i =     ($1), j <>    ($2), k =     ( $3 ), any($4::int[]), f($5), (any), ($6)";
        assert_eq!(Placeholders::find(sql).without_quantifiers(sql), (expected.to_owned(), vec![0, 1, 2]));
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_statements_never_panic(sql in r#"([a-z$'"0-9 é;()-]|any|some\(|\$1){0,40}"#) {
            let found = Placeholders::find(&sql);
            proptest::prop_assert_eq!(found.without_quantifiers(&sql).0.len(), sql.len());
            proptest::prop_assert_eq!(found.casts(&[]).apply(&sql).text, sql.as_str());
            let _ = found.casts(&vec![Some("T".to_owned()); 9]).apply(&sql);
        }
    }
}
