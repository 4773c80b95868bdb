//! The parameters of a connection for another process or machine, as a text without a password.

use super::Address;
use super::settings::Settings;

/// Parameters that are secret, that choose between servers or name a file of others, or that have no effect in this
/// client.
const LEFT_OUT: [&str; 12] = [
    "password",
    "sslpassword",
    "service",
    "servicefile",
    "target_session_attrs",
    "load_balance_hosts",
    "host",
    "hostaddr",
    "port",
    "user",
    "dbname",
    "client_encoding",
];
/// Parameters of a user on one machine. If the environment has set them, the other machine's environment does so too.
const OF_A_MACHINE: [&str; 4] = ["passfile", "sslcert", "sslkey", "application_name"];

/// One server as keywords and values. What decides whether the server is trusted is always in it: a reader elsewhere
/// must not connect with fewer checks.
pub(super) fn text(settings: &Settings, host: &str, address: &Address, user: &str, database: &str) -> String {
    let (host, number, port) = match address {
        Address::Tcp(number, port) => (host.to_owned(), (number != host).then_some(number), port),
        Address::Unix(path, port) => (path.display().to_string(), None, port),
    };
    let port = port.to_string();
    let place = [("host", host.as_str()), ("port", &port), ("user", user), ("dbname", database)];
    let number = number.map(|number| ("hostaddr", number.as_str()));
    let others = settings.all().filter(|(name, value, is_given)| {
        !LEFT_OUT.contains(name) && !value.is_empty() && (*is_given || !OF_A_MACHINE.contains(name))
    });
    let all = place.into_iter().chain(number).chain(others.map(|(name, value, _)| (name, value)));
    all.map(|(name, value)| format!("{name}={}", quoted(value))).collect::<Vec<_>>().join(" ")
}

/// A value in quotes. A backslash makes the next character literal.
fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'"))
}
