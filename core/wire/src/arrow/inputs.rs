//! Batches in which a column may be closer to a database's memory than the type of its field.

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal64Type, UInt32Type};
use arrow_array::{Array, RecordBatch};

use super::batch::{column, validity};
use crate::{Codes, Column, ColumnInput, DataType, Layout, Narrow, Schema};

/// The columns of a batch, which borrow its buffers. A column of texts or bytes may be a dictionary of `Binary` with
/// indices of type `UInt32`, and a column of `Decimal128` may be `Decimal64`.
pub struct BatchColumns<'a>(Vec<BatchColumn<'a>>);

enum BatchColumn<'a> {
    Column(Column<&'a [u8]>),
    Codes(Codes<'a>),
    Narrow(Narrow<'a>),
}

impl<'a> BatchColumns<'a> {
    /// The columns of a batch of a stream with this schema.
    pub fn of(schema: &Schema, batch: &'a RecordBatch) -> Self {
        let columns = batch.columns().iter().zip(&schema.fields).map(|(array, field)| {
            let validity = array.nulls().map(validity);
            if let Layout::Bytes { .. } = field.data_type.layout()
                && let Some(dictionary) = array.as_dictionary_opt::<UInt32Type>()
                && let Some(entries) = dictionary.values().as_binary_opt::<i32>()
            {
                let (codes, offsets) = (dictionary.keys().values(), entries.value_offsets());
                return BatchColumn::Codes(Codes { validity, codes, offsets, data: entries.value_data() });
            }
            if let DataType::Decimal128 { .. } = field.data_type
                && let Some(narrow) = array.as_primitive_opt::<Decimal64Type>()
            {
                return BatchColumn::Narrow(Narrow { validity, values: narrow.values() });
            }
            BatchColumn::Column(column(array))
        });
        Self(columns.collect())
    }

    /// The columns for [`Encoder::chunk_of`](crate::Encoder::chunk_of).
    pub fn inputs(&self) -> Vec<ColumnInput<'_, 'a>> {
        let input = |column| match column {
            &BatchColumn::Codes(codes) => ColumnInput::Codes(codes),
            &BatchColumn::Narrow(narrow) => ColumnInput::Narrow(narrow),
            BatchColumn::Column(column) => ColumnInput::Column(column),
        };
        self.0.iter().map(input).collect()
    }

    /// Bytes of the rows in plain form, as the schema has them. If these are certainly no more than `most`, an upper
    /// bound, which takes less time.
    pub fn plain_bytes(&self, schema: &Schema, most: usize) -> usize {
        let inputs = self.inputs();
        let sizes = || inputs.iter().zip(&schema.fields);
        let bound = sizes().map(|(column, field)| column.most_plain_bytes(field)).fold(0, usize::saturating_add);
        if bound <= most {
            return bound;
        }
        sizes().map(|(column, field)| column.plain_bytes(field).unwrap_or(0)).sum()
    }
}
