//! Texts for columns of type JSON, which DuckDB takes as they are.

use crate::output::{OutputColumn, OutputData};
use crate::{CallError, ColumnType, FunctionError, ValueFault};

/// How much of a text an error shows.
const MAX_SHOWN: usize = 80;

/// Checks the texts of all JSON in a result's columns.
pub(crate) fn check(columns: &[OutputColumn<'_>], types: &[&ColumnType]) -> Result<(), CallError> {
    for (column, column_type) in columns.iter().zip(types) {
        if let Some((row, text)) = invalid(column, column_type, &|_| true) {
            let shown: String = String::from_utf8_lossy(text).chars().take(MAX_SHOWN).collect();
            let message = format!("row {}: the text is no JSON: {shown}", row + 1);
            let record = FunctionError { message, ..FunctionError::default() };
            return Err(CallError::Value(ValueFault::Json, Box::new(record)));
        }
    }
    Ok(())
}

/// The first text that is no JSON, with its row. Values in rows that are not visible mean nothing.
fn invalid<'c>(
    column: &'c OutputColumn<'_>,
    column_type: &ColumnType,
    is_visible: &dyn Fn(usize) -> bool,
) -> Option<(usize, &'c [u8])> {
    let is_value = |row: usize| column.is_valid(row) && is_visible(row);
    match (&column.data, column_type) {
        (OutputData::Bytes { offsets, bytes }, ColumnType::Json) => {
            let texts =
                offsets.windows(2).map(|ends| bytes.get(ends[0] as usize..ends[1] as usize).unwrap_or_default());
            texts.enumerate().find(|(row, text)| is_value(*row) && !is_json(text))
        }
        (OutputData::List { offsets, items }, _) => {
            let row_of = |item: usize| offsets.partition_point(|&start| start as usize <= item).saturating_sub(1);
            let (item, text) = invalid(items, column_type.children().first()?, &|item| is_value(row_of(item)))?;
            Some((row_of(item), text))
        }
        (OutputData::Array(items), ColumnType::Array { item, size }) => {
            let row_of = |item: usize| item / size.max(&1);
            let (item, text) = invalid(items, item, &|item| is_value(row_of(item)))?;
            Some((row_of(item), text))
        }
        (OutputData::Struct(fields), _) => first(fields, column_type, &is_value),
        (OutputData::Union { tags, members }, _) => {
            let types = column_type.children();
            let members = members.iter().zip(&types).enumerate();
            let found = members.filter_map(|(number, (member, member_type))| {
                invalid(member, member_type, &|row| is_value(row) && usize::from(tags[row]) == number)
            });
            found.min_by_key(|(row, _)| *row)
        }
        _ => None,
    }
}

fn first<'c>(
    fields: &'c [OutputColumn<'_>],
    column_type: &ColumnType,
    is_visible: &dyn Fn(usize) -> bool,
) -> Option<(usize, &'c [u8])> {
    let types = column_type.children();
    let found = fields.iter().zip(&types).filter_map(|(field, field_type)| invalid(field, field_type, is_visible));
    found.min_by_key(|(row, _)| *row)
}

/// Whether a text is JSON (RFC 8259) as DuckDB's `json_valid` reads it: also `NaN`, `Infinity` and `Inf` in any case,
/// and a comma behind the last item. The text is UTF-8.
fn is_json(text: &[u8]) -> bool {
    let mut reader = Reader { rest: text };
    reader.document().is_some() && reader.rest.is_empty()
}

struct Reader<'t> {
    rest: &'t [u8],
}

/// What `document` expects next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    Value,
    /// A value or the end of an array.
    Item,
    /// A key or the end of an object.
    Key,
    /// A comma or the end of an array or object.
    End,
}

impl Reader<'_> {
    /// Reads a value with the blanks around it. Nested values are on a stack of their own, because a text may have any
    /// number of them.
    fn document(&mut self) -> Option<()> {
        let mut open: Vec<u8> = Vec::new();
        let mut expected = Expected::Value;
        loop {
            self.blanks();
            let next = self.rest.first().copied();
            match (expected, next) {
                (Expected::End, None) if open.is_empty() => return Some(()),
                (Expected::Item | Expected::End, Some(b']')) if open.last() == Some(&b'[') => {
                    open.pop();
                    self.skip(1);
                    expected = Expected::End;
                }
                (Expected::Key | Expected::End, Some(b'}')) if open.last() == Some(&b'{') => {
                    open.pop();
                    self.skip(1);
                    expected = Expected::End;
                }
                (Expected::End, Some(b',')) if !open.is_empty() => {
                    self.skip(1);
                    expected = if open.last() == Some(&b'[') { Expected::Item } else { Expected::Key };
                }
                (Expected::Key, Some(b'"')) => {
                    self.string()?;
                    self.blanks();
                    self.take(b":")?;
                    expected = Expected::Value;
                }
                (Expected::Value | Expected::Item, Some(bracket @ (b'[' | b'{'))) => {
                    open.push(bracket);
                    self.skip(1);
                    expected = if bracket == b'[' { Expected::Item } else { Expected::Key };
                }
                (Expected::Value | Expected::Item, Some(first)) => {
                    self.single(first)?;
                    expected = Expected::End;
                }
                _ => return None,
            }
        }
    }

    /// A value without others in it.
    fn single(&mut self, first: u8) -> Option<()> {
        match first {
            b'"' => self.string(),
            b't' => self.take(b"true"),
            b'f' => self.take(b"false"),
            b'n' if self.rest.starts_with(b"null") => self.take(b"null"),
            _ => self.number(),
        }
    }

    fn number(&mut self) -> Option<()> {
        if self.rest.first() == Some(&b'-') {
            self.skip(1);
        }
        for name in [&b"infinity"[..], b"inf", b"nan"] {
            if self.rest.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name)) {
                self.skip(name.len());
                return Some(());
            }
        }
        let is_zero = self.rest.first() == Some(&b'0');
        if self.digits()? > 1 && is_zero {
            return None;
        }
        if self.rest.first() == Some(&b'.') {
            self.skip(1);
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.rest.first() {
            self.skip(1);
            if let Some(b'+' | b'-') = self.rest.first() {
                self.skip(1);
            }
            self.digits()?;
        }
        Some(())
    }

    /// One digit or more.
    fn digits(&mut self) -> Option<usize> {
        let count = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.skip(count);
        (count > 0).then_some(count)
    }

    fn string(&mut self) -> Option<()> {
        self.skip(1);
        loop {
            let plain = self.rest.iter().take_while(|&&byte| byte >= b' ' && byte != b'"' && byte != b'\\').count();
            self.skip(plain);
            match (self.rest.first()?, self.rest.get(1)) {
                (b'"', _) => {
                    self.skip(1);
                    return Some(());
                }
                (b'\\', Some(b'u')) => self.character()?,
                (b'\\', Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't')) => self.skip(2),
                _ => return None,
            }
        }
    }

    /// `\uXXXX`, or two of them for a character beyond 16 bits.
    fn character(&mut self) -> Option<()> {
        match self.code_unit()? {
            0xD800..0xDC00 => (0xDC00..0xE000).contains(&self.code_unit()?).then_some(()),
            0xDC00..0xE000 => None,
            _ => Some(()),
        }
    }

    fn code_unit(&mut self) -> Option<u32> {
        self.take(b"\\u")?;
        let digits = self.rest.get(..4).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
        let unit = u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
        self.skip(4);
        unit
    }

    fn blanks(&mut self) {
        let count = self.rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
        self.skip(count);
    }

    fn take(&mut self, text: &[u8]) -> Option<()> {
        self.rest = self.rest.strip_prefix(text)?;
        Some(())
    }

    fn skip(&mut self, count: usize) {
        self.rest = self.rest.get(count..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::is_json;

    #[test]
    fn json_is_what_duckdb_takes_for_it() {
        let valid = [
            "NaN",
            "nAn",
            "-NaN",
            "Infinity",
            "inf",
            "-Inf",
            "[NaN,Infinity,-Infinity]",
            "[1,]",
            "{\"a\":1,}",
            "{\"a\":1 , }",
            " 1 ",
            "\t\n\r1",
            "1e5",
            "1e+5",
            "1.5e-3",
            "-0",
            "0",
            "1e999",
            "true",
            "false",
            "null",
            "[]",
            "{}",
            "[[[[]]]]",
            "{\"a\":{\"b\":[]}}",
            "{\"a\":1,\"a\":2}",
            "\"\\ud83d\\ude00\"",
            "\"\u{7f}é\"",
            "\"\\/\\u0000\\n\"",
            "[\"a\", null , true]",
        ];
        let invalid = [
            "",
            "  ",
            "+1",
            "[,]",
            "{,}",
            "\u{b}1",
            "01",
            "-01",
            "00",
            "1.",
            ".5",
            "1E+",
            "1e",
            "-",
            "--1",
            "\"\u{1}\"",
            "\"\t\"",
            "\"\\ud800\"",
            "\"\\udc00\"",
            "\"\\ud83d x\"",
            "\"\\x\"",
            "\"\\u12G4\"",
            "\"\\u12",
            "\"a",
            "\"a\"b",
            "tru",
            "TRUE",
            "nul",
            "//c\n1",
            "\u{feff}1",
            "[1 2]",
            "{\"a\" 1}",
            "{a:1}",
            "{'a':1}",
            "{\"a\":}",
            "{\"a\"}",
            "[1,,2]",
            "1 2",
            "[1]x",
            "infinityx",
            "0x1",
            "[1}",
            "{\"a\":1]",
            "]",
            "[",
            "{",
            "{\"a\":1",
            "[1",
            ",",
            "1,",
            "[]]",
        ];
        assert!(
            valid.iter().all(|text| is_json(text.as_bytes())),
            "{:?}",
            valid.iter().find(|text| !is_json(text.as_bytes()))
        );
        assert!(
            !invalid.iter().any(|text| is_json(text.as_bytes())),
            "{:?}",
            invalid.iter().find(|text| is_json(text.as_bytes()))
        );
        let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
        assert!(is_json(deep.as_bytes()) && !is_json(&deep.as_bytes()[1..]));
    }
}
