//! A decoder of one stream: collects messages from pieces of any size, and keeps the columns of one chunk.

use std::ffi::CString;
use std::sync::Arc;

use bytes::Bytes;
use colonnade_wire::{
    Column, Damage, DataType, DecodeLimits, Decoder, EncodedChunk, Field, HEADER_LEN, Message, RequestedSize, Schema,
    Values, message_length,
};

use crate::error::Failure;
use crate::input::{ColonnadeColumn, ColonnadeField};

/// The first allocation for a message. A length in a header is a claim, so memory grows with the bytes that arrive.
const FIRST_BYTES: usize = 1 << 20;

/// What the bytes that were taken have completed.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// No message is complete yet; all bytes were taken.
    None = 0,
    /// The schema message.
    Schema = 1,
    /// A chunk message, whose columns can be decoded until the next call of `colonnade_decoder_take`.
    Chunk = 2,
    /// The end message. No further byte is accepted.
    End = 3,
}

/// The object behind a caller's pointer.
pub struct ColonnadeDecoder {
    decoder: Decoder,
    limits: DecodeLimits,
    requested: RequestedSize,
    /// The bytes of the current message, as far as they have arrived.
    message: Vec<u8>,
    schema: Arc<Schema>,
    fields: Vec<ColonnadeField>,
    /// What `fields` points to.
    names: Vec<CString>,
    chunk: Option<EncodedChunk>,
    /// Rows of the chunk, also after its columns were decoded.
    rows: usize,
    /// The decoded columns of the chunk, which own their buffers.
    columns: Vec<Column<Bytes>>,
}

impl ColonnadeDecoder {
    pub(crate) fn new(limits: DecodeLimits, requested: RequestedSize) -> Self {
        Self {
            decoder: Decoder::new(limits).requested(requested),
            limits,
            requested,
            message: Vec::new(),
            schema: Arc::default(),
            fields: Vec::new(),
            names: Vec::new(),
            chunk: None,
            rows: 0,
            columns: Vec::new(),
        }
    }

    /// Takes bytes up to the end of the current message. Returns how many, and what is complete.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<(usize, Event), Failure> {
        self.columns.clear();
        self.chunk = None;
        self.rows = 0;
        if self.decoder.finish().is_ok() && !bytes.is_empty() {
            return Err(Failure::Damaged(Damage::TrailingBytes.into()));
        }
        let mut taken = self.collect(bytes, HEADER_LEN);
        let Some(header) = self.message.first_chunk::<HEADER_LEN>() else { return Ok((taken, Event::None)) };
        let length = message_length(header, &self.limits)?;
        if !self.requested.allows(header, length as u64) {
            let limit = self.requested.bytes;
            return Err(Failure::Damaged(Damage::Unasked { unit: "bytes", declared: length as u64, limit }.into()));
        }
        taken += self.collect(&bytes[taken..], length);
        if self.message.len() < length {
            return Ok((taken, Event::None));
        }
        let message = Bytes::from(std::mem::take(&mut self.message));
        let event = match self.decoder.message(message)? {
            Message::Schema(schema) => {
                self.describe(&schema)?;
                self.schema = schema;
                Event::Schema
            }
            Message::Chunk(chunk) => {
                self.rows = chunk.rows();
                self.chunk = Some(chunk);
                Event::Chunk
            }
            Message::End(_) => Event::End,
        };
        Ok((taken, event))
    }

    /// Extends the message to at most `length` bytes. Returns the number of bytes that were added.
    fn collect(&mut self, bytes: &[u8], length: usize) -> usize {
        let missing = length.saturating_sub(self.message.len()).min(bytes.len());
        let needed = self.message.len() + missing;
        if needed > self.message.capacity() {
            let capacity = (2 * needed).clamp(FIRST_BYTES.min(length), length).max(needed);
            self.message.reserve_exact(capacity - self.message.len());
        }
        self.message.extend_from_slice(&bytes[..missing]);
        missing
    }

    /// Whether the whole stream was read.
    pub(crate) fn finish(&self) -> Result<(), Failure> {
        self.decoder.finish()?;
        Ok(())
    }

    pub(crate) fn fields(&self) -> &[ColonnadeField] {
        &self.fields
    }

    pub(crate) fn field(&self, index: usize) -> Result<&Field, Failure> {
        self.schema.fields.get(index).ok_or_else(|| Failure::Argument("there is no such field".to_owned()))
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Decodes all columns of the chunk, depth first. Their buffers stay valid until the next [`Self::take`].
    pub(crate) fn columns(&mut self, out: &mut [ColonnadeColumn]) -> Result<(), Failure> {
        let chunk = self.chunk.take().ok_or_else(|| Failure::Argument("there is no chunk".to_owned()))?;
        let mut rest = out.iter_mut();
        for index in 0..chunk.columns() {
            self.columns.push(chunk.column(index)?);
        }
        for column in &self.columns {
            write_column(column, &mut rest)?;
        }
        match rest.next() {
            None => Ok(()),
            Some(_) => Err(Failure::Argument("there are fewer columns than expected".to_owned())),
        }
    }

    fn describe(&mut self, schema: &Schema) -> Result<(), Failure> {
        for field in &schema.fields {
            self.describe_field(field)?;
        }
        Ok(())
    }

    fn describe_field(&mut self, field: &Field) -> Result<(), Failure> {
        let name = CString::new(field.name.as_str())
            .map_err(|_| Failure::Argument("the name of a field has a NUL character".to_owned()))?;
        let mut raw = ColonnadeField {
            name: name.as_ptr(),
            zone: std::ptr::null(),
            pairs: std::ptr::null(),
            pair_count: 0,
            // FORMAT §4: at most 65535.
            children: field.children.len() as u32,
            type_id: 0,
            nullable: u8::from(field.nullable),
            parameter: 0,
            scale: 0,
            ordered: 0,
        };
        self.names.push(name);
        (raw.type_id, raw.parameter) = type_number(&field.data_type);
        if let DataType::Decimal128 { precision, scale } | DataType::Decimal256 { precision, scale } = field.data_type {
            (raw.parameter, raw.scale) = (precision, scale);
        }
        self.fields.push(raw);
        for child in &field.children {
            self.describe_field(child)?;
        }
        Ok(())
    }
}

/// FORMAT §4's number of the types that a caller can read, with the index type of a dictionary; [`UNREAD`] for others.
fn type_number(data_type: &DataType) -> (u8, u8) {
    let number = match data_type {
        DataType::Null => 0,
        DataType::Bool => 1,
        DataType::Int16 => 3,
        DataType::Int32 => 4,
        DataType::Int64 => 5,
        DataType::UInt32 => 8,
        DataType::Float32 => 11,
        DataType::Float64 => 12,
        DataType::Decimal128 { .. } => 15,
        DataType::Decimal256 { .. } => 16,
        DataType::Date32 => 17,
        DataType::Time64(_) => 20,
        DataType::Timestamp { .. } => 21,
        DataType::IntervalMonthDayNano => 25,
        DataType::Utf8 => 26,
        DataType::Binary => 28,
        DataType::List => 31,
        DataType::Struct => 34,
        DataType::Dictionary { index, .. } => return (36, *index as u8),
        _ => UNREAD,
    };
    (number, 0)
}

/// The number of a type that no column of PostgreSQL has.
const UNREAD: u8 = 255;

fn write_column(column: &Column<Bytes>, rest: &mut std::slice::IterMut<'_, ColonnadeColumn>) -> Result<(), Failure> {
    let out = rest.next().ok_or_else(|| Failure::Argument("there are more columns than expected".to_owned()))?;
    // A decoded bitmap starts at its first bit; otherwise the caller would read wrong NULLs.
    let aligned = |offset: usize| match offset {
        0 => Ok(()),
        _ => Err(Failure::Argument("a bitmap does not start at a byte".to_owned())),
    };
    *out = ColonnadeColumn { rows: column.rows, ..ColonnadeColumn::EMPTY };
    if let Some(validity) = &column.validity {
        aligned(validity.offset)?;
        out.validity = validity.bytes.as_ptr();
    }
    let mut set = |values: &Bytes, data: &[u8]| {
        (out.values, out.values_length) = (values.as_ptr(), values.len());
        (out.data, out.data_length) = (data.as_ptr(), data.len());
    };
    match &column.values {
        Values::None => Ok(()),
        Values::Bits(bits) => {
            set(&bits.bytes, &[]);
            aligned(bits.offset)
        }
        Values::Fixed(values) => {
            set(values, &[]);
            Ok(())
        }
        Values::Bytes { offsets, data } => {
            set(offsets, data);
            Ok(())
        }
        Values::List { offsets, child } => {
            set(offsets, &[]);
            write_column(child, rest)
        }
        Values::FixedList(child) => write_column(child, rest),
        Values::Struct(children) => children.iter().try_for_each(|child| write_column(child, rest)),
        Values::Dictionary { indices, values } => {
            set(indices, &[]);
            write_column(values, rest)
        }
    }
}
