//! Finds `$1`, `$2`, … in a statement, and adds casts to them.

use colonnade_sql::edit::Edits;
use colonnade_sql::lexer::first_word;
use colonnade_sql::{Dialect, Token, code};

use crate::cast::dimensions;

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
    /// The brackets of the type to which the client casts it, and the byte after them.
    brackets: Option<(usize, usize)>,
}

impl Placeholders {
    /// Finds the placeholders. A dollar sign without a number is left to DuckDB, which reports the error. The
    /// placeholders in a PREPARE belong to the prepared statement, so they are not found.
    pub fn find(statement: &str) -> Self {
        if first_word(statement, Dialect::DuckDb).eq_ignore_ascii_case("prepare") {
            return Self::default();
        }
        let mut found = Vec::new();
        let mut tokens = code(statement, Dialect::DuckDb);
        while let Some(token) = tokens.next() {
            let number = token.placeholder().and_then(|number| number.parse().ok()).filter(|number| *number > 0);
            if let Some(number) = number {
                let (start, end) = (token.start, token.end());
                found.push(Placeholder { start, end, number, brackets: brackets_of_cast(tokens.clone()) });
            }
        }
        let mut numbers: Vec<_> = found.iter().map(|placeholder| usize::from(placeholder.number)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        Self { places: found, numbers }
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

    /// Whether a placeholder stands in several places.
    pub fn has_repeated(&self) -> bool {
        self.places.len() > self.numbers.len()
    }

    /// Whether the client casts the placeholder with this number, from 0, in each of its places.
    pub fn is_cast(&self, index: usize) -> bool {
        let places = self.places.iter().filter(|placeholder| usize::from(placeholder.number) == index + 1);
        places.clone().all(|placeholder| placeholder.brackets.is_some())
    }

    /// The first byte of the placeholder with this number, from 0.
    pub fn start(&self, index: usize) -> Option<usize> {
        self.places.iter().find(|placeholder| usize::from(placeholder.number) == index + 1).map(|found| found.start)
    }

    /// The changes that add a CAST around each placeholder that has a type in `types`, by number from 0.
    pub fn casts(&self, types: &[Option<String>]) -> Edits {
        let mut edits = Edits::default();
        for placeholder in &self.places {
            if let Some(Some(name)) = types.get(usize::from(placeholder.number) - 1) {
                // CAST() has the same precedence as the placeholder itself. By the inner parentheses, `column_names.py`
                // distinguishes it from a client's cast, which gives its column a name.
                let cast = format!("CAST((${}) AS {name})", placeholder.number);
                edits.replace(placeholder.start..placeholder.end, cast);
                // PostgreSQL's type of an array does not have the number of dimensions. DuckDB would make a text of an
                // inner list.
                if let Some((count, end)) = placeholder.brackets {
                    edits.insert(end, "[]".repeat(dimensions(name).saturating_sub(count)));
                }
            }
        }
        edits
    }
}

/// The brackets at the end of a cast's type, and the byte after them. `rest` are the tokens behind the value that is
/// cast.
fn brackets_of_cast<'a>(mut rest: impl Iterator<Item = Token<'a>>) -> Option<(usize, usize)> {
    let first = rest.next()?;
    let is_cast = first.is_word("as") || first.is_symbol(b':') && rest.next()?.is_symbol(b':');
    let is_name = |token: &Token<'_>| token.is_identifier() || token.is_symbol(b'.');
    if !is_cast {
        return None;
    }
    let (mut count, mut end) = (0, None);
    let mut rest = rest.skip_while(is_name).peekable();
    while rest.next_if(|token| token.is_symbol(b'[')).is_some() {
        end = Some(rest.next_if(|token| token.is_symbol(b']'))?.end());
        count += 1;
    }
    end.map(|end| (count, end))
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
    fn a_cast_has_the_dimensions_of_the_value() {
        let sql = "select $1::text[], CAST($1 AS pg_catalog.int4[]), $1::text[][], $1 :: int, $1::double precision[2], $1 as x";
        let expected = "select (v)::text[][], CAST((v) AS pg_catalog.int4[][]), (v)::text[][], (v) :: int, (v)::double precision[2], \
                        (v) as x";
        let casts = Placeholders::find(sql).casts(&[Some("T[][]".to_owned())]).apply(sql).text.into_owned();
        assert_eq!(casts.replace("CAST(($1) AS T[][])", "(v)"), expected);
        let row = [Some("STRUCT(a T[])[]".to_owned())];
        let casts = Placeholders::find("select $1::c[]").casts(&row).apply("select $1::c[]").text.into_owned();
        assert_eq!(casts, "select CAST(($1) AS STRUCT(a T[])[])::c[]");
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_statements_never_panic(sql in r#"([a-z$'"0-9 é;()-]|::|as|\[\]|\$1){0,40}"#) {
            let found = Placeholders::find(&sql);
            proptest::prop_assert_eq!(found.casts(&[]).apply(&sql).text, sql.as_str());
            let _ = found.casts(&vec![Some("T".to_owned()); 9]).apply(&sql);
        }
    }
}
