//! The body of a message that is being built: its own bytes, and buffers borrowed from the columns.

use std::time::Duration;

use crate::Encoding;
use crate::clock::Moment;

/// A borrowed buffer saves a copy but needs an entry in the vectored write. Below this size the copy is cheaper.
const BORROW_FROM: usize = 4096;

/// A body that is being built. Positions and alignment count from its start.
pub(super) struct Body<'a> {
    own: Vec<u8>,
    /// Borrowed buffers, each after that many bytes of `own`.
    borrowed: Vec<(usize, &'a [u8])>,
    borrowed_bytes: usize,
    may_borrow: bool,
    fsst: Compressed,
}

/// What compression has done.
#[derive(Clone, Copy, Default)]
pub(super) struct Compressed {
    /// By how many bytes the result is smaller.
    pub(super) saved: usize,
    /// CPU time.
    pub(super) time: Duration,
}

/// A node whose encoding is not chosen yet.
#[derive(Clone, Copy)]
pub(super) struct NodeStart(usize);

/// A position to which the body can be truncated.
#[derive(Clone, Copy)]
pub(super) struct Mark(usize);

impl<'a> Body<'a> {
    /// An empty body. With `may_borrow`, it refers to large buffers; otherwise it copies everything into one buffer.
    pub(super) fn new(mut own: Vec<u8>, may_borrow: bool) -> Self {
        own.clear();
        Self { own, borrowed: Vec::new(), borrowed_bytes: 0, may_borrow, fsst: Compressed::default() }
    }

    pub(super) fn len(&self) -> usize {
        self.own.len() + self.borrowed_bytes
    }

    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.own.extend_from_slice(bytes);
    }

    pub(super) fn put_u32(&mut self, value: u32) {
        self.put(&value.to_le_bytes());
    }

    pub(super) fn put_u64(&mut self, value: u64) {
        self.put(&value.to_le_bytes());
    }

    /// Adds bytes that outlive the body. Large buffers are not copied.
    pub(super) fn put_borrowed(&mut self, bytes: &'a [u8]) {
        if self.may_borrow && bytes.len() >= BORROW_FROM {
            self.borrowed.push((self.own.len(), bytes));
            self.borrowed_bytes += bytes.len();
        } else {
            self.put(bytes);
        }
    }

    /// The buffer, for encoders that append to it directly.
    pub(super) fn tail(&mut self) -> &mut Vec<u8> {
        &mut self.own
    }

    pub(super) fn align(&mut self, to: usize) {
        let padding = self.len().next_multiple_of(to) - self.len();
        self.own.resize(self.own.len() + padding, 0);
    }

    /// Starts a node: FORMAT §6.1. Its encoding is plain until [`Body::set`].
    pub(super) fn start(&mut self, nulls: u8, aux: u32) -> NodeStart {
        self.align(8);
        let start = NodeStart(self.own.len());
        self.put(&[Encoding::Plain as u8, nulls, 0, 0]);
        self.put_u32(aux);
        start
    }

    pub(super) fn set(&mut self, node: NodeStart, encoding: Encoding, parameter: u8) {
        self.own[node.0] = encoding as u8;
        self.own[node.0 + 2] = parameter;
    }

    pub(super) fn mark(&self) -> Mark {
        Mark(self.own.len())
    }

    /// Removes everything that was put since `mark`. Nothing may have been borrowed since.
    pub(super) fn rewind(&mut self, mark: Mark) {
        debug_assert!(self.borrowed.last().is_none_or(|(at, _)| *at <= mark.0));
        self.own.truncate(mark.0);
    }

    /// Bytes put since `mark`.
    pub(super) fn since(&self, mark: Mark) -> usize {
        self.own.len() - mark.0
    }

    /// Overwrites a `u64` that was put at `mark`.
    pub(super) fn set_u64(&mut self, mark: Mark, value: u64) {
        self.own[mark.0..mark.0 + 8].copy_from_slice(&value.to_le_bytes());
    }

    /// Overwrites a `u32` of the directory. No borrowed buffer precedes the directory.
    pub(super) fn set_directory(&mut self, entry: usize, value: u32) {
        self.own[entry * 4..entry * 4 + 4].copy_from_slice(&value.to_le_bytes());
    }

    /// FSST has taken so much CPU time since `started`, and saved so many bytes.
    pub(super) fn compressed(&mut self, saved: usize, started: Moment) {
        self.fsst.saved += saved;
        self.fsst.time += started.elapsed().cpu;
    }

    /// What FSST has done in this body.
    pub(super) fn fsst(&self) -> Compressed {
        self.fsst
    }

    /// The body's own bytes and the borrowed buffers, each with its position in the own bytes.
    pub(super) fn finish(self) -> (Vec<u8>, Vec<(usize, &'a [u8])>) {
        (self.own, self.borrowed)
    }
}
