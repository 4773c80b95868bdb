//! The arguments of a call, which the caller writes directly into the ring.

use std::fmt;
use std::sync::Arc;

use crate::CallError;
use crate::function::Function;
use crate::layout::{ALIGNMENT, DATA, MAX_REQUEST_WORDS};
use crate::memory::{MemoryBudget, MemoryExceeded};
use crate::output::CallOutput;
use crate::ring::RingSlice;

/// How an argument is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Form {
    /// One value for each row of the call.
    Array = 0,
    /// One value, which each row has. A scalar parameter is written so too.
    Repeated = 1,
    /// The node's values are the numbers of the rows' entries, 4 bytes each; then the nodes of the parameter's type
    /// follow with the entries. The numbers have no validity: NULL is an entry.
    Dictionary = 2,
}

/// The size of a node: one column, or one below it.
#[derive(Clone, Copy, Debug, Default)]
pub struct NodeSize {
    /// The number of rows.
    pub length: usize,
    /// Whether some row is NULL: then there is a bitmap.
    pub has_validity: bool,
    /// The bytes of values: `length` times the width; `8 * (length + 1)` bytes of offsets for texts, blobs, lists and
    /// maps; `length` bytes of members' numbers for unions; none for structs and arrays.
    pub values: usize,
    /// The bytes of texts and blobs.
    pub heap: usize,
}

/// The memory of a node. Each buffer begins at a multiple of 64 bytes.
#[derive(Clone, Copy, Debug)]
pub struct NodeBuffers<'r> {
    /// One bit for each row, the lowest bit of a byte first; 1 is a value. A whole number of 8 bytes; empty if no row
    /// is NULL.
    pub validity: RingSlice<'r>,
    /// Values, offsets or members' numbers.
    pub values: RingSlice<'r>,
    /// The bytes of texts and blobs.
    pub heap: RingSlice<'r>,
}

/// The arguments of a call, in the order of the parameters.
#[derive(Debug)]
pub struct CallInputs<'w> {
    target: &'w mut (dyn InputTarget + 'static),
    function: Arc<Function>,
    rows: usize,
    words: Vec<u64>,
    /// The parameters that were begun.
    parameters: usize,
    /// The nodes that the last parameter still needs.
    missing_nodes: usize,
    groups_at: usize,
    groups: usize,
    /// Where the next buffer begins.
    at: usize,
}

/// Whose memory has the arguments: a function process, which is called with them, or rows that are collected.
pub(crate) trait InputTarget: fmt::Debug + Send + Sync {
    /// The memory that the session's functions may use in this process.
    fn budget(&self) -> &Arc<MemoryBudget>;

    /// Makes the memory at least this large.
    ///
    /// # Errors
    /// If it would exceed its limit.
    fn grow(&mut self, size: usize, function: &Function) -> Result<(), CallError>;

    /// A part of the memory; `None` if it is not within it.
    fn slice(&self, at: usize, bytes: usize) -> Option<RingSlice<'_>>;

    /// The error of arguments that are larger than the memory's limit.
    fn out_of_memory(&self, function: &Function) -> CallError;

    /// Calls the function, and waits for its result.
    ///
    /// # Errors
    /// If the function fails, or its result is not valid.
    fn call(&mut self, function: &Arc<Function>, inputs: WrittenInputs) -> Result<CallOutput<'_>, CallError>;
}

/// Where the arguments of a call are in the memory.
#[derive(Debug)]
pub(crate) struct WrittenInputs {
    pub rows: usize,
    /// The forms of the parameters, and the places of their nodes.
    pub words: Vec<u64>,
    pub groups_at: usize,
    pub groups: usize,
    pub data_end: usize,
}

impl<'w> CallInputs<'w> {
    /// The memory of `words` is used for those of this call.
    pub(crate) fn new(
        target: &'w mut (dyn InputTarget + 'static),
        function: Arc<Function>,
        rows: usize,
        mut words: Vec<u64>,
    ) -> Self {
        words.clear();
        let at = DATA;
        Self { target, function, rows, words, parameters: 0, missing_nodes: 0, groups_at: 0, groups: 0, at }
    }

    /// The words of arguments that are collected.
    ///
    /// # Errors
    /// If the arguments are not complete.
    pub(crate) fn into_words(self) -> Result<Vec<u64>, CallError> {
        self.check_complete().map(|()| self.words)
    }

    fn check_complete(&self) -> Result<(), CallError> {
        if self.missing_nodes > 0 || self.parameters != self.function.parameters.len() {
            return Err(self.misuse("there are fewer arguments than parameters"));
        }
        Ok(())
    }

    fn misuse(&self, fault: &'static str) -> CallError {
        CallError::Misuse { function: self.function.name.clone(), fault }
    }

    /// Begins the next parameter.
    ///
    /// # Errors
    /// If the last parameter is not complete, or there are no more.
    pub fn parameter(&mut self, form: Form) -> Result<(), CallError> {
        if self.missing_nodes > 0 {
            return Err(self.misuse("a parameter lacks nodes"));
        }
        let Some(parameter) = self.function.parameters.get(self.parameters) else {
            return Err(self.misuse("there are more arguments than parameters"));
        };
        if parameter.is_scalar && form != Form::Repeated {
            return Err(self.misuse("a scalar parameter is not written as one value"));
        }
        self.missing_nodes = parameter.column_type.nodes() + usize::from(form == Form::Dictionary);
        self.parameters += 1;
        self.words.push(form as u64);
        Ok(())
    }

    /// The memory that the session's functions may use in this process.
    pub fn budget(&self) -> &Arc<MemoryBudget> {
        self.target.budget()
    }

    /// The error of a call that needs more of it.
    pub fn exceeded(&self, exceeded: MemoryExceeded) -> CallError {
        CallError::exceeded(&self.function, exceeded)
    }

    /// Gives the memory of the parameter's next node.
    ///
    /// # Errors
    /// If the parameter has no more nodes, or the ring would exceed its limit.
    pub fn node(&mut self, size: NodeSize) -> Result<NodeBuffers<'_>, CallError> {
        if self.missing_nodes == 0 {
            return Err(self.misuse("a parameter has more nodes than its type"));
        }
        self.missing_nodes -= 1;
        let validity_bytes = if size.has_validity { size.length.div_ceil(64) * 8 } else { 0 };
        let validity = self.reserve(validity_bytes)?;
        let values = self.reserve(size.values)?;
        let heap = self.reserve(size.heap)?;
        let validity_at = if size.has_validity { validity } else { 0 };
        let words = [size.length, validity_at, values, size.values, heap, size.heap];
        self.words.extend(words.map(|word| word as u64));
        Ok(NodeBuffers {
            validity: self.slice(validity, validity_bytes)?,
            values: self.slice(values, size.values)?,
            heap: self.slice(heap, size.heap)?,
        })
    }

    /// Gives the memory for the groups of an aggregate: `count + 1` offsets of 8 bytes into the rows; the first is 0,
    /// the last is the number of rows.
    ///
    /// # Errors
    /// If the ring would exceed its limit.
    pub fn groups(&mut self, count: usize) -> Result<RingSlice<'_>, CallError> {
        let bytes = count.checked_add(1).and_then(|count| count.checked_mul(8)).unwrap_or(usize::MAX);
        self.groups_at = self.reserve(bytes)?;
        self.groups = count;
        self.slice(self.groups_at, bytes)
    }

    /// Calls the function and waits for its result, without a lock.
    ///
    /// # Errors
    /// If the arguments are not complete, the function fails, or its result is not valid.
    pub fn call(self) -> Result<CallOutput<'w>, CallError> {
        self.check_complete()?;
        match (self.function.is_aggregate(), self.groups_at > 0) {
            (true, false) => return Err(self.misuse("an aggregate needs groups")),
            (false, true) => return Err(self.misuse("only aggregates take groups")),
            _ => {}
        }
        if self.words.len() > MAX_REQUEST_WORDS {
            return Err(self.misuse("there are too many columns for one call"));
        }
        let Self { target, function, rows, words, groups_at, groups, at, .. } = self;
        target.call(&function, WrittenInputs { rows, words, groups_at, groups, data_end: at })
    }

    fn reserve(&mut self, bytes: usize) -> Result<usize, CallError> {
        let place = self.at;
        let end = place.checked_add(bytes).and_then(|end| end.checked_next_multiple_of(ALIGNMENT));
        let end = end.ok_or_else(|| self.out_of_memory())?;
        self.target.grow(end, &self.function)?;
        self.at = end;
        Ok(place)
    }

    fn out_of_memory(&self) -> CallError {
        self.target.out_of_memory(&self.function)
    }

    fn slice(&self, at: usize, bytes: usize) -> Result<RingSlice<'_>, CallError> {
        self.target.slice(at, bytes).ok_or_else(|| self.out_of_memory())
    }
}
