//! LISTEN, NOTIFY and UNLISTEN.

use super::parser::{Parser, SyntaxError};

/// A statement about notifications. Channels are names as PostgreSQL folds them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotificationStatement {
    /// LISTEN channel.
    Listen(String),
    /// NOTIFY channel, 'payload'.
    Notify {
        /// The channel.
        channel: String,
        /// The text to send; empty if the statement has none.
        payload: String,
    },
    /// UNLISTEN channel; of all channels if there is no name.
    Unlisten(Option<String>),
}

/// Reads a statement after its first word.
pub(super) fn read(mut parser: Parser<'_>, verb: &str) -> Result<NotificationStatement, SyntaxError> {
    let statement = match verb {
        "LISTEN" => NotificationStatement::Listen(channel(&mut parser)?),
        "NOTIFY" => {
            let channel = channel(&mut parser)?;
            let payload = if parser.symbol(b',') { text(&mut parser)? } else { String::new() };
            NotificationStatement::Notify { channel, payload }
        }
        _ if parser.symbol(b'*') => NotificationStatement::Unlisten(None),
        _ => NotificationStatement::Unlisten(Some(channel(&mut parser)?)),
    };
    parser.expect_end()?;
    Ok(statement)
}

fn channel(parser: &mut Parser<'_>) -> Result<String, SyntaxError> {
    let name = parser.name().ok_or_else(|| parser.error("the name of a channel"))?;
    Ok(name.folded().into_owned())
}

fn text(parser: &mut Parser<'_>) -> Result<String, SyntaxError> {
    let dialect = parser.dialect;
    let text = parser.peek().and_then(|token| Some(token.string(dialect)?.into_owned()));
    let text = text.ok_or_else(|| parser.error("a text"))?;
    parser.take();
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dialect, Statement, StatementKind};

    #[test]
    fn a_notification_has_a_channel_and_a_text() {
        let notify = |channel: &str, payload: &str| {
            Ok(NotificationStatement::Notify { channel: channel.to_owned(), payload: payload.to_owned() })
        };
        for (sql, expected) in [
            ("notify Foo", notify("foo", "")),
            ("NOTIFY \"Foo\" , 'it''s'", notify("Foo", "it's")),
            ("notify foo, E'a\\nb'", notify("foo", "a\nb")),
            ("notify foo, $$x$$", notify("foo", "x")),
        ] {
            assert_eq!(Statement::of(sql, Dialect::DuckDb).kind, StatementKind::Notification(expected), "{sql}");
        }
        for (sql, near) in [
            ("listen", None),
            ("listen 'a'", Some("'a'")),
            ("listen a b", Some("b")),
            ("notify a, 1", Some("1")),
            ("notify a,", None),
            ("notify a 'b'", Some("'b'")),
            ("unlisten", None),
        ] {
            let StatementKind::Notification(Err(error)) = Statement::of(sql, Dialect::DuckDb).kind else {
                panic!("{sql}")
            };
            assert_eq!(error.near.as_deref(), near, "{sql}");
        }
    }
}
