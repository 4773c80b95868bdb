//! How the next chunk is encoded.

use std::time::Duration;

use crate::Config;

/// How far away the reader is, as far as the writer can tell before anything was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// A unix socket.
    SameMachine,
    /// TCP on the loopback interface.
    Loopback,
    /// Anything else.
    Remote,
}

/// What a chunk cost to encode.
#[derive(Clone, Copy, Debug)]
pub struct ChunkCost {
    /// The configuration it was encoded with.
    pub config: Config,
    /// Rows.
    pub rows: usize,
    /// Bytes of its plain buffers.
    pub plain_bytes: usize,
    /// Bytes of its message.
    pub wire_bytes: usize,
    /// Time that encoding took.
    pub elapsed: Duration,
}

/// Told what each chunk cost to encode and to send; says how to encode the next one.
///
/// One controller serves one stream. [`Controller::fixed`] always says the same. [`Controller::auto`] goes by the kind
/// of link alone for now (the heuristic of "Don't Hold My Data Hostage" §4, with light encodings in place of a
/// compressor), so what it is told changes nothing yet.
#[derive(Debug)]
pub struct Controller {
    config: Config,
}

impl Controller {
    /// Always `config`.
    pub fn fixed(config: Config) -> Self {
        Self { config }
    }

    /// What suits `link`.
    pub fn auto(link: Link) -> Self {
        Self::fixed(match link {
            Link::SameMachine | Link::Loopback => Config::PLAIN,
            Link::Remote => Config::LIGHT,
        })
    }

    /// How to encode the next chunk.
    pub fn next_config(&mut self) -> Config {
        self.config
    }

    /// A chunk was encoded.
    pub fn encoded(&mut self, _cost: &ChunkCost) {}

    /// `bytes` were handed to the socket; it made the writer wait for `blocked`.
    pub fn sent(&mut self, _bytes: usize, _blocked: Duration) {}
}
