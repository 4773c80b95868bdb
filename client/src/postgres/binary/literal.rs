//! Reads arrays and composites in the text of `array_out` and `record_out`, for nested types without another exact
//! form. They are converted to the bytes that their send functions would send, with text where a type is text.
//! <https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO>, <https://www.postgresql.org/docs/current/rowtypes.html#ROWTYPES-IO-SYNTAX>

use super::kind::{ColumnKind, Node};
use super::value::{ValueFault, value};
use super::{interval, scalars};

const NULL: [u8; 4] = (-1i32).to_be_bytes();

/// Converts the values of a column that arrives as text, so that they can be decoded as if they were binary.
#[derive(Debug)]
pub(super) struct Literal {
    node: Node,
    /// The values of a group of rows in binary, and their positions.
    block: Vec<u8>,
    cursors: Vec<usize>,
}

impl Literal {
    pub(super) fn new(node: &Node) -> Self {
        Self { node: node.clone(), block: Vec::new(), cursors: Vec::new() }
    }

    /// The values at the cursors in binary, and their positions. Moves the cursors.
    ///
    /// # Errors
    /// A text is not a value of the type.
    pub(super) fn in_binary(
        &mut self,
        block: &[u8],
        cursors: &mut [usize],
    ) -> Result<(&[u8], &mut [usize]), ValueFault> {
        self.block.clear();
        self.cursors.clear();
        for at in cursors {
            self.cursors.push(self.block.len());
            write(&self.node, value(block, at)?, &mut self.block)?;
        }
        Ok((&self.block, &mut self.cursors))
    }
}

/// Appends a length and a value.
fn write(node: &Node, text: Option<&[u8]>, out: &mut Vec<u8>) -> Result<(), ValueFault> {
    let Some(text) = text else {
        out.extend_from_slice(&NULL);
        return Ok(());
    };
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    match &node.kind {
        ColumnKind::List(item, delimiter) => write_array(item, *delimiter, text, out)?,
        ColumnKind::Struct(attributes) => write_record(attributes, text, out)?,
        ColumnKind::Bool => match text {
            b"t" => out.push(1),
            b"f" => out.push(0),
            _ => return Err(ValueFault::Damaged),
        },
        ColumnKind::Int16 => out.extend_from_slice(&parsed::<i16>(text)?.to_be_bytes()),
        ColumnKind::Int32 => out.extend_from_slice(&parsed::<i32>(text)?.to_be_bytes()),
        ColumnKind::Int64 => out.extend_from_slice(&parsed::<i64>(text)?.to_be_bytes()),
        ColumnKind::UInt32 => out.extend_from_slice(&parsed::<u32>(text)?.to_be_bytes()),
        ColumnKind::Float32 => out.extend_from_slice(&parsed::<f32>(text)?.to_be_bytes()),
        ColumnKind::Float64 => out.extend_from_slice(&parsed::<f64>(text)?.to_be_bytes()),
        ColumnKind::Bytes => write_bytes(text, out)?,
        ColumnKind::Date => out.extend_from_slice(&read(text, scalars::date)?.to_be_bytes()),
        ColumnKind::Time => out.extend_from_slice(&read(text, scalars::time)?.to_be_bytes()),
        ColumnKind::Timestamp => out.extend_from_slice(&read(text, scalars::timestamp)?.to_be_bytes()),
        ColumnKind::Interval => {
            let (micros, days, months) = read(text, interval::parts)?;
            out.extend_from_slice(&micros.to_be_bytes());
            out.extend_from_slice(&days.to_be_bytes());
            out.extend_from_slice(&months.to_be_bytes());
        }
        ColumnKind::Decimal { .. } => read(text, |text| scalars::write_numeric(text, out))?,
        _ => out.extend_from_slice(text),
    }
    let Ok(len) = i32::try_from(out.len() - start - 4) else { return Err(ValueFault::Damaged) };
    out[start..start + 4].copy_from_slice(&len.to_be_bytes());
    Ok(())
}

fn read<T>(text: &[u8], reader: impl FnOnce(&str) -> Option<T>) -> Result<T, ValueFault> {
    std::str::from_utf8(text).ok().and_then(reader).ok_or(ValueFault::Damaged)
}

fn parsed<T: std::str::FromStr>(text: &[u8]) -> Result<T, ValueFault> {
    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or(ValueFault::Damaged)
}

/// `\x` and two digits a byte, or the form of `bytea_output = escape`, which never begins so.
fn write_bytes(text: &[u8], out: &mut Vec<u8>) -> Result<(), ValueFault> {
    let Some(digits) = text.strip_prefix(b"\\x") else { return write_escaped(text, out) };
    if digits.len() % 2 != 0 {
        return Err(ValueFault::Damaged);
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    for pair in digits.chunks_exact(2) {
        match (digit(pair[0]), digit(pair[1])) {
            (Some(high), Some(low)) => out.push(high << 4 | low),
            _ => return Err(ValueFault::Damaged),
        }
    }
    Ok(())
}

/// Bytes as they are, but a backslash twice, and others as a backslash and three octal digits.
fn write_escaped(mut text: &[u8], out: &mut Vec<u8>) -> Result<(), ValueFault> {
    loop {
        match *text {
            [] => return Ok(()),
            [b'\\', b'\\', ref rest @ ..] => {
                out.push(b'\\');
                text = rest;
            }
            [b'\\', high @ b'0'..=b'3', middle @ b'0'..=b'7', low @ b'0'..=b'7', ref rest @ ..] => {
                out.push((high - b'0') << 6 | (middle - b'0') << 3 | (low - b'0'));
                text = rest;
            }
            [b'\\', ..] => return Err(ValueFault::Damaged),
            [byte, ref rest @ ..] => {
                out.push(byte);
                text = rest;
            }
        }
    }
}

/// `{…}`, with the dimensions before it if one does not start at 1.
fn write_array(item: &Node, delimiter: u8, text: &[u8], out: &mut Vec<u8>) -> Result<(), ValueFault> {
    let header = |out: &mut Vec<u8>, dimensions: i32| {
        [dimensions, 0, 0].iter().for_each(|number| out.extend_from_slice(&number.to_be_bytes()));
    };
    let start = text.iter().position(|byte| *byte == b'{').ok_or(ValueFault::Damaged)?;
    let (bounds, items) = text.split_at(start);
    let dimensions = items.iter().take_while(|byte| **byte == b'{').count() as i32;
    if dimensions > 1 {
        // The list decoder refuses it, as it does in binary.
        header(out, dimensions);
        return Ok(());
    }
    if items == b"{}" {
        header(out, 0);
        return Ok(());
    }
    header(out, 1);
    let count_at = out.len();
    let first = match bounds.strip_prefix(b"[") {
        Some(bounds) => parsed::<i32>(bounds.split(|byte| *byte == b':').next().unwrap_or_default())?,
        None => 1,
    };
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&first.to_be_bytes());
    if first != 1 {
        return Ok(());
    }
    let mut parts = Parts { rest: &items[1..], delimiter, end: b'}', unquoted: Vec::new() };
    let mut count = 0i32;
    loop {
        let more = parts.next()?;
        let some = more.quoted || !parts.unquoted.eq_ignore_ascii_case(b"NULL");
        write(item, some.then_some(parts.unquoted.as_slice()), out)?;
        count += 1;
        if more.last {
            break;
        }
    }
    out[count_at..count_at + 4].copy_from_slice(&count.to_be_bytes());
    Ok(())
}

/// `(…)`. An empty attribute is NULL.
fn write_record(attributes: &[Node], text: &[u8], out: &mut Vec<u8>) -> Result<(), ValueFault> {
    out.extend_from_slice(&(attributes.len() as u32).to_be_bytes());
    let Some(rest) = text.strip_prefix(b"(") else { return Err(ValueFault::Damaged) };
    if attributes.is_empty() {
        return if rest == b")" { Ok(()) } else { Err(ValueFault::Damaged) };
    }
    let mut parts = Parts { rest, delimiter: b',', end: b')', unquoted: Vec::new() };
    for (place, attribute) in attributes.iter().enumerate() {
        let more = parts.next()?;
        if more.last != (place + 1 == attributes.len()) {
            return Err(ValueFault::Damaged);
        }
        let null = !more.quoted && parts.unquoted.is_empty();
        // The type, which is not used.
        out.extend_from_slice(&[0; 4]);
        write(attribute, (!null).then_some(parts.unquoted.as_slice()), out)?;
    }
    Ok(())
}

/// The text between two delimiters.
struct Parts<'a> {
    rest: &'a [u8],
    delimiter: u8,
    end: u8,
    /// The text without its quotes and escapes.
    unquoted: Vec<u8>,
}

/// Flags of the part: whether it had quotes, and whether it is the last.
struct Part {
    quoted: bool,
    last: bool,
}

impl Parts<'_> {
    fn next(&mut self) -> Result<Part, ValueFault> {
        self.unquoted.clear();
        let (mut quoted, mut inside) = (false, false);
        loop {
            let Some((byte, rest)) = self.rest.split_first() else { return Err(ValueFault::Damaged) };
            self.rest = rest;
            match *byte {
                b'\\' => {
                    let Some((escaped, rest)) = rest.split_first() else { return Err(ValueFault::Damaged) };
                    self.rest = rest;
                    self.unquoted.push(*escaped);
                }
                // Composites double a quote where arrays escape it.
                b'"' if inside && rest.first() == Some(&b'"') => {
                    self.rest = &rest[1..];
                    self.unquoted.push(b'"');
                }
                b'"' => (quoted, inside) = (true, !inside),
                byte if !inside && byte == self.delimiter => return Ok(Part { quoted, last: false }),
                byte if !inside && byte == self.end => {
                    return if self.rest.is_empty() {
                        Ok(Part { quoted, last: true })
                    } else {
                        Err(ValueFault::Damaged)
                    };
                }
                byte => self.unquoted.push(byte),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    fn parts(text: &str, end: u8) -> Option<Vec<(String, bool)>> {
        let mut parts = Parts { rest: text.as_bytes(), delimiter: b',', end, unquoted: Vec::new() };
        let mut all = Vec::new();
        loop {
            let part = parts.next().ok()?;
            all.push((String::from_utf8(parts.unquoted.clone()).unwrap(), part.quoted));
            if part.last {
                return Some(all);
            }
        }
    }

    #[test]
    fn quotes_and_escapes_are_undone() {
        let part = |text: &str, quoted| (text.to_owned(), quoted);
        // select array['a,b', 'q"b\', '', 'NULL', null, '{']
        let array = r#""a,b","q\"b\\","","NULL",NULL,"{"}"#;
        let expected =
            vec![part("a,b", true), part("q\"b\\", true), part("", true), part("NULL", true), part("NULL", false)];
        assert_eq!(parts(array, b'}').unwrap()[..5], expected);
        // select row('a,b', 'q"b\', '', null, '(1,2)')
        let record = r#""a,b","q""b\\","",,"(1,2)")"#;
        let expected = [part("a,b", true), part("q\"b\\", true), part("", true), part("", false), part("(1,2)", true)];
        assert_eq!(parts(record, b')').unwrap(), expected);
        for text in ["", "a", "\"a", "a}b", "\\"] {
            assert_eq!(parts(text, b'}'), None, "{text}");
        }
    }

    #[test]
    fn bytes_are_in_both_forms() {
        let bytes = |text: &[u8]| {
            let mut out = Vec::new();
            write_bytes(text, &mut out).ok().map(|()| out)
        };
        assert_eq!(bytes(b"\\x00fF").unwrap(), [0, 255]);
        assert_eq!(bytes(b"\\x"), Some(vec![]));
        for text in [&b"\\x0"[..], b"\\x0g", b"\\400", b"\\00", b"\\"] {
            assert_eq!(bytes(text), None);
        }
        // set bytea_output to escape; select '\x785c00ff'::bytea
        assert_eq!(bytes(b"x\\\\\\000\\377").unwrap(), [b'x', b'\\', 0, 255]);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in r#"[\[{(]{0,3}[a-z0-9,;:"\\{}()=\]-]{0,30}"#) {
            let _ = parts(&text, b'}');
            let _ = parts(&text, b')');
        }
    }
}
