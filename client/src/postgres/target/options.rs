//! Interprets the parameters of a connection.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::settings::{Lookup, Settings, usage};
use super::{Address, Conninfo, Target, password_file, shareable};
use crate::require_auth::Requirement;
use crate::system::{Files, Keepalive, is_private, user_name};
use crate::tls::{Check, Identity, Roots, TlsOptionNames, TlsOptions, Version};
use crate::{Access, Error, ErrorKind, uri};

const DEFAULT_HOST: &str = "localhost";
const DEFAULT_PORT: u16 = 5432;
/// libpq's names of the options of TLS.
static WORDS: TlsOptionNames =
    TlsOptionNames { mode: "sslmode", roots: "sslrootcert", certificate: "sslcert", key: "sslkey", revoked: "sslcrl" };
/// The registered protocol name for TLS (ALPN).
const PROTOCOL: &[u8] = b"postgresql";
/// The methods of `require_auth`. `gss`, `sspi` and `oauth` are known only so that they can be excluded.
const METHODS: &[&str] = &["password", "md5", "gss", "sspi", "scram-sha-256", "oauth", "none"];

/// Whether a connection over TCP is encrypted, and which checks the server's certificate must pass.
/// <https://www.postgresql.org/docs/current/libpq-ssl.html#LIBPQ-SSL-PROTECTION>
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SslMode {
    /// Never.
    Disable,
    /// If the server requires it.
    Allow,
    /// If the server supports it.
    #[default]
    Prefer,
    /// Always. The certificate is checked as for `VerifyCa` if there is a file of root certificates.
    Require,
    /// Always, and a trusted authority must have signed the certificate.
    VerifyCa,
    /// As `VerifyCa`, and the certificate must be for the host.
    VerifyFull,
}

/// Whether a SCRAM login is bound to the server's certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Binding {
    /// Never.
    Disable,
    /// If both sides support it.
    #[default]
    Prefer,
    /// Always. Any other login is refused.
    Require,
}

/// Which of several servers are suitable, by what a session may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TargetSessionAttrs {
    /// All.
    #[default]
    Any,
    /// Servers that accept writes.
    ReadWrite,
    /// Servers that only accept reads.
    ReadOnly,
    /// Those that are not standbys.
    Primary,
    /// Standbys.
    Standby,
    /// A standby, or any server if there is none.
    PreferStandby,
}

/// The meaning of a word in a list.
fn word<T: Copy>(name: &str, text: &str, words: &[(&str, T)]) -> Result<T, Error> {
    let found = words.iter().find(|(word, _)| *word == text);
    found.map(|(_, meaning)| *meaning).ok_or_else(|| {
        let words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        usage(format!("{name} is not one of {}", words.join(", ")))
    })
}

fn number<T: std::str::FromStr>(name: &str, text: &str, unit: &str) -> Result<T, Error> {
    text.trim().parse().map_err(|_| usage(format!("{name} is not a number of {unit}")))
}

fn unsupported(what: impl fmt::Display, hint: &str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("{what} is not supported")).with_hint(hint)
}

/// Makes the targets.
///
/// # Errors
/// A value is invalid, or requests something that this version does not support.
pub(super) fn conninfo(settings: &Settings, lookup: Lookup<'_>) -> Result<Conninfo, Error> {
    refuse(settings)?;
    let user = settings.text("user").map_or_else(user_name, |user| Ok(user.to_owned()))?;
    let database = settings.text("dbname").unwrap_or(&user).to_owned();
    let files = Files::new(lookup);
    let passfile = settings.text("passfile").map(PathBuf::from).or_else(|| files.passwords());
    let sslmode = sslmode(settings)?;
    let direct_tls = settings
        .value("sslnegotiation", |text| word("sslnegotiation", text, &[("postgres", false), ("direct", true)]))?
        .unwrap_or(false);
    if direct_tls && sslmode < SslMode::Require {
        let error = usage("sslnegotiation=direct needs an sslmode that is require, verify-ca or verify-full");
        return Err(settings.blame("sslnegotiation", error));
    }
    let tls = tls(settings, sslmode, &files)?;
    let bindings = [("disable", Binding::Disable), ("prefer", Binding::Prefer), ("require", Binding::Require)];
    let channel_binding = settings.value("channel_binding", |text| word("channel_binding", text, &bindings))?;
    let require_auth = settings.value("require_auth", |text| Requirement::parse(text, METHODS))?.unwrap_or_default();
    let seconds = settings.value("connect_timeout", |text| number::<i64>("connect_timeout", text, "seconds"))?;
    let connect_timeout = seconds.and_then(|seconds| u64::try_from(seconds).ok()).filter(|seconds| *seconds > 0);
    let name = settings.text("application_name").or_else(|| settings.text("fallback_application_name"));
    let parameters = [("application_name", name), ("options", settings.text("options"))];
    let parameters: Vec<_> =
        parameters.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?.to_owned()))).collect();
    let keepalive = keepalive(settings)?;
    let targets = places(settings)?
        .into_iter()
        .map(|(host, address)| {
            let password = settings
                .text("password")
                .map(str::to_owned)
                .or_else(|| password_file::password(passfile.as_deref()?, &address, &host, &database, &user));
            Target {
                shareable: shareable::text(settings, &host, &address, &user, &database),
                address,
                host,
                user: user.clone(),
                password,
                database: database.clone(),
                connect_timeout: connect_timeout.map(Duration::from_secs),
                parameters: parameters.clone(),
                sslmode,
                direct_tls,
                tls: tls.clone(),
                channel_binding: channel_binding.unwrap_or_default(),
                require_auth: require_auth.clone(),
                keepalive: keepalive.clone(),
                access: Access::Own,
            }
        })
        .collect();
    let sessions = [
        ("any", TargetSessionAttrs::Any),
        ("read-write", TargetSessionAttrs::ReadWrite),
        ("read-only", TargetSessionAttrs::ReadOnly),
        ("primary", TargetSessionAttrs::Primary),
        ("standby", TargetSessionAttrs::Standby),
        ("prefer-standby", TargetSessionAttrs::PreferStandby),
    ];
    let session = settings.value("target_session_attrs", |text| word("target_session_attrs", text, &sessions))?;
    Ok(Conninfo { targets, session: session.unwrap_or_default() })
}

/// Refuses parameters that this version does not support. Parameters without effect here are ignored:
/// `client_encoding` (text is always UTF-8), `sslcompression`, and the names of Kerberos.
fn refuse(settings: &Settings) -> Result<(), Error> {
    for (name, hint) in [
        ("replication", "leave it out"),
        ("requirepeer", "connect over TCP with an sslmode that verifies the server"),
        ("sslcrldir", "name one file of lists by sslcrl"),
        ("sslpassword", "store the key without a password, readable by its owner only"),
    ] {
        settings.value(name, |_| Err::<(), _>(unsupported(name, hint)))?;
    }
    for (name, value, hint) in [
        ("gssencmode", "require", "use sslmode"),
        ("load_balance_hosts", "random", "name the hosts in the order in which to try them"),
        ("sslcertmode", "require", "the server alone decides whether it asks for a certificate"),
    ] {
        settings.value(name, |text| match text {
            text if text == value => Err(unsupported(format!("{name}={value}"), hint)),
            _ => Ok(()),
        })?;
    }
    Ok(())
}

/// The servers: the name and the address of each.
fn places(settings: &Settings) -> Result<Vec<(String, Address)>, Error> {
    let list = |name| settings.text(name).map(|text| text.split(',').map(str::trim).collect::<Vec<_>>());
    let (hosts, numbers) = (list("host"), list("hostaddr"));
    let count = hosts.as_ref().or(numbers.as_ref()).map_or(1, Vec::len);
    if numbers.as_ref().is_some_and(|numbers| numbers.len() != count) {
        return Err(settings.blame("hostaddr", usage("host and hostaddr name different numbers of servers")));
    }
    let ports = list("port").unwrap_or_default();
    if ports.len() > 1 && ports.len() != count {
        return Err(settings.blame("port", usage("host and port name different numbers of servers")));
    }
    (0..count)
        .map(|at| {
            let of = |list: &Option<Vec<&str>>| {
                list.as_ref().and_then(|list| list.get(at)).copied().unwrap_or("").to_owned()
            };
            let text = ports.get(if ports.len() == 1 { 0 } else { at }).copied().unwrap_or("");
            let port = if text.is_empty() {
                DEFAULT_PORT
            } else {
                uri::port(text).map_err(|error| settings.blame("port", error))?
            };
            let (host, number) = (of(&hosts), of(&numbers));
            Ok(match (host.as_str(), number) {
                ("", number) if !number.is_empty() => (number.clone(), Address::Tcp(number, port)),
                ("", _) => (DEFAULT_HOST.to_owned(), Address::Tcp(DEFAULT_HOST.to_owned(), port)),
                (_, number) if !number.is_empty() => (host, Address::Tcp(number, port)),
                (path, _) if path.starts_with('/') => (host.clone(), Address::Unix(host.into(), port)),
                _ => (host.clone(), Address::Tcp(host, port)),
            })
        })
        .collect()
}

fn sslmode(settings: &Settings) -> Result<SslMode, Error> {
    let modes = [
        ("disable", SslMode::Disable),
        ("allow", SslMode::Allow),
        ("prefer", SslMode::Prefer),
        ("require", SslMode::Require),
        ("verify-ca", SslMode::VerifyCa),
        ("verify-full", SslMode::VerifyFull),
    ];
    let mode = settings.value("sslmode", |text| word("sslmode", text, &modes))?;
    // Everybody can get a certificate from a public authority. Only the name in it distinguishes servers.
    match (settings.text("sslrootcert"), mode) {
        (Some("system"), None | Some(SslMode::VerifyFull)) => Ok(SslMode::VerifyFull),
        (Some("system"), Some(_)) => {
            Err(settings.blame("sslmode", usage("sslrootcert=system needs sslmode=verify-full")))
        }
        (_, mode) => Ok(mode.unwrap_or_default()),
    }
}

/// The options of TLS. Files that are not named are searched in the user's folder of certificates, as in libpq.
fn tls(settings: &Settings, mode: SslMode, files: &Files) -> Result<TlsOptions, Error> {
    let own = |name: &str| files.certificate(name).filter(|file| file.is_file());
    let file = |name: &str, default: &str| settings.text(name).map(PathBuf::from).or_else(|| own(default));
    let mut options = TlsOptions::new(&WORDS);
    options.protocols = vec![PROTOCOL.to_vec()];
    options.name_indication =
        settings.value("sslsni", |text| word("sslsni", text, &[("0", false), ("1", true)]))?.unwrap_or(true);
    let versions = [("TLSv1.2", Version::Tls12), ("TLSv1.3", Version::Tls13)];
    let oldest = settings.value("ssl_min_protocol_version", |text| match text {
        "TLSv1" | "TLSv1.1" => Ok(Version::Tls12),
        text => word("ssl_min_protocol_version", text, &versions),
    })?;
    let newest =
        settings.value("ssl_max_protocol_version", |text| word("ssl_max_protocol_version", text, &versions))?;
    options.versions = (oldest.unwrap_or(Version::Tls12), newest.unwrap_or(Version::Tls13));
    if mode == SslMode::Disable {
        return Ok(options);
    }
    let system = settings.text("sslrootcert") == Some("system");
    options.roots = match file("sslrootcert", "root.crt") {
        _ if system => Roots::System,
        Some(file) => Roots::File(file),
        None => Roots::Nobody,
    };
    options.check = match mode {
        SslMode::VerifyFull => Check::Name,
        SslMode::VerifyCa => Check::Chain,
        SslMode::Require if options.roots != Roots::Nobody => Check::Chain,
        _ => Check::Nothing,
    };
    match (options.check, &options.roots) {
        // Files that are not used need not exist.
        (Check::Nothing, _) => options.roots = Roots::Nobody,
        (_, Roots::Nobody) => {
            let hint = format!(
                "name a file with the certificate of the server's authority by sslrootcert, put it into {}, or trust whom the system \
                 trusts by sslrootcert=system",
                Files::certificate_place("root.crt")
            );
            return Err(
                usage("sslmode verifies the server's certificate, but no root certificate is named").with_hint(hint)
            );
        }
        // libpq's rule: the user's list does not apply to the system's authorities.
        (_, Roots::System) => options.revoked = settings.text("sslcrl").map(PathBuf::from),
        (_, Roots::File(_)) => options.revoked = file("sslcrl", "root.crl"),
    }
    let certificate = file("sslcert", "postgresql.crt").filter(|_| settings.text("sslcertmode") != Some("disable"));
    if let Some(certificate) = certificate {
        let key = file("sslkey", "postgresql.key").ok_or_else(|| {
            usage("there is a certificate of the client's, but no key to it").with_hint("name the key's file by sslkey")
        })?;
        secret(&key)?;
        options.identity = Some(Identity { certificate, key });
    }
    Ok(options)
}

/// Refuses a private key that others may read. libpq's rule: 0600 or less for the user's files, 0640 for root's.
fn secret(key: &Path) -> Result<(), Error> {
    let Ok(metadata) = fs::metadata(key) else { return Ok(()) };
    if !is_private(&metadata, true) {
        return Err(usage(format!("the private key {} may be read by others", key.display()))
            .with_hint(format!("chmod 600 {}", key.display())));
    }
    Ok(())
}

fn keepalive(settings: &Settings) -> Result<Keepalive, Error> {
    let seconds = |name: &str| -> Result<Option<u32>, Error> {
        let number = settings.value(name, |text| number::<i32>(name, text, "seconds or probes"))?;
        Ok(number.and_then(|number| u32::try_from(number).ok()).filter(|number| *number > 0))
    };
    Ok(Keepalive {
        off: settings
            .value("keepalives", |text| word("keepalives", text, &[("0", true), ("1", false)]))?
            .unwrap_or(false),
        idle: seconds("keepalives_idle")?,
        interval: seconds("keepalives_interval")?,
        count: seconds("keepalives_count")?,
        user_timeout: settings
            .value("tcp_user_timeout", |text| number("tcp_user_timeout", text, "milliseconds"))?
            .filter(|number| *number > 0),
    })
}
