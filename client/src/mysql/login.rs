//! The login: the server's greeting, the answer, and the proof of the password.
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase.html>

use super::auth::{Plugin, Way};
use super::encryption::Mode;
use super::incoming::Incoming;
use super::packet::{Done, PacketReader, capability, err, protocol, put_counted};
use super::uri::{Address, Target};
use crate::channel::Channel;
use crate::shared_connection::Tick;
use crate::{Error, ErrorKind};

/// The version of the handshake since MySQL 3.21.
const HANDSHAKE: u8 = 10;
/// `utf8mb4_general_ci`, until the session's own character set is set.
const UTF8MB4: u8 = 45;
/// The largest command in bytes.
const MAX_COMMAND: u32 = 1 << 30;

/// The first packet of a server.
struct Greeting {
    capabilities: u64,
    scramble: Vec<u8>,
    plugin: Vec<u8>,
}

impl Greeting {
    fn read(packet: &[u8]) -> Result<Self, Error> {
        let stranger = || {
            Error::new(ErrorKind::Protocol, "the server at this port does not speak MySQL's protocol")
                .with_hint("check the port")
        };
        match packet.first() {
            Some(&HANDSHAKE) => {}
            Some(0xff) => return Err(err(packet)?.0),
            _ => return Err(stranger()),
        }
        let read = || -> Result<Self, Error> {
            let mut body = PacketReader(packet.get(1..).unwrap_or_default());
            let _version = body.until_nul();
            let _thread = body.u32()?;
            let mut scramble = body.bytes(8)?.to_vec();
            let _filler = body.u8()?;
            let mut capabilities = u64::from(body.u16()?);
            let (_collation, _status) = (body.u8()?, body.u16()?);
            capabilities |= u64::from(body.u16()?) << 16;
            let length = usize::from(body.u8()?);
            let _reserved = body.bytes(6)?;
            let extended = u64::from(body.u32()?);
            if capabilities & capability::LONG_PASSWORD == 0 {
                capabilities |= extended << 32;
            }
            scramble.extend_from_slice(body.bytes(length.saturating_sub(8).max(13).min(body.0.len()))?);
            Ok(Self { capabilities, scramble, plugin: body.until_nul().to_vec() })
        };
        let greeting = read().map_err(|_| stranger())?;
        let needed = capability::PROTOCOL_41 | capability::SECURE_CONNECTION | capability::PLUGIN_AUTH;
        if greeting.capabilities & needed != needed {
            return Err(Error::new(ErrorKind::Unsupported, "the server is older than MySQL 5.5.7"));
        }
        Ok(greeting)
    }

    /// The capabilities of both sides.
    fn agree(&self, target: &Target) -> u64 {
        let mut wanted = capability::LONG_PASSWORD
            | capability::LONG_FLAG
            | capability::LOCAL_FILES
            | capability::PROTOCOL_41
            | capability::TRANSACTIONS
            | capability::SECURE_CONNECTION
            | capability::MULTI_RESULTS
            | capability::PS_MULTI_RESULTS
            | capability::PLUGIN_AUTH
            | capability::CONNECT_ATTRS
            | capability::LENENC_AUTH
            | capability::DEPRECATE_EOF
            | capability::EXTENDED_TYPES;
        if !target.database.is_empty() {
            wanted |= capability::CONNECT_WITH_DB;
        }
        wanted & self.capabilities
    }
}

/// SSLRequest, and the beginning of HandshakeResponse41.
fn response_head(capabilities: u64) -> Vec<u8> {
    let mut head = (capabilities as u32).to_le_bytes().to_vec();
    head.extend_from_slice(&MAX_COMMAND.to_le_bytes());
    head.push(UTF8MB4);
    head.extend_from_slice(&[0; 19]);
    head.extend_from_slice(&((capabilities >> 32) as u32).to_le_bytes());
    head
}

/// What a login leaves.
pub(super) struct LoggedIn {
    pub(super) incoming: Incoming,
    /// The capabilities of both sides.
    pub(super) capabilities: u64,
    /// The server's status flags.
    pub(super) status: u16,
}

/// Logs in on a new connection.
///
/// # Errors
/// The server refuses, or requests something that this client does not support.
pub(super) fn login(mut incoming: Incoming, target: &Target, tick: Tick<'_>) -> Result<LoggedIn, Error> {
    let greeting = Greeting::read(&incoming.packet(tick)?)?;
    let mut capabilities = greeting.agree(target);
    let mode = target.encryption.mode();
    // A unix socket does not leave the machine.
    let (host, local) = match &target.address {
        Address::Unix(..) => ("localhost", true),
        Address::Tcp(host, _) => (host.as_str(), false),
    };
    let offered = greeting.capabilities & capability::SSL != 0;
    let encrypted = mode >= Mode::Required || mode == Mode::Preferred && offered && !local;
    if encrypted {
        if !offered {
            return Err(Error::new(ErrorKind::Connect, "the server does not offer TLS")
                .with_hint("give the server a certificate, or write ssl-mode=PREFERRED"));
        }
        capabilities |= capability::SSL;
        let config = target.encryption.config()?;
        incoming.reply(&response_head(capabilities))?;
        incoming = incoming.encrypted(&config, host, tick)?;
    }
    let way = match incoming.channel() {
        channel if channel.is_certain() => Way::Certain,
        Channel::Tls(_) => Way::Encrypted,
        Channel::Plain(_) => Way::Open,
    };
    let required = &target.require_auth;

    // An unknown plugin may be the server's default, while the user has another one.
    let mut plugin = Plugin::named(&greeting.plugin).unwrap_or(Plugin::Native);
    if plugin == Plugin::Sha256 {
        plugin = Plugin::CachingSha2;
    }
    // A plugin that the user excludes is not answered either. The server may then switch to another one.
    let opening = plugin.permitted(required).is_ok();
    let mut response = response_head(capabilities);
    response.extend_from_slice(target.user.as_bytes());
    response.push(0);
    let answer = match opening {
        true => plugin.answer(&target.password, &greeting.scramble, way, required)?,
        false => Vec::new(),
    };
    if capabilities & capability::LENENC_AUTH != 0 {
        put_counted(&mut response, &answer);
    } else {
        // All first answers are shorter than 256 bytes.
        response.push(answer.len() as u8);
        response.extend_from_slice(&answer);
    }
    if capabilities & capability::CONNECT_WITH_DB != 0 {
        response.extend_from_slice(target.database.as_bytes());
        response.push(0);
    }
    response.extend_from_slice(plugin.name().as_bytes());
    response.push(0);
    if capabilities & capability::CONNECT_ATTRS != 0 {
        let mut attributes = Vec::new();
        for text in ["_client_name", "colonnade", "program_name", "colonnade"] {
            put_counted(&mut attributes, text.as_bytes());
        }
        put_counted(&mut response, &attributes);
    }
    incoming.reply(&response)?;

    loop {
        let packet = incoming.packet(tick)?;
        match packet.split_first() {
            Some((0x00, _)) => {
                // If the server accepts the first answer, it has used this plugin.
                plugin.permitted(required)?;
                return Ok(LoggedIn { incoming, capabilities, status: Done::ok(&packet)?.status });
            }
            Some((0xff, _)) => return Err(err(&packet)?.0),
            // AuthSwitchRequest. Without a name it requests a proof that MySQL 4.1 has replaced.
            Some((0xfe, rest)) if !rest.is_empty() => {
                let mut body = PacketReader(rest);
                plugin = Plugin::named(body.until_nul())?.permitted(required)?;
                let scramble = body.0.strip_suffix(b"\0").unwrap_or(body.0);
                incoming.reply(&plugin.answer(&target.password, scramble, way, required)?)?;
            }
            Some((0x01, said)) => {
                plugin.permitted(required)?;
                if let Some(answer) = plugin.go_on(said, &target.password, way, required)? {
                    incoming.reply(&answer)?;
                }
            }
            _ => return Err(protocol("something that no login has")),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn others_are_recognised() {
        for other in [&b""[..], b"SSH-2.0", b"\x0a", b"\x0a5.5.7\0\x01"] {
            assert!(Greeting::read(other).is_err_and(|error| error.message().contains("does not speak")));
        }
        let refused = Greeting::read(b"\xff\x10\x04Too many connections").err().unwrap();
        assert_eq!(refused.message(), "Too many connections");
    }

    proptest! {
        #[test]
        fn an_arbitrary_greeting_is_read_or_refused(mut bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = Greeting::read(&bytes);
            if let Some(first) = bytes.first_mut() {
                *first = HANDSHAKE;
            }
            let _ = Greeting::read(&bytes);
        }
    }
}
