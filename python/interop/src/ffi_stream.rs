//! Arrow's C stream over a function that returns arrays one by one.

use std::ffi::{CStr, CString, c_int};

use arrow_array::ArrayRef;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_data::ArrayData;
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{DataType, Field, SchemaRef};
use colonnade_client::export::{ArrayProducer, EIO, StreamFailure, c_message, stream};

/// Returns the next array, or `None` after the last.
pub type Producer = Box<dyn FnMut() -> Result<Option<ArrayRef>, String> + Send>;

struct Arrays {
    field: Field,
    next: Producer,
}

/// The text of an error.
struct Message(CString);

/// A stream of arrays of the field's type.
pub fn export(field: Field, next: Producer) -> FFI_ArrowArrayStream {
    stream(Arrays { field, next })
}

/// The struct type that represents a result in Arrow's interfaces.
pub fn struct_field(schema: &SchemaRef) -> Field {
    Field::new("", DataType::Struct(schema.fields().clone()), false).with_metadata(schema.metadata().clone())
}

impl ArrayProducer for Arrays {
    type Failure = Message;

    fn schema(&self) -> Result<FFI_ArrowSchema, Message> {
        FFI_ArrowSchema::try_from(&self.field).map_err(|error| Message(c_message(&error.to_string())))
    }

    fn next(&mut self) -> Result<Option<ArrayData>, Message> {
        let array = (self.next)().map_err(|message| Message(c_message(&message)))?;
        Ok(array.map(|array| array.to_data()))
    }
}

impl StreamFailure for Message {
    fn panicked() -> Self {
        Self(c"a defect in colonnade; please report it".to_owned())
    }

    fn errno(&self) -> c_int {
        EIO
    }

    fn message(&self) -> &CStr {
        &self.0
    }
}
