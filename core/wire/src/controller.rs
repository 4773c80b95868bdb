//! How the next chunk is encoded.

mod adaptive;
mod costs;
mod model;
mod production;
mod reader;
mod throughput;

use std::time::Duration;

use crate::{CodecSet, Config};
use adaptive::Adaptive;
pub use throughput::{LinkEstimate, LinkSample};

/// Weight of the newest chunk in all moving averages over chunks: noise of one chunk must not change the choice.
const WEIGHT: f64 = 0.1;

/// Bytes that a socket is to hold before they are sent, at most (Linux: TCP_NOTSENT_LOWAT): what waits there was
/// encoded for the link as it was.
pub const UNSENT: u32 = 1 << 20;

/// How far away the reader is, as far as the writer can tell before anything was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// A unix socket.
    SameMachine,
    /// TCP on the loopback interface.
    Loopback,
    /// Another machine.
    Remote,
    /// Another machine, and the state of the socket cannot be read.
    Unobserved,
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
    /// Bytes that the light encodings alone left, without FSST and a codec.
    pub light_bytes: usize,
    /// Bytes of its message.
    pub wire_bytes: usize,
    /// Time that encoding took.
    pub elapsed: Duration,
    /// CPU time of that. Where the CPU is wanted by others, too, it is less.
    pub cpu: Duration,
    /// The part of that which FSST and the codec took.
    pub compressing: Duration,
}

/// Decides how each chunk of one stream is encoded, from the costs of the chunks before and the state of the socket.
///
/// [`Controller::fixed`] always gives the same configuration. [`Controller::adaptive`] predicts with a model how long a
/// plain byte takes in each configuration, chooses the fastest, and explores others with small chunks.
/// [`Controller::auto`] does so between machines; on the same machine ("Don't Hold My Data Hostage" §4) it chooses
/// plain. `docs/explanation/adaptive.md` describes the model.
///
/// A controller has no clock: all times are given to it.
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
            Link::SameMachine | Link::Loopback => Self::fixed(Config::AS_GIVEN),
            Link::Remote => Self::adaptive(codecs, cpu),
            // Light chunks gain on nearly all links and lose little on the others.
            Link::Unobserved => Self::fixed(Config::LIGHT),
        }
    }

    /// What suits the link as it shows itself, for a reader that takes `codecs`. Of the time that the stream takes,
    /// encoding may work the share `cpu`, from 0 to 1; light encodings may always be used.
    pub fn adaptive(codecs: CodecSet, cpu: f64) -> Self {
        Self(Mode::Adaptive(Box::new(Adaptive::new(codecs, cpu))))
    }

    /// The same, where another thread sends a chunk while the next one is encoded. Otherwise only what the socket's
    /// buffer holds is sent meanwhile.
    #[must_use]
    pub fn overlapped(self) -> Self {
        match self.0 {
            Mode::Adaptive(adaptive) => Self(Mode::Adaptive(Box::new(adaptive.overlapped()))),
            fixed @ Mode::Fixed(_) => Self(fixed),
        }
    }

    /// The same, beginning with what an earlier stream on this connection measured.
    #[must_use]
    pub fn remembering(mut self, estimate: &LinkEstimate) -> Self {
        if let Mode::Adaptive(adaptive) = &mut self.0 {
            adaptive.remember(estimate);
        }
        self
    }

    /// What this stream has measured, for the next one on this connection; `None` if it has not.
    pub fn link_estimate(&self) -> Option<LinkEstimate> {
        match &self.0 {
            Mode::Fixed(_) => None,
            Mode::Adaptive(adaptive) => adaptive.link_estimate(),
        }
    }

    /// How much of a full chunk the next one is to hold, from 0 to 1.
    pub fn share(&mut self) -> f64 {
        match &mut self.0 {
            Mode::Fixed(_) => 1.0,
            Mode::Adaptive(adaptive) => {
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

    /// The rows of the next chunk were there so long after the chunk before was handed over: somebody had to make them.
    /// Left out where that is not known, as for the first one.
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

    /// Whether there is little work in any chunk.
    pub fn is_plain(&self) -> bool {
        matches!(self.0, Mode::Fixed(Config::PLAIN | Config::AS_GIVEN))
    }

    /// Whether it learns anything from [`Controller::link`]: asking a socket costs system calls.
    pub fn is_adaptive(&self) -> bool {
        matches!(self.0, Mode::Adaptive(_))
    }
}
