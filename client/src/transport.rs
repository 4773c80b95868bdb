//! How results come from a server to this process: what a diagnosis shows.

/// The transport of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transport {
    /// The kind of its socket.
    pub socket: SocketKind,
    /// The encryption, if there is one.
    pub tls: Option<TlsState>,
}

/// The kind of a connection's socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketKind {
    /// A socket file.
    Unix,
    /// TCP within this machine.
    Loopback,
    /// TCP to another machine.
    Tcp,
}

impl SocketKind {
    /// Its name in reports: `unix`, `loopback` or `tcp`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unix => "unix",
            Self::Loopback => "loopback",
            Self::Tcp => "tcp",
        }
    }
}

/// The encryption of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsState {
    /// The protocol's version, such as `TLSv1.3`.
    pub version: &'static str,
    /// The name of the cipher suite, such as `TLS13_AES_256_GCM_SHA384`.
    pub cipher: String,
    /// Whether the certificate was verified, which proves the server's identity.
    pub is_verified: bool,
}

/// The stream format that a server sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamFormat {
    /// The highest version (`spec/FORMAT.md`).
    pub version: u32,
    /// Which program encodes it.
    pub encoder: EncoderKind,
}

/// The program that encodes a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncoderKind {
    /// `colonnade serve`.
    Server,
    /// PostgreSQL's extension.
    Extension,
}

/// The versions of PostgreSQL's extension.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtensionVersions {
    /// The version in the connection's database; `None` if it was not created there.
    pub installed: Option<String>,
    /// The version of the files on the server; `None` if there are no files.
    pub available: Option<String>,
}
