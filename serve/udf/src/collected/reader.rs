//! Reads the nodes of a vector's arguments.

use super::node::{Node, Run, has_offsets};
use crate::function::ColumnType;
use crate::inputs::Form;
use crate::layout::NODE_WORDS;
use crate::memory::MemoryExceeded;
use crate::ring::Ring;

pub(super) struct Reader<'a> {
    memory: &'a Ring,
    words: &'a [u64],
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

impl<'a> Reader<'a> {
    pub fn new(memory: &'a Ring, words: &'a [u64]) -> Self {
        Self { memory, words }
    }

    fn word(&mut self) -> usize {
        let (word, rest) = self.words.split_first().unwrap_or((&0, &[]));
        self.words = rest;
        *word as usize
    }

    /// Appends the rows of the next argument.
    pub fn parameter(&mut self, type_: &ColumnType, rows: usize, into: &mut Node) -> Result<(), MemoryExceeded> {
        let one = |number: usize| Run { first: Some(number), count: 1 };
        match self.word() as u64 {
            form if form == Form::Repeated as u64 => {
                let node = self.node(type_, into)?;
                let repeated =
                    if node.length > 0 { vec![one(0); rows] } else { vec![Run { first: None, count: rows }] };
                into.append(type_, &node, &repeated)
            }
            form if form == Form::Dictionary as u64 => {
                let head = self.head();
                let numbers = self.memory.slice(head.values, head.values_bytes).map(|slice| slice.to_vec());
                let numbers = numbers.unwrap_or_default();
                let node = self.node(type_, into)?;
                let number = |bytes: &[u8; 4]| one(u32::from_le_bytes(*bytes) as usize);
                let numbers: Vec<_> = numbers.as_chunks().0.iter().map(number).collect();
                into.append(type_, &node, &numbers)
            }
            // Its buffers are copied once.
            _ if type_.children().is_empty() => self.append_flat(type_, into),
            _ => {
                let node = self.node(type_, into)?;
                into.append(type_, &node, &[Run { first: Some(0), count: node.length }])
            }
        }
    }

    /// A node with those below it. Its memory is a part of the same budget as that of `sibling`.
    fn node(&mut self, type_: &ColumnType, sibling: &Node) -> Result<Node, MemoryExceeded> {
        let mut node = Node::new(type_, sibling.budget())?;
        self.fill(type_, &mut node)?;
        Ok(node)
    }

    fn fill(&mut self, type_: &ColumnType, node: &mut Node) -> Result<(), MemoryExceeded> {
        self.append_flat(type_, node)?;
        node.children.iter_mut().zip(&type_.children()).try_for_each(|(child, type_)| self.fill(type_, child))
    }

    /// Appends all rows of the next node, without those below it.
    fn append_flat(&mut self, type_: &ColumnType, into: &mut Node) -> Result<(), MemoryExceeded> {
        let head = self.head();
        let mut validity = vec![0; if head.validity > 0 { head.length.div_ceil(8) } else { 0 }];
        if let Some(bits) = self.memory.slice(head.validity, validity.len()) {
            bits.read(0, &mut validity);
        }
        into.append_validity(head.length, |row| validity.is_empty() || validity[row / 8] >> (row % 8) & 1 == 1)?;
        let before = into.bytes.len() as u64;
        let (at, bytes) =
            if has_offsets(type_) { (head.heap, head.heap_bytes) } else { (head.values, head.values_bytes) };
        if let Some(slice) = self.memory.slice(at, bytes) {
            into.bytes.append_with(bytes, |into| slice.append_to(into))?;
        }
        if has_offsets(type_) {
            let mut offsets = vec![0; head.length + 1];
            if let Some(slice) = self.memory.slice(head.values, offsets.len() * 8) {
                slice.read_words(&mut offsets);
            }
            // Those of a list count items, which have their own node.
            let before = if type_.children().is_empty() { before } else { into.offsets[into.offsets.len() - 1] };
            into.offsets.extend(offsets[1..].iter().map(|offset| before + offset))?;
        }
        Ok(())
    }

    /// Where the buffers of the next node are.
    fn head(&mut self) -> Head {
        let mut words = [0; NODE_WORDS];
        words.fill_with(|| self.word());
        let [length, validity, values, values_bytes, heap, heap_bytes] = words;
        Head { length, validity, values, values_bytes, heap, heap_bytes }
    }
}
