//! How the next chunk is encoded.

mod adaptive;
mod ladder;
mod link;
mod production;
mod reader;

use std::time::Duration;

use crate::{CodecSet, Config};
use adaptive::Adaptive;
pub use link::LinkSample;

/// Bytes that a socket is to hold before they are sent, at most (Linux: TCP_NOTSENT_LOWAT): what waits there was encoded for the
/// link as it was.
pub const UNSENT: u32 = 1 << 20;

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

/// What a chunk, or a part of one, cost to encode.
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
    /// CPU time of that. Where the CPU is wanted by others, too, it is less.
    pub cpu: Duration,
}

/// What is to be tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// The configuration.
    pub config: Config,
    /// On which part of the chunk, above 0 and at most 1.
    pub part: f64,
}

/// Told what each chunk cost to encode and how the link drains; says how to encode the next one.
///
/// One controller serves one stream. [`Controller::fixed`] always says the same. [`Controller::adaptive`] looks for the
/// configuration with the most rows a second from end to end: it knows by a table what each one costs on other data,
/// corrects that by what it sees, and tries others on a part of a chunk, where they could win and rarely.
/// [`Controller::auto`] does so between machines; on the same one ("Don't Hold My Data Hostage" §4) it says plain.
///
/// It has no clock: all times are given to it.
#[derive(Debug)]
pub struct Controller(Mode);

#[derive(Debug)]
enum Mode {
    Fixed(Config),
    Adaptive(Box<Adaptive>),
}

impl Controller {
    /// Always `config`.
    pub fn fixed(config: Config) -> Self {
        Self(Mode::Fixed(config))
    }

    /// What suits `link`, for a reader that takes `codecs`; see [`Controller::adaptive`] for `cpu`.
    pub fn auto(link: Link, codecs: CodecSet, cpu: f64) -> Self {
        match link {
            Link::SameMachine | Link::Loopback => Self::fixed(Config::PLAIN),
            Link::Remote => Self::adaptive(codecs, cpu),
        }
    }

    /// What suits the link as it shows itself, for a reader that takes `codecs`. Of the time that the stream takes, encoding
    /// may work the share `cpu`, from 0 to 1; light encodings may always be used.
    pub fn adaptive(codecs: CodecSet, cpu: f64) -> Self {
        Self(Mode::Adaptive(Box::new(Adaptive::new(codecs, cpu))))
    }

    /// The same, where chunks are sent by somebody else while the next one is encoded. Otherwise it finds out how much is
    /// sent meanwhile.
    #[must_use]
    pub fn overlapped(self) -> Self {
        match self.0 {
            Mode::Adaptive(adaptive) => Self(Mode::Adaptive(Box::new(adaptive.overlapped()))),
            fixed @ Mode::Fixed(_) => Self(fixed),
        }
    }

    /// How much of a full chunk the next one is to hold, from 0 to 1.
    pub fn share(&mut self) -> f64 {
        match &mut self.0 {
            Mode::Fixed(_) => 1.0,
            Mode::Adaptive(adaptive) => {
                // A change of mind may be a reason to begin with a small chunk.
                adaptive.choose();
                adaptive.share()
            }
        }
    }

    /// How to encode the next chunk.
    pub fn next_config(&mut self) -> Config {
        match &mut self.0 {
            Mode::Fixed(config) => *config,
            Mode::Adaptive(adaptive) => adaptive.choose(),
        }
    }

    /// A configuration to try on a part of the next chunk of `plain_bytes`; the stream gets nothing of it. What it cost
    /// is told to [`Controller::tried`], together with what [`Controller::next_config`] costs on the same part.
    pub fn trial(&mut self, plain_bytes: usize) -> Option<Trial> {
        match &mut self.0 {
            Mode::Fixed(_) => None,
            Mode::Adaptive(adaptive) => adaptive.trial(plain_bytes),
        }
    }

    /// What a part of a chunk cost as the chunk's own configuration would have it, and as the one on trial.
    pub fn tried(&mut self, own: &ChunkCost, other: &ChunkCost) {
        if let Mode::Adaptive(adaptive) = &mut self.0 {
            adaptive.tried(own, other);
        }
    }

    /// The rows of the next chunk were there so long after the chunk before was handed over: somebody had to make them. Left out
    /// where that is not known, as for the first one.
    pub fn produced(&mut self, elapsed: Duration) {
        if let Mode::Adaptive(adaptive) = &mut self.0 {
            adaptive.produced(elapsed);
        }
    }

    /// A chunk was encoded.
    pub fn encoded(&mut self, cost: &ChunkCost) {
        if let Mode::Adaptive(adaptive) = &mut self.0 {
            adaptive.encoded(cost);
        }
    }

    /// What the socket says now: to be told before and after each chunk is sent, and while one waits for the other.
    pub fn link(&mut self, sample: &LinkSample) {
        if let Mode::Adaptive(adaptive) = &mut self.0 {
            adaptive.link(sample);
        }
    }

    /// Whether there is no work in any chunk.
    pub fn is_plain(&self) -> bool {
        matches!(self.0, Mode::Fixed(Config::PLAIN))
    }

    /// Whether it learns anything from [`Controller::link`]: asking a socket costs system calls.
    pub fn is_adaptive(&self) -> bool {
        matches!(self.0, Mode::Adaptive(_))
    }
}
