//! COPY's CSV format (PostgreSQL manual, COPY, "CSV Format").

use arrow_schema::Schema;

use super::context::Context;
use super::lines;
use super::options::{CopyOptions, CsvOptions};
use super::text::push_delimiter;
use crate::error::Failure;
use crate::value::is_unquoted_byte;

const FORMAT: &str = "FORMAT csv";

pub(super) fn check(schema: &Schema, options: &CopyOptions) -> Result<(), Failure> {
    lines::check(schema, FORMAT)?;
    forced_columns(schema, options).map(drop)
}

/// For each column, whether FORCE_QUOTE applies.
fn forced_columns(schema: &Schema, options: &CopyOptions) -> Result<Vec<bool>, Failure> {
    let names: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    Ok(options.csv.force_quote.mask(&names, "force_quote")?)
}

pub(super) fn write(
    context: &mut Context<'_>,
    schema: &Schema,
    options: &CopyOptions,
    response: impl FnOnce(&mut Context<'_>),
) -> Result<u64, Failure> {
    let forced = forced_columns(schema, options)?;
    response(context);
    let charset = options.encoding.unwrap_or(context.output.encoding()).charset();
    let is_single = schema.fields().len() == 1;
    if options.header {
        lines::write_header(context, charset, |out| {
            for (at, field) in schema.fields().iter().enumerate() {
                push_delimiter(at, options.delimiter, out);
                write_value(field.name().as_bytes(), options, false, is_single, out);
            }
            out.push(b'\n');
        })?;
    }
    let marks = [options.delimiter, options.csv.quote];
    let never_quotes = options.null.is_empty() && !marks.into_iter().any(is_unquoted_byte);
    let style = context.text_style;
    let mut text = Vec::new();
    lines::write(context, schema, FORMAT, charset, |columns, row, out| {
        for (at, column) in columns.iter().enumerate() {
            push_delimiter(at, options.delimiter, out);
            if column.is_null(row) {
                out.extend_from_slice(options.null.as_bytes());
            } else if never_quotes && !forced[at] && column.is_never_quoted() {
                column.write_text(row, style, out)?;
            } else {
                text.clear();
                column.write_text(row, style, &mut text)?;
                write_value(&text, options, forced[at], is_single, out);
            }
        }
        out.push(b'\n');
        Ok(())
    })
}

/// Appends a value, with quotes if it needs them (PostgreSQL's `CopyAttributeOutCSV`). A value `\.` that is alone in
/// its line needs quotes, because it would end the data.
fn write_value(text: &[u8], options: &CopyOptions, is_forced: bool, is_single: bool, out: &mut Vec<u8>) {
    let CsvOptions { quote, escape, .. } = options.csv;
    let is_special = |b: &u8| *b == options.delimiter || *b == quote || *b == b'\n' || *b == b'\r';
    let must =
        is_forced || text == options.null.as_bytes() || (is_single && text == b"\\.") || text.iter().any(is_special);
    if !must {
        out.extend_from_slice(text);
        return;
    }
    out.push(quote);
    for &b in text {
        if b == quote || b == escape {
            out.push(escape);
        }
        out.push(b);
    }
    out.push(quote);
}

#[cfg(test)]
mod tests {
    use super::super::options::Direction;
    use super::*;
    use colonnade_sql::statement::{CopyOption, OptionValue};

    fn shown(text: &str, extra: &[(&str, &str)]) -> String {
        let raw: Vec<_> = [("format", "csv")]
            .iter()
            .chain(extra)
            .map(|(name, value)| CopyOption { name: (*name).to_owned(), value: OptionValue::Text((*value).to_owned()) })
            .collect();
        let mut out = Vec::new();
        write_value(text.as_bytes(), &CopyOptions::from_raw(&raw, Direction::Out).unwrap(), false, true, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn quotes_only_special_values() {
        assert_eq!(shown("plain text", &[]), "plain text");
        assert_eq!(shown("", &[]), "\"\"");
        assert_eq!(shown("a,b", &[]), "\"a,b\"");
        assert_eq!(shown("a,b", &[("delimiter", ";")]), "a,b");
        assert_eq!(shown("say \"a\"\n", &[]), "\"say \"\"a\"\"\n\"");
        assert_eq!(shown("say \"a\"", &[("escape", "\\")]), "\"say \\\"a\\\"\"");
        assert_eq!(shown("x", &[("null", "x")]), "\"x\"");
        assert_eq!(shown("\\.", &[]), "\"\\.\"");
    }

    /// Reads the values of one line. Gives for each whether it was quoted.
    fn read(line: &[u8], delimiter: u8, quote: u8, escape: u8) -> Vec<(Vec<u8>, bool)> {
        let mut values = vec![(Vec::new(), false)];
        let (mut at, mut is_in_quotes) = (0, false);
        while at < line.len() {
            let last = values.last_mut().unwrap();
            match (line[at], line.get(at + 1)) {
                (b, Some(&next)) if is_in_quotes && b == escape && (next == quote || next == escape) => {
                    last.0.push(next);
                    at += 1;
                }
                (b, _) if b == quote => (is_in_quotes, last.1) = (!is_in_quotes, true),
                (b, _) if b == delimiter && !is_in_quotes => values.push((Vec::new(), false)),
                (b, _) => last.0.push(b),
            }
            at += 1;
        }
        assert!(!is_in_quotes);
        values
    }

    proptest::proptest! {
        #[test]
        fn values_read_back_the_same(
            texts in proptest::collection::vec("[a,;\"'\\\\ \n\r.é]{0,8}", 1..4),
            delimiter in proptest::sample::select(vec![",", ";", "|"]),
            (quote, escape) in proptest::sample::select(vec![("\"", "\""), ("'", "\\"), ("\"", "\\")]),
        ) {
            let pairs = [("format", "csv"), ("delimiter", delimiter), ("quote", quote), ("escape", escape)];
            let raw = pairs.map(|(name, value)| {
                CopyOption { name: name.to_owned(), value: OptionValue::Text(value.to_owned()) }
            });
            let options = CopyOptions::from_raw(&raw, Direction::Out).unwrap();
            let mut line = Vec::new();
            for (at, text) in texts.iter().enumerate() {
                push_delimiter(at, options.delimiter, &mut line);
                write_value(text.as_bytes(), &options, false, texts.len() == 1, &mut line);
            }
            let found = read(&line, options.delimiter, options.csv.quote, options.csv.escape);
            proptest::prop_assert_eq!(found.len(), texts.len());
            for ((bytes, is_quoted), text) in found.iter().zip(&texts) {
                proptest::prop_assert_eq!(bytes, text.as_bytes());
                // An empty value without quotes would be read as NULL.
                proptest::prop_assert!(*is_quoted || !text.is_empty());
            }
        }
    }
}
