//! The messages before the first query (PostgreSQL protocol, "Start-up").

use crate::charset::ClientEncoding;
use crate::connection::input::Input;
use crate::connection::output::Output;
use crate::connection::socket::Socket;
use crate::copy::options::VERSION;
use crate::error::Failure;
use crate::message::backend;
use crate::message::frontend::{FrontendMessage, Phase};
use crate::message::{ProtocolError, backend::Report};
use crate::session::settings::is_known;
use crate::tls;

/// The purpose of a connection.
#[derive(Debug, PartialEq, Eq)]
pub enum Purpose {
    Session(StartupMessage),
    /// To cancel a statement of another session.
    Cancel {
        process: i32,
        secret: Vec<u8>,
    },
    /// The client closed the connection before it told a purpose.
    Closed,
}

/// The newest supported minor version of the protocol. 3.1 was never released and is read as 3.0.
const NEWEST_MINOR: u16 = 2;

/// What the client says about itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct StartupMessage {
    pub user: String,
    /// The database that the client names; empty if none.
    pub database: String,
    pub application_name: String,
    /// The protocol's minor version that the client asks for.
    minor: u16,
    /// Protocol options. None is supported.
    options: Vec<String>,
    /// Settings that `options` names, each with its value.
    pub settings: Vec<(String, String)>,
}

/// Reads up to the message that tells the purpose. The connection is encrypted if the client asks for it and `tls` is
/// there.
pub fn purpose(
    socket: &Socket,
    input: &mut Input,
    output: &mut Output,
    tls: Option<&tls::Config>,
) -> Result<Purpose, Failure> {
    if let Some(tls) = tls
        && socket.begins_with_tls()?
    {
        socket.encrypt(tls.connection(true)?)?;
    }
    // Each kind of encryption may be requested once.
    for _ in 0..3 {
        let asked = input.message(Phase::Startup, |message| match message {
            FrontendMessage::SslRequest => Ok(StartupRequest::Tls),
            FrontendMessage::GssEncRequest => Ok(StartupRequest::Gss),
            FrontendMessage::CancelRequest { process, secret } => {
                Ok(StartupRequest::Purpose(Purpose::Cancel { process, secret: secret.to_vec() }))
            }
            FrontendMessage::Startup { minor, parameters } => {
                let parameters: Vec<_> = parameters.iter().map(|(name, value)| (&**name, &**value)).collect();
                parse_parameters(minor, &parameters).map(Purpose::Session).map(StartupRequest::Purpose)
            }
            _ => Err(ProtocolError::Unexpected('S')),
        })?;
        match asked {
            None => return Ok(Purpose::Closed),
            Some(asked) => match (asked?, tls) {
                (StartupRequest::Purpose(purpose), _) => return Ok(purpose),
                (StartupRequest::Tls | StartupRequest::Gss, _) if socket.tls().is_some() => break,
                (StartupRequest::Tls, Some(tls)) if socket.tcp().is_some() => {
                    // Otherwise an attacker in the network could insert plain text before the encrypted part
                    // (CVE-2021-23214).
                    if input.has_more() {
                        return Err(ProtocolError::Unencrypted.into());
                    }
                    output.buffer().push(b'S');
                    output.flush()?;
                    socket.encrypt(tls.connection(false)?)?;
                }
                (StartupRequest::Tls | StartupRequest::Gss, _) => {
                    output.buffer().push(b'N');
                    output.flush()?;
                }
            },
        }
    }
    Err(ProtocolError::Unexpected('S').into())
}

enum StartupRequest {
    Tls,
    Gss,
    Purpose(Purpose),
}

fn parse_parameters(minor: u16, parameters: &[(&str, &str)]) -> Result<StartupMessage, ProtocolError> {
    let mut message = StartupMessage { minor, ..StartupMessage::default() };
    let mut others = Vec::new();
    for (name, value) in parameters {
        match *name {
            "user" => message.user = (*value).to_owned(),
            "database" => message.database = (*value).to_owned(),
            "application_name" => message.application_name = (*value).to_owned(),
            // The session refuses the others.
            "client_encoding" if ClientEncoding::named(value) == Ok(ClientEncoding::Utf8) => {}
            "options" => message.settings = parse_options(value)?,
            name if name.starts_with("_pq_.") => message.options.push(name.to_owned()),
            name if is_known(name) => others.push((name.to_owned(), (*value).to_owned())),
            _ => {}
        }
    }
    // As in PostgreSQL, settings of their own come after those in `options`.
    message.settings.extend(others);
    Ok(message)
}

/// Parses the settings in `-c name=value --other=value` as PostgreSQL does (`pg_split_opts` in its postinit.c): a
/// backslash makes the next character an ordinary one.
fn parse_options(options: &str) -> Result<Vec<(String, String)>, ProtocolError> {
    let (mut words, mut word, mut is_escaped) = (Vec::new(), None::<String>, false);
    for c in options.chars() {
        match c {
            '\\' if !is_escaped => is_escaped = true,
            c if c.is_ascii_whitespace() && !is_escaped => words.extend(word.take()),
            c => {
                word.get_or_insert_default().push(c);
                is_escaped = false;
            }
        }
    }
    words.extend(word);
    let mut settings = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let wrong = || ProtocolError::Options(word.clone());
        let setting = match (word.strip_prefix("--"), word.strip_prefix("-c")) {
            (Some(setting), _) => setting.to_owned(),
            (None, Some("")) => words.next().ok_or_else(wrong)?,
            (None, Some(setting)) => setting.to_owned(),
            (None, None) => return Err(wrong()),
        };
        let (name, value) = setting.split_once('=').ok_or_else(wrong)?;
        settings.push((name.replace('-', "_"), value.to_owned()));
    }
    Ok(settings)
}

impl StartupMessage {
    /// The length of the secret for cancel requests: the longest of its version of the protocol, up to PostgreSQL's
    /// (`MAX_CANCEL_KEY_LENGTH` in its procsignal.h).
    pub fn secret_bytes(&self) -> usize {
        if self.minor >= 2 { 32 } else { 4 }
    }

    /// Announces the newest supported version if the client asks for a newer one, or for options. As in PostgreSQL, it
    /// is the first message to the client.
    pub fn negotiate(&self, out: &mut Vec<u8>) {
        if self.minor > NEWEST_MINOR || !self.options.is_empty() {
            let options: Vec<&str> = self.options.iter().map(String::as_str).collect();
            backend::negotiate_protocol_version(out, self.minor.min(NEWEST_MINOR), &options);
        }
    }
}

/// Sends the messages after the login: AuthenticationOk, the parameters that PostgreSQL reports, and the key for cancel
/// requests.
///
/// `is_source` says whether another database runs the statements. Its session takes no rows in FORMAT colonnade, and has
/// the modes of transactions.
pub fn confirm_login(
    output: &mut Output,
    message: &StartupMessage,
    version: &str,
    is_source: bool,
    process: i32,
    secret: &[u8],
) {
    let out = output.buffer();
    backend::authentication_ok(out);
    let format_version = VERSION.to_string();
    for (name, value) in [
        ("server_version", version),
        ("server_encoding", "UTF8"),
        ("client_encoding", "UTF8"),
        ("DateStyle", "ISO, MDY"),
        ("IntervalStyle", "postgres"),
        ("TimeZone", "UTC"),
        ("integer_datetimes", "on"),
        ("standard_conforming_strings", "on"),
        ("is_superuser", "off"),
        ("session_authorization", &message.user),
        ("application_name", &message.application_name),
        // It tells clients that this server supports FORMAT colonnade (PROTOCOL.md).
        ("colonnade", &format_version),
    ] {
        backend::parameter_status(out, name, value);
    }
    if !is_source {
        for (name, value) in [
            ("default_transaction_read_only", "off"),
            ("in_hot_standby", "off"),
            ("colonnade.receive", &*format_version),
        ] {
            backend::parameter_status(out, name, value);
        }
    }
    backend::backend_key_data(out, process, secret);
}

/// Refuses a client before its session begins.
pub fn refuse(output: &mut Output, failure: &Failure) {
    let message = failure.to_string();
    let (code, hint) = (failure.code(), failure.hint());
    let report = Report {
        severity: "FATAL",
        code: code.as_str(),
        message: &message,
        hint: hint.as_deref(),
        ..Report::default()
    };
    backend::error_response(output.buffer(), &report);
    // If the client is gone, nothing can be done.
    let _ = output.flush();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_encodings_than_utf8_are_settings() {
        // asyncpg writes quotes around the name.
        for name in ["UTF8", "utf-8", "'UTF8'", "unicode"] {
            assert_eq!(parse_parameters(0, &[("client_encoding", name)]).unwrap().settings, []);
        }
        for name in ["sql-ascii", "latin1", ""] {
            let found = parse_parameters(0, &[("client_encoding", name)]).unwrap();
            assert_eq!(found.settings, [("client_encoding".to_owned(), name.to_owned())]);
        }
    }

    #[test]
    fn options_are_settings() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            parse_options("-c statement_timeout=5s  -csearch_path=a\\ b --lock-timeout=1").unwrap(),
            [pair("statement_timeout", "5s"), pair("search_path", "a b"), pair("lock_timeout", "1")]
        );
        assert_eq!(parse_options(" ").unwrap(), []);
        assert!(
            parse_options("-c").is_err()
                && parse_options("-c x").is_err()
                && parse_options("-d 5").is_err()
                && parse_options("x=1").is_err()
        );
    }

    #[test]
    fn keeps_the_clients_parameters() {
        let found =
            parse_parameters(2, &[("user", "me"), ("application_name", "x"), ("_pq_.y", "1"), ("database", "d")])
                .unwrap();
        assert_eq!((found.user.as_str(), found.database.as_str(), found.application_name.as_str()), ("me", "d", "x"));
        assert_eq!((found.minor, found.options), (2, vec!["_pq_.y".to_owned()]));
    }

    #[test]
    fn only_newer_versions_and_options_are_negotiated() {
        let asked = |minor, parameters: &[(&str, &str)]| {
            let (found, mut out) = (parse_parameters(minor, parameters).unwrap(), Vec::new());
            found.negotiate(&mut out);
            (found.secret_bytes(), out)
        };
        assert_eq!(asked(0, &[]), (4, vec![]));
        assert_eq!(asked(1, &[]), (4, vec![]));
        assert_eq!(asked(2, &[]), (32, vec![]));
        assert_eq!(asked(3, &[]), (32, b"v\0\0\0\x0c\0\x03\0\x02\0\0\0\0".to_vec()));
        assert_eq!(asked(9999, &[]), asked(3, &[]));
        let option = b"v\0\0\0\x13\0\x03\0\0\0\0\0\x01_pq_.y\0".to_vec();
        assert_eq!(asked(0, &[("_pq_.y", "1")]), (4, option));
    }

    #[test]
    fn known_settings_are_kept_and_others_ignored() {
        let parameters = [
            ("datestyle", "ISO"),
            ("options", "-c statement_timeout=5"),
            ("database", "d"),
            ("client_encoding", "UTF8"),
        ];
        let found = parse_parameters(0, &parameters).unwrap();
        let expected = [("statement_timeout", "5"), ("datestyle", "ISO")];
        assert_eq!(found.settings, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}
