//! Listening sockets: TCP addresses and unix sockets.

use std::fmt;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt as _, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// An address to listen on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAddress {
    /// A host's address and a port; port 0 takes a free one.
    Tcp(SocketAddr),
    /// A socket file, or a directory in which `.s.PGSQL.<port>` is made, where PostgreSQL's clients look for it.
    Unix(PathBuf),
}

/// An address that the server does not listen on.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// Not `host:port`.
    #[error("\"{0}\" is not an address; use one with a port, such as 127.0.0.1:5433 or 0.0.0.0:5433")]
    Syntax(String),
    /// Other machines could connect without a password, or read the traffic.
    #[error(
        "will not listen on {0} without encryption and passwords, which other machines need; make a user with \
         `colonnade user add NAME --users FILE` and add --users FILE --tls-certificate server.crt --tls-key server.key, or use \
         127.0.0.1 or --unix, and an SSH tunnel from other machines"
    )]
    NotProtected(SocketAddr),
    /// Something listens on this port.
    #[error(
        "cannot listen on {0}: another program does; choose another port with --listen (port 0 takes a free one), or connect to that server"
    )]
    PortInUse(SocketAddr),
    /// An error of the operating system.
    #[error("cannot listen on {address}: {error}")]
    Bind {
        /// The address.
        address: String,
        /// Its error.
        error: io::Error,
    },
    /// Another server listens there.
    #[error("another server listens on {0}; stop it or choose another path")]
    InUse(PathBuf),
    /// The file is not a socket.
    #[error("{0} exists and is not a socket; choose another path")]
    NotASocket(PathBuf),
}

impl FromStr for ListenAddress {
    type Err = AddressError;

    /// Parses `127.0.0.1:5433`, `[::1]:5433`, `localhost:5433` or a port alone.
    fn from_str(text: &str) -> Result<Self, AddressError> {
        let syntax = || AddressError::Syntax(text.to_owned());
        let address = match text.strip_prefix("localhost:").or((!text.contains(':')).then_some(text)) {
            Some(port) => SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port.parse().map_err(|_| syntax())?),
            None => text.parse().map_err(|_| syntax())?,
        };
        Ok(Self::Tcp(address))
    }
}

impl ListenAddress {
    /// Whether only clients on this machine can reach it.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Tcp(address) => address.ip().is_loopback(),
            Self::Unix(_) => true,
        }
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
}

/// The device of a file, and its number there.
type FileId = (u64, u64);

#[derive(Debug)]
pub enum Listener {
    Tcp(TcpListener),
    /// The path, and the device and the number of its file.
    Unix(UnixListener, PathBuf, FileId),
    /// For metrics, not for clients.
    Metrics(TcpListener),
}

/// The port in the file's name if the server listens on no TCP port: PostgreSQL's default, which clients assume.
const POSTGRESQL_PORT: u16 = 5432;

impl Listener {
    /// Listens. `port` is the TCP port that the server also listens on, if any.
    pub fn bind(address: &ListenAddress, port: Option<u16>) -> Result<Self, AddressError> {
        let failed = |address: String| |error| AddressError::Bind { address, error };
        match address {
            ListenAddress::Tcp(address) => {
                TcpListener::bind(address).map(Self::Tcp).map_err(|error| match error.kind() {
                    io::ErrorKind::AddrInUse => AddressError::PortInUse(*address),
                    _ => failed(address.to_string())(error),
                })
            }
            ListenAddress::Unix(path) => {
                let path = if path.is_dir() {
                    path.join(format!(".s.PGSQL.{}", port.unwrap_or(POSTGRESQL_PORT)))
                } else {
                    path.clone()
                };
                clear(&path)?;
                let shown = path.display().to_string();
                let listener = UnixListener::bind(&path).map_err(failed(shown.clone()))?;
                // Everybody who can connect acts with the rights of the server's user.
                fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).map_err(failed(shown.clone()))?;
                let id = file_id(&path).map_err(failed(shown))?;
                Ok(Self::Unix(listener, path, id))
            }
        }
    }

    /// The address with its actual port.
    pub fn address(&self) -> io::Result<ListenAddress> {
        match self {
            Self::Tcp(listener) | Self::Metrics(listener) => listener.local_addr().map(ListenAddress::Tcp),
            Self::Unix(_, path, _) => Ok(ListenAddress::Unix(path.clone())),
        }
    }

    pub fn accept(&self) -> io::Result<OwnedFd> {
        match self {
            Self::Tcp(listener) | Self::Metrics(listener) => listener.accept().map(|(stream, _)| stream.into()),
            Self::Unix(listener, ..) => listener.accept().map(|(stream, _)| stream.into()),
        }
    }

    /// Wakes the thread that waits for a client, and removes the socket file.
    pub fn close(&self) {
        use rustix::net::{Shutdown, shutdown};
        // Failures are ignored: the process is about to end.
        let _ = match self {
            Self::Tcp(listener) | Self::Metrics(listener) => shutdown(listener, Shutdown::Both),
            Self::Unix(listener, path, id) => {
                // Another server may have replaced the file, after somebody had removed it.
                if file_id(path).is_ok_and(|present| present == *id) {
                    let _ = fs::remove_file(path);
                }
                shutdown(listener, Shutdown::Both)
            }
        };
    }
}

fn file_id(path: &Path) -> io::Result<FileId> {
    let metadata = fs::symlink_metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}

/// Removes the socket file that a dead server has left.
fn clear(path: &Path) -> Result<(), AddressError> {
    match fs::symlink_metadata(path) {
        Err(_) => return Ok(()),
        Ok(metadata) if !metadata.file_type().is_socket() => return Err(AddressError::NotASocket(path.to_owned())),
        Ok(_) => {}
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(|error| AddressError::Bind { address: path.display().to_string(), error })
        }
        _ => Err(AddressError::InUse(path.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_parsed() {
        assert_eq!("127.0.0.1:1".parse::<ListenAddress>().unwrap().to_string(), "127.0.0.1:1");
        assert_eq!("5433".parse::<ListenAddress>().unwrap().to_string(), "127.0.0.1:5433");
        assert_eq!("localhost:0".parse::<ListenAddress>().unwrap().to_string(), "127.0.0.1:0");
        assert_eq!("[::1]:5433".parse::<ListenAddress>().unwrap().to_string(), "[::1]:5433");
        assert!("[::1]:5433".parse::<ListenAddress>().unwrap().is_local());
        for text in ["0.0.0.0:5433", "192.168.0.1:5433", "[::]:5433"] {
            assert!(!text.parse::<ListenAddress>().unwrap().is_local(), "{text}");
        }
        for text in ["", "example.org:1", "127.0.0.1", "127.0.0.1:99999", "::1:x"] {
            assert!(matches!(text.parse::<ListenAddress>(), Err(AddressError::Syntax(_))), "{text}");
        }
    }

    #[test]
    fn only_the_socket_of_a_dead_server_is_replaced() {
        let directory = std::env::temp_dir().join(format!("colonnade-listen-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let path = directory.join("socket");
        let address = ListenAddress::Unix(path.clone());
        let first = Listener::bind(&address, None).unwrap();
        assert!(matches!(Listener::bind(&address, None), Err(AddressError::InUse(_))));
        // Closed without removing the file, as when a process is killed.
        drop(first);
        assert!(path.exists());
        let second = Listener::bind(&address, None).unwrap();
        second.close();
        assert!(!path.exists());
        // One that is alive but has lost its file leaves the file of its successor.
        let third = Listener::bind(&address, None).unwrap();
        fs::rename(&path, directory.join("moved")).unwrap();
        let fourth = Listener::bind(&address, None).unwrap();
        third.close();
        assert!(path.exists());
        fourth.close();
        fs::write(&path, "precious").unwrap();
        assert!(matches!(Listener::bind(&address, None), Err(AddressError::NotASocket(_))));
        let in_directory = Listener::bind(&ListenAddress::Unix(directory.clone()), Some(7)).unwrap();
        assert!(in_directory.address().unwrap().to_string().ends_with("/.s.PGSQL.7"));
        fs::remove_dir_all(&directory).unwrap();
    }
}
