//! Rows that are collected for a later call: vectors of arguments, appended to columns.

mod memory;

use std::fmt;
use std::sync::Arc;

use crate::CallError;
use crate::function::{ColumnType, Function};
use crate::inputs::{CallInputs, Form, NodeSize};
use crate::layout::NODE_WORDS;
use crate::output::{FixedValues, OutputColumn, OutputData};
use crate::ring::Ring;

use memory::VectorMemory;

/// Collects the rows of one query: the columns of a function whose parameters are these.
pub struct Collector {
    /// What the vectors are written for. It is never called.
    function: Arc<Function>,
    /// The memory of one vector's arguments.
    memory: VectorMemory,
    rows: CollectedRows,
    limit: usize,
}

/// Columns of arguments.
#[derive(Clone, Debug, Default)]
pub struct CollectedRows {
    rows: usize,
    columns: Vec<Node>,
}

/// A column, or one below it, with the layout of `layout.rs`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Node {
    length: usize,
    /// One bit for each row; `None` while all have values.
    validity: Option<Vec<u64>>,
    values: Vec<u8>,
    heap: Vec<u8>,
    children: Vec<Node>,
}

/// Rows of a node.
#[derive(Clone, Copy)]
enum Chosen<'a> {
    All,
    /// These; `None` is NULL.
    These(&'a [Option<usize>]),
}

impl Chosen<'_> {
    /// The rows, of so many in all.
    fn iter(self, all: usize) -> impl Iterator<Item = Option<usize>> {
        let (all, chosen) = match self {
            Self::All => (all, &[][..]),
            Self::These(rows) => (0, rows),
        };
        (0..all).map(Some).chain(chosen.iter().copied())
    }
}

impl fmt::Debug for Collector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Collector").field("rows", &self.rows.rows).finish_non_exhaustive()
    }
}

impl Collector {
    /// A collector of rows with the parameters of `function`, which may take this many bytes.
    ///
    /// # Errors
    /// If the system has no memory.
    pub fn new(function: Arc<Function>, limit: usize) -> Result<Self, CallError> {
        let memory = VectorMemory::new(limit).map_err(|error| CallError::Start(error.to_string()))?;
        Ok(Self { function, memory, rows: CollectedRows::default(), limit })
    }

    /// The number of rows so far.
    pub fn rows(&self) -> usize {
        self.rows.rows
    }

    /// Appends a vector of rows, whose arguments `write` writes.
    ///
    /// # Errors
    /// The error of `write`, or [`CallError::Memory`].
    pub fn append<E: From<CallError>>(
        &mut self,
        rows: usize,
        write: impl FnOnce(&mut CallInputs<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut inputs = CallInputs::collected(&self.memory, Arc::clone(&self.function), rows);
        write(&mut inputs)?;
        let words = inputs.into_words()?;
        let mut reader = Reader { memory: &self.memory, words: &words };
        let types: Vec<_> = self.function.parameters.iter().map(|parameter| &parameter.column_type).collect();
        self.rows.columns.resize_with(types.len(), Node::default);
        for (column, type_) in self.rows.columns.iter_mut().zip(types) {
            reader.parameter(type_, rows, column);
        }
        self.rows.rows += rows;
        if self.rows.bytes() > self.limit {
            let (function, limit) = (self.function.name.clone(), self.limit as u64);
            return Err(CallError::Memory { function, limit, record: None }.into());
        }
        Ok(())
    }

    /// The rows, which are collected anew afterwards.
    pub fn take(&mut self) -> CollectedRows {
        let mut rows = std::mem::take(&mut self.rows);
        rows.columns.resize_with(self.function.parameters.len(), Node::default);
        for (column, parameter) in rows.columns.iter_mut().zip(&self.function.parameters) {
            column.complete(&parameter.column_type);
        }
        rows
    }
}

impl CollectedRows {
    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// How many bytes they take.
    pub fn bytes(&self) -> usize {
        self.columns.iter().map(Node::bytes).sum()
    }

    /// A column as a result has it.
    pub fn column(&self, column: usize, type_: &ColumnType) -> Option<OutputColumn<'static>> {
        self.columns.get(column).map(|node| node.clone().into_output(type_))
    }

    /// As `column`, without a copy. The column is empty afterwards.
    pub fn take_column(&mut self, column: usize, type_: &ColumnType) -> Option<OutputColumn<'static>> {
        self.columns.get_mut(column).map(|node| std::mem::take(node).into_output(type_))
    }

    /// Writes a column as the next argument of a call.
    ///
    /// # Errors
    /// If the call has no room for it.
    pub fn write(&self, inputs: &mut CallInputs<'_>, column: usize) -> Result<(), CallError> {
        inputs.parameter(Form::Array)?;
        self.columns.get(column).map_or(Ok(()), |node| node.write(inputs))
    }

    /// Writes a column, all of whose rows have one value, as the next argument of a call. Without rows it is NULL. `false` if there are
    /// several values: then nothing is written.
    ///
    /// # Errors
    /// If the call has no room for it.
    pub fn write_one(&self, inputs: &mut CallInputs<'_>, column: usize, type_: &ColumnType) -> Result<bool, CallError> {
        let Some(node) = self.columns.get(column) else { return Ok(false) };
        let row = |row: usize| {
            let mut one = Node::default();
            one.append(type_, node, Chosen::These(&[(row < self.rows).then_some(row)]));
            one
        };
        let first = row(0);
        if (1..self.rows).any(|other| row(other) != first) {
            return Ok(false);
        }
        inputs.parameter(Form::Repeated)?;
        first.write(inputs).map(|()| true)
    }
}

/// Reads the nodes of a vector's arguments.
struct Reader<'a> {
    memory: &'a Ring,
    words: &'a [u64],
}

impl Reader<'_> {
    fn word(&mut self) -> usize {
        let (word, rest) = self.words.split_first().unwrap_or((&0, &[]));
        self.words = rest;
        *word as usize
    }

    /// Appends the rows of the next argument.
    fn parameter(&mut self, type_: &ColumnType, rows: usize, into: &mut Node) {
        match self.word() as u64 {
            form if form == Form::Repeated as u64 => {
                let node = self.node(type_);
                into.append(type_, &node, Chosen::These(&vec![(node.length > 0).then_some(0); rows]));
            }
            form if form == Form::Dictionary as u64 => {
                let numbers = self.flat();
                let node = self.node(type_);
                let number = |bytes: &[u8; 4]| Some(u32::from_le_bytes(*bytes) as usize);
                let numbers: Vec<_> = numbers.values.as_chunks().0.iter().map(number).collect();
                into.append(type_, &node, Chosen::These(&numbers));
            }
            _ if type_.children().is_empty() => self.append_flat(type_, into),
            _ => {
                let node = self.node(type_);
                into.append(type_, &node, Chosen::All);
            }
        }
    }

    /// Appends all rows of the next node, whose type has no nodes below it. Its buffers are copied once.
    fn append_flat(&mut self, type_: &ColumnType, into: &mut Node) {
        let head = self.head();
        into.complete(type_);
        into.append_validity(
            &Node { length: head.length, validity: self.validity(&head), ..Node::default() },
            Chosen::All,
        );
        let before = into.heap.len() as u64;
        if let Some(heap) = self.memory.slice(head.heap, head.heap_bytes) {
            heap.append_to(&mut into.heap);
        }
        let Some(values) = self.memory.slice(head.values, head.values_bytes) else { return };
        if has_offsets(type_) {
            let mut offsets = vec![0; head.length + 1];
            values.read_words(&mut offsets);
            into.values.reserve(head.length * 8);
            for offset in &offsets[1..] {
                into.values.extend_from_slice(&(before + offset).to_le_bytes());
            }
        } else {
            values.append_to(&mut into.values);
        }
    }

    fn node(&mut self, type_: &ColumnType) -> Node {
        let node = self.flat();
        let children = type_.children().iter().map(|child| self.node(child)).collect();
        Node { children, ..node }
    }

    /// The next node, without those below it.
    fn flat(&mut self) -> Node {
        let head = self.head();
        let bytes = |at, bytes| self.memory.slice(at, bytes).map(|slice| slice.to_vec()).unwrap_or_default();
        let (values, heap) = (bytes(head.values, head.values_bytes), bytes(head.heap, head.heap_bytes));
        Node { length: head.length, validity: self.validity(&head), values, heap, children: Vec::new() }
    }

    /// Where the buffers of the next node are.
    fn head(&mut self) -> Head {
        let mut words = [0; NODE_WORDS];
        words.fill_with(|| self.word());
        let [length, validity, values, values_bytes, heap, heap_bytes] = words;
        Head { length, validity, values, values_bytes, heap, heap_bytes }
    }

    fn validity(&self, head: &Head) -> Option<Vec<u64>> {
        let mut words = vec![0; head.length.div_ceil(64)];
        self.memory.slice(head.validity, words.len() * 8).filter(|_| head.validity > 0)?.read_words(&mut words);
        Some(words)
    }
}

/// A node's length, and the places of its buffers with their sizes. The place of a missing bitmap is 0.
struct Head {
    length: usize,
    validity: usize,
    values: usize,
    values_bytes: usize,
    heap: usize,
    heap_bytes: usize,
}

impl Node {
    fn bytes(&self) -> usize {
        let own = self.values.len() + self.heap.len() + self.validity.as_ref().map_or(0, |words| words.len() * 8);
        own + self.children.iter().map(Self::bytes).sum::<usize>()
    }

    fn is_valid(&self, row: usize) -> bool {
        self.validity.as_ref().is_none_or(|words| words[row / 64] >> (row % 64) & 1 == 1)
    }

    /// Where the bytes or the items of a row are.
    fn range(&self, row: usize) -> (usize, usize) {
        let offset = |at: usize| self.values[at * 8..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
        (offset(row) as usize, offset(row + 1) as usize)
    }

    /// Gives a node without rows what each node has.
    fn complete(&mut self, type_: &ColumnType) {
        if self.length > 0 {
            return;
        }
        if has_offsets(type_) && self.values.is_empty() {
            self.values = vec![0; 8];
        }
        let children = type_.children();
        self.children.resize_with(children.len(), Self::default);
        self.children.iter_mut().zip(&children).for_each(|(node, child)| node.complete(child));
    }

    /// Appends rows of another node of the same type.
    fn append(&mut self, type_: &ColumnType, from: &Self, rows: Chosen<'_>) {
        self.complete(type_);
        self.append_validity(from, rows);
        let children = type_.children();
        match type_ {
            ColumnType::Text | ColumnType::Json | ColumnType::Blob => {
                for row in rows.iter(from.length) {
                    if let Some(row) = row {
                        let (start, end) = from.range(row);
                        self.heap.extend_from_slice(&from.heap[start..end]);
                    }
                    self.values.extend_from_slice(&(self.heap.len() as u64).to_le_bytes());
                }
            }
            ColumnType::List(_) | ColumnType::Map(..) => {
                let mut end = self.children[0].length;
                let mut items = Vec::new();
                for row in rows.iter(from.length) {
                    let (first, after) = row.map_or((0, 0), |row| from.range(row));
                    items.extend((first..after).map(Some));
                    end += after - first;
                    self.values.extend_from_slice(&(end as u64).to_le_bytes());
                }
                self.children[0].append(&children[0], &from.children[0], Chosen::These(&items));
            }
            ColumnType::Array { size, .. } => {
                let rows = rows.iter(from.length);
                let items = rows.flat_map(|row| (0..*size).map(move |item| row.map(|row| row * size + item)));
                let items: Vec<_> = items.collect();
                self.children[0].append(&children[0], &from.children[0], Chosen::These(&items));
            }
            ColumnType::Struct(_) | ColumnType::Union(_) => {
                if matches!(type_, ColumnType::Union(_)) {
                    let tags = rows.iter(from.length).map(|row| row.map_or(0, |row| from.values[row]));
                    self.values.extend(tags);
                }
                for (at, child) in children.iter().enumerate() {
                    self.children[at].append(child, &from.children[at], rows);
                }
            }
            _ => {
                let width = type_.width().unwrap_or(0);
                let Chosen::These(rows) = rows else {
                    self.values.extend_from_slice(&from.values);
                    return;
                };
                for row in rows {
                    match row {
                        Some(row) => self.values.extend_from_slice(&from.values[row * width..][..width]),
                        None => self.values.resize(self.values.len() + width, 0),
                    }
                }
            }
        }
    }

    fn append_validity(&mut self, from: &Self, rows: Chosen<'_>) {
        if matches!(rows, Chosen::All) && from.validity.is_none() && self.validity.is_none() {
            self.length += from.length;
            return;
        }
        for row in rows.iter(from.length) {
            let is_valid = row.is_some_and(|row| from.is_valid(row));
            let at = self.length;
            self.length += 1;
            if !is_valid && self.validity.is_none() {
                self.validity = Some(vec![u64::MAX; at.div_ceil(64)]);
            }
            if let Some(words) = &mut self.validity {
                if words.len() <= at / 64 {
                    words.push(0);
                }
                let bit = 1 << (at % 64);
                words[at / 64] = if is_valid { words[at / 64] | bit } else { words[at / 64] & !bit };
            }
        }
    }

    fn into_output(self, type_: &ColumnType) -> OutputColumn<'static> {
        let words = |bytes: &[u8]| bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect::<Vec<_>>();
        let children = type_.children();
        let mut below = self.children.into_iter().zip(&children).map(|(node, child)| node.into_output(child));
        let data = match type_ {
            ColumnType::List(_) | ColumnType::Map(..) => match below.next() {
                Some(items) => OutputData::List { offsets: words(&self.values), items: Box::new(items) },
                None => OutputData::Struct(Vec::new()),
            },
            ColumnType::Array { .. } => match below.next() {
                Some(items) => OutputData::Array(Box::new(items)),
                None => OutputData::Struct(Vec::new()),
            },
            ColumnType::Struct(_) => OutputData::Struct(below.collect()),
            ColumnType::Union(_) => OutputData::Union { tags: self.values, members: below.collect() },
            _ => match type_.width() {
                Some(width) => OutputData::Fixed(FixedValues::of(self.values, width)),
                None => OutputData::Bytes { offsets: words(&self.values), bytes: self.heap },
            },
        };
        let validity = self.validity.as_ref().map(|words| words.iter().flat_map(|word| word.to_le_bytes()).collect());
        OutputColumn { validity, data }
    }

    fn write(&self, inputs: &mut CallInputs<'_>) -> Result<(), CallError> {
        let size = NodeSize {
            length: self.length,
            has_validity: self.validity.is_some(),
            values: self.values.len(),
            heap: self.heap.len(),
        };
        let node = inputs.node(size)?;
        self.validity.as_ref().inspect(|words| node.validity.write_words(words));
        node.values.write(0, &self.values);
        node.heap.write(0, &self.heap);
        self.children.iter().try_for_each(|child| child.write(inputs))
    }
}

fn has_offsets(type_: &ColumnType) -> bool {
    use ColumnType as C;
    matches!(type_, C::Text | C::Json | C::Blob | C::List(_) | C::Map(..))
}
