//! The rows of a query on their way to a function process.

use std::fmt;

use super::LoopbackRows;
use crate::description::describe_columns;
use crate::function::FunctionColumn;
use crate::inputs::{NodeBuffers, NodeSize};
use crate::layout::{ALIGNMENT, NODE_WORDS};
use crate::ring::Ring;

/// Where the rows of a query are written: directly into the ring.
///
/// ```text
/// let mut reply = reply.begin(columns, rows)?;
/// for each column, for each node of its type (pre-order, ColumnType::nodes):
///     let node: NodeBuffers = reply.node(NodeSize { … })?;      // as for the arguments of a call
/// reply.finish(has_more)
/// ```
pub struct LoopbackReply<'r> {
    ring: &'r Ring,
    /// Where the reply begins. The function process copies it from there, so places of nodes count from there.
    start: usize,
    /// Where the next buffer begins.
    at: usize,
    rows: usize,
    /// The nodes that are still to come.
    missing: usize,
    words: Vec<u64>,
    words_at: usize,
    description: (usize, usize),
}

/// Why rows cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplyError {
    /// The ring has no room for them.
    #[error("the rows of a query of a function need more memory than --udf-memory")]
    TooLarge,
    /// The caller has not written the nodes of the columns that it has begun with.
    #[error("the rows of a query of a function were not written as declared")]
    Misuse,
}

impl fmt::Debug for LoopbackReply<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("LoopbackReply").field("rows", &self.rows).finish_non_exhaustive()
    }
}

impl<'r> LoopbackReply<'r> {
    /// A reply that begins at this place, which the function process has chosen.
    pub(crate) fn new(ring: &'r Ring, at: usize) -> Self {
        Self { ring, start: at, at, rows: 0, missing: 0, words: Vec::new(), words_at: 0, description: (0, 0) }
    }

    /// Begins the rows of these columns.
    ///
    /// # Errors
    /// If the ring would exceed its limit.
    pub fn begin(mut self, columns: &[FunctionColumn], rows: usize) -> Result<Self, ReplyError> {
        self.rows = rows;
        self.missing = columns.iter().map(|column| column.column_type.nodes()).sum();
        let description = describe_columns(columns);
        let words_bytes = self.missing.checked_mul(NODE_WORDS * 8).ok_or(ReplyError::TooLarge)?;
        self.words_at = self.reserve(words_bytes)?;
        let at = self.reserve(description.len())?;
        self.description = (at, description.len());
        self.ring.slice(at, description.len()).ok_or(ReplyError::TooLarge)?.write(0, description.as_bytes());
        Ok(self)
    }

    /// Gives the memory of the next node.
    ///
    /// # Errors
    /// If the ring would exceed its limit, or all nodes are written.
    pub fn node(&mut self, size: NodeSize) -> Result<NodeBuffers<'r>, ReplyError> {
        self.missing = self.missing.checked_sub(1).ok_or(ReplyError::Misuse)?;
        let validity_bytes = if size.has_validity { size.length.div_ceil(64) * 8 } else { 0 };
        let validity = self.reserve(validity_bytes)?;
        let values = self.reserve(size.values)?;
        let heap = self.reserve(size.heap)?;
        // Never 0, which is no validity: the words are before it.
        let validity_at = if size.has_validity { validity - self.start } else { 0 };
        let (values_at, heap_at) = (values - self.start, heap - self.start);
        let words = [size.length, validity_at, values_at, size.values, heap_at, size.heap];
        self.words.extend(words.map(|word| word as u64));
        let slice = |at, bytes| self.ring.slice(at, bytes).ok_or(ReplyError::TooLarge);
        Ok(NodeBuffers {
            validity: slice(validity, validity_bytes)?,
            values: slice(values, size.values)?,
            heap: slice(heap, size.heap)?,
        })
    }

    /// Ends these rows. `has_more`: the query has more rows than these.
    ///
    /// # Errors
    /// If a node is missing.
    pub fn finish(self, has_more: bool) -> Result<LoopbackRows, ReplyError> {
        let bytes = self.words.len() * 8;
        let place = self.ring.slice(self.words_at, bytes).filter(|_| self.missing == 0);
        place.ok_or(ReplyError::Misuse)?.write_words(&self.words);
        let Self { rows, description, words_at: words, at: end, .. } = self;
        Ok(LoopbackRows { rows, description, words, end, has_more })
    }

    fn reserve(&mut self, bytes: usize) -> Result<usize, ReplyError> {
        let place = self.at.checked_next_multiple_of(ALIGNMENT).ok_or(ReplyError::TooLarge)?;
        let end = place.checked_add(bytes).and_then(|end| end.checked_next_multiple_of(ALIGNMENT));
        let end = end.filter(|end| self.ring.grow(*end)).ok_or(ReplyError::TooLarge)?;
        self.at = end;
        Ok(place)
    }
}
