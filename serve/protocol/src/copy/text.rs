//! COPY's text format (PostgreSQL manual, COPY, "Text Format").

use arrow_schema::Schema;

use super::context::Context;
use super::lines;
use super::options::CopyOptions;
use crate::error::Failure;
use crate::value::is_unquoted_byte;

const FORMAT: &str = "FORMAT text";

pub(super) fn check(schema: &Schema) -> Result<(), Failure> {
    Ok(lines::check(schema, FORMAT)?)
}

pub(super) fn write(
    context: &mut Context<'_>,
    schema: &Schema,
    options: &CopyOptions,
    response: impl FnOnce(&mut Context<'_>),
) -> Result<u64, Failure> {
    response(context);
    let charset = options.encoding.unwrap_or(context.output.encoding()).charset();
    if options.header {
        lines::write_header(context, charset, |out| {
            for (at, field) in schema.fields().iter().enumerate() {
                push_delimiter(at, options.delimiter, out);
                escape(field.name().as_bytes(), options.delimiter, out);
            }
            out.push(b'\n');
        })?;
    }
    let never_escapes = !is_unquoted_byte(options.delimiter);
    let style = context.text_style;
    let mut text = Vec::new();
    lines::write(context, schema, FORMAT, charset, |columns, row, out| {
        for (at, column) in columns.iter().enumerate() {
            push_delimiter(at, options.delimiter, out);
            if column.is_null(row) {
                out.extend_from_slice(options.null.as_bytes());
            } else if never_escapes && column.is_never_quoted() {
                column.write_text(row, style, out)?;
            } else {
                text.clear();
                column.write_text(row, style, &mut text)?;
                escape(&text, options.delimiter, out);
            }
        }
        out.push(b'\n');
        Ok(())
    })
}

pub(super) fn push_delimiter(at: usize, delimiter: u8, out: &mut Vec<u8>) {
    if at > 0 {
        out.push(delimiter);
    }
}

/// Appends `text` with escapes for the delimiter, the backslash and control characters.
fn escape(text: &[u8], delimiter: u8, out: &mut Vec<u8>) {
    for &b in text {
        let letter = match b {
            0x08 => b'b',
            0x0c => b'f',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x0b => b'v',
            b'\\' => b'\\',
            b if b == delimiter => b,
            _ => {
                out.push(b);
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', letter]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reads a value as PostgreSQL's `CopyReadAttributesText`, but only the escapes that `escape` writes.
    fn unescape(text: &[u8]) -> Vec<u8> {
        let mut bytes = text.iter().copied();
        let mut out = Vec::new();
        while let Some(b) = bytes.next() {
            out.push(if b != b'\\' {
                b
            } else {
                match bytes.next().unwrap() {
                    b'b' => 8,
                    b'f' => 12,
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'v' => 11,
                    other => other,
                }
            });
        }
        out
    }

    #[test]
    fn escapes_as_postgresql_does() {
        let mut out = Vec::new();
        escape("a\tb|c\\N\n".as_bytes(), b'|', &mut out);
        assert_eq!(out, b"a\\tb\\|c\\\\N\\n");
    }

    proptest! {
        #[test]
        fn values_read_back_the_same(text: String, delimiter in prop::sample::select(b"\t|;,".to_vec())) {
            let mut out = Vec::new();
            escape(text.as_bytes(), delimiter, &mut out);
            prop_assert!(!out.contains(&b'\n') && !out.contains(&b'\r'));
            prop_assert_eq!(unescape(&out), text.as_bytes());
        }
    }
}
