//! One line for each event, in logfmt: `time=… event=login user=alice`.

use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Clone, Copy, Debug)]
pub(crate) enum FieldValue<'a> {
    Text(&'a str),
    Number(u64),
    Seconds(f64),
}

/// The line that takes the place of lines that could not be written.
pub(super) fn lost_lines(count: u64) -> String {
    line("log_lost", &[("lines", FieldValue::Number(count))])
}

/// Seconds since 1970.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// The text of a line at this time.
pub(super) fn line(event: &str, fields: &[(&str, FieldValue<'_>)]) -> String {
    line_at(now(), event, fields)
}

/// The text of a line; `time` in seconds since 1970.
fn line_at(time: f64, event: &str, fields: &[(&str, FieldValue<'_>)]) -> String {
    let mut text = format!("time={time:.3} event={event}");
    for (name, value) in fields {
        // Writing to a string cannot fail.
        let _ = match value {
            FieldValue::Text(value) if needs_no_quotes(value) => write!(text, " {name}={value}"),
            // Clients choose some values. Quotes keep each in its field and line.
            FieldValue::Text(value) => write!(text, " {name}={value:?}"),
            FieldValue::Number(value) => write!(text, " {name}={value}"),
            FieldValue::Seconds(value) => write!(text, " {name}={value:.3}"),
        };
    }
    text.push('\n');
    text
}

fn needs_no_quotes(value: &str) -> bool {
    !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'=' | b'\\'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_from_clients_stay_in_their_field() {
        let text =
            line_at(1.5, "login", &[("user", FieldValue::Text("a\" event=x\nb")), ("peer", FieldValue::Text("::1"))]);
        assert_eq!(text, "time=1.500 event=login user=\"a\\\" event=x\\nb\" peer=::1\n");
        assert_eq!(
            line_at(0.0, "end", &[("n", FieldValue::Number(3)), ("e", FieldValue::Text(""))]),
            "time=0.000 event=end n=3 e=\"\"\n"
        );
    }
}
