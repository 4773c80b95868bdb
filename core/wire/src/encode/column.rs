//! One column, or one part of a nested one: selects the encoder, and keeps what the next chunk needs.

use super::body::Body;
use super::bytes_column;
use super::column_input::ColumnInput;
use super::floats::Scale;
use super::fsst::Trained;
use super::nulls::{Bitmaps, Present};
use super::retry::RetryInterval;
use super::{fixed, nested};
use crate::{Column, EncodeError, Encoding, EncodingSet, Field, Layout, Level, Values};

/// The parameters of one chunk's encoding.
pub(super) struct Context<'a> {
    level: Level,
    /// Whether only encodings are used that cost little to find.
    is_quick: bool,
    encodings: EncodingSet,
    bitmaps: Bitmaps<'a>,
}

/// Results of a column's earlier chunks.
#[derive(Default)]
pub(super) struct Memory {
    pub(super) dictionary: RetryInterval,
    /// The number of entries of the last dictionary.
    pub(super) distinct: Option<usize>,
    pub(super) delta: RetryInterval,
    pub(super) fsst: RetryInterval,
    pub(super) symbols: Option<Trained>,
    pub(super) scale: Scale,
    children: Vec<Memory>,
}

impl Memory {
    /// The results of a child.
    pub(super) fn child(&mut self, index: usize) -> &mut Memory {
        if self.children.len() <= index {
            self.children.resize_with(index + 1, Memory::default);
        }
        &mut self.children[index]
    }
}

impl<'a> Context<'a> {
    pub(super) fn new(level: Level, encodings: EncodingSet) -> Self {
        Self { level, is_quick: false, encodings, bitmaps: Bitmaps::default() }
    }

    /// Whether buffers are sent unchanged.
    pub(super) fn plain(&self) -> bool {
        matches!(self.level, Level::Plain | Level::AsGiven)
    }

    /// How a column is encoded that is given as codes or as narrow integers.
    fn of_given(&self) -> Context<'static> {
        let (level, is_quick) = match self.level {
            Level::AsGiven => (Level::Light, true),
            level => (level, self.is_quick),
        };
        Context { level, is_quick, encodings: self.encodings, bitmaps: Bitmaps::default() }
    }

    /// What a column's earlier chunks have shown, if encodings may be tried that are expensive to find.
    pub(super) fn tries<'m>(&self, memory: &'m mut Memory) -> Option<&'m mut Memory> {
        (!self.is_quick).then_some(memory)
    }

    pub(super) fn fsst(&self) -> bool {
        self.level == Level::LightFsst && self.may(Encoding::Fsst)
    }

    /// Whether the reader supports `encoding`.
    pub(super) fn may(&self, encoding: Encoding) -> bool {
        self.encodings.contains(encoding)
    }

    /// Adds the node of column number `index`.
    pub(super) fn top_level(
        &mut self,
        body: &mut Body<'a>,
        index: usize,
        column: &ColumnInput<'_, 'a>,
        field: &Field,
        memory: &mut Memory,
    ) -> Result<(), EncodeError> {
        self.node(body, Some(index), column, field, memory).ok_or(EncodeError::Buffers(index))
    }

    /// Adds the node of a child column.
    pub(super) fn child(
        &mut self,
        body: &mut Body<'a>,
        column: &Column<&'a [u8]>,
        field: &Field,
        memory: &mut Memory,
    ) -> Option<()> {
        self.node(body, None, &ColumnInput::Column(column), field, memory)
    }

    /// `None` if the buffers do not fit.
    fn node(
        &mut self,
        body: &mut Body<'a>,
        top: Option<usize>,
        input: &ColumnInput<'_, 'a>,
        field: &Field,
        memory: &mut Memory,
    ) -> Option<()> {
        let layout = field.data_type.layout();
        if layout == Layout::None {
            body.start(1, 0);
            return Some(());
        }
        let may_be_sparse = !self.plain() && (layout.fixed_width().is_some() || matches!(layout, Layout::Bytes { .. }));
        let present = Present::new(input.rows(), input.validity(), may_be_sparse);
        if top.is_some() && !field.nullable && !present.all() {
            return None;
        }
        let node = present.start(body, top.map(|index| (index, &mut self.bitmaps)));
        if present.none() {
            return Some(());
        }
        let column = match input {
            ColumnInput::Column(column) => *column,
            ColumnInput::Codes(texts) => {
                return bytes_column::put_codes(body, node, &present, texts, layout, memory, &self.of_given());
            }
            ColumnInput::Narrow(integers) => {
                fixed::put_narrow(body, node, &present, integers.values, memory, &self.of_given());
                return Some(());
            }
        };
        match (&column.values, layout) {
            (Values::Bits(bits), Layout::Bits) => fixed::put_bits(body, node, *bits, column.rows, self),
            (Values::Fixed(values), _) => {
                fixed::put(body, node, &present, values, layout, memory, self)?;
            }
            (Values::Bytes { offsets, data }, Layout::Bytes { offset: 4, .. }) => {
                bytes_column::put::<i32>(body, node, &present, (offsets, data), memory, self)?;
            }
            (Values::Bytes { offsets, data }, Layout::Bytes { .. }) => {
                bytes_column::put::<i64>(body, node, &present, (offsets, data), memory, self)?;
            }
            _ => nested::put(body, node, &present, column, field, memory, self)?,
        }
        Some(())
    }
}
