//! The decoder's functions for C. `pg/src/colonnade_decoder.h` is the same interface; change both together.

use colonnade_wire::{DecodeLimits, RequestedSize};

use crate::decoder::{ColonnadeDecoder, Event};
use crate::error::{ColonnadeError, Failure, Status, guard};
use crate::input::{self, ColonnadeColumn, ColonnadeField};
use crate::types::{TypeName, accepts};

/// Limits for a stream.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ColonnadeLimits {
    /// Bytes of a message.
    pub message_bytes: u64,
    /// Bytes of the decoded columns of a chunk.
    pub decoded_bytes: u64,
    /// Bytes of a chunk of several rows; FORMAT §8 says what may be added for overhead.
    pub chunk_bytes: u64,
    /// Rows of a chunk.
    pub chunk_rows: u32,
}

/// A new decoder at `*decoder` at the start of a stream.
///
/// # Safety
///
/// All pointers are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn colonnade_decoder_create(
    limits: *const ColonnadeLimits,
    decoder: *mut *mut ColonnadeDecoder,
    error: *mut ColonnadeError,
) -> Status {
    guard(error, || {
        // SAFETY: as promised by the caller.
        let ColonnadeLimits { message_bytes, decoded_bytes, chunk_bytes, chunk_rows } = unsafe { *limits };
        let limits = DecodeLimits { message_bytes, decoded_bytes };
        let created = ColonnadeDecoder::new(limits, RequestedSize { rows: chunk_rows, bytes: chunk_bytes });
        // SAFETY: as promised by the caller.
        unsafe { decoder.write(Box::into_raw(Box::new(created))) };
        Ok(())
    })
}

/// Frees the decoder and everything that it returned.
///
/// # Safety
///
/// `decoder` comes from [`colonnade_decoder_create`] and is not used again. Null is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn colonnade_decoder_destroy(decoder: *mut ColonnadeDecoder) {
    if !decoder.is_null() {
        // A destructor that panics must not unwind into C. The error cannot be reported.
        let _ = guard(std::ptr::null_mut(), || {
            // SAFETY: as promised by the caller.
            drop(unsafe { Box::from_raw(decoder) });
            Ok(())
        });
    }
}

/// Takes the stream's next bytes, at most to the end of a message. Writes how many were taken, and what is complete.
///
/// # Safety
///
/// All pointers are valid, `bytes` for `length` bytes. The decoder is not used by others during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn colonnade_decoder_take(
    decoder: *mut ColonnadeDecoder,
    bytes: *const u8,
    length: usize,
    taken: *mut usize,
    event: *mut Event,
    error: *mut ColonnadeError,
) -> Status {
    guard(error, || {
        // SAFETY: as promised by the caller.
        unsafe {
            let (count, complete) = (*decoder).take(input::array(bytes, length))?;
            taken.write(count);
            event.write(complete);
        }
        Ok(())
    })
}

/// Whether the end message was read.
///
/// # Safety
///
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn colonnade_decoder_finish(
    decoder: *const ColonnadeDecoder,
    error: *mut ColonnadeError,
) -> Status {
    guard(error, || {
        // SAFETY: as promised by the caller.
        unsafe { (*decoder).finish() }
    })
}

/// The stream's fields, depth first, as long as the decoder exists. There are none before the schema message.
///
/// # Safety
///
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn colonnade_decoder_fields(
    decoder: *const ColonnadeDecoder,
    count: *mut usize,
) -> *const ColonnadeField {
    // SAFETY: as promised by the caller.
    unsafe {
        let fields = (*decoder).fields();
        count.write(fields.len());
        fields.as_ptr()
    }
}

/// Whether a column that is described by `expected`, a field with those below it, takes the stream's top-level field
/// number `index`. If not, the result is [`Status::Argument`], and both types are named.
///
/// # Safety
///
/// As above; `expected` is valid for `count` fields, with NUL-terminated strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn colonnade_decoder_accepts(
    decoder: *const ColonnadeDecoder,
    index: usize,
    expected: *const ColonnadeField,
    count: usize,
    expected_name: *mut ColonnadeError,
    found_name: *mut ColonnadeError,
) -> Status {
    guard(found_name, || {
        // SAFETY: as promised by the caller.
        let (decoder, schema) = unsafe { (&*decoder, input::schema(input::array(expected, count))?) };
        let found = decoder.field(index)?;
        match schema.fields.as_slice() {
            [expected] if accepts(expected, found) => Ok(()),
            [expected] => {
                // SAFETY: as promised by the caller.
                if let Some(name) = unsafe { expected_name.as_mut() } {
                    name.set(&TypeName(expected));
                }
                Err(Failure::Argument(TypeName(found).to_string()))
            }
            _ => Err(Failure::Argument("one field is expected".to_owned())),
        }
    })
}

/// The rows of the chunk that [`colonnade_decoder_take`] has completed.
///
/// # Safety
///
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn colonnade_decoder_rows(decoder: *const ColonnadeDecoder) -> usize {
    // SAFETY: as promised by the caller.
    unsafe { (*decoder).rows() }
}

/// Decodes the chunk that [`colonnade_decoder_take`] has completed, once. The buffers in `columns`, in the order of the
/// fields, are valid until its next call.
///
/// # Safety
///
/// As above; `columns` is valid for writes of `count` elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn colonnade_decoder_columns(
    decoder: *mut ColonnadeDecoder,
    columns: *mut ColonnadeColumn,
    count: usize,
    error: *mut ColonnadeError,
) -> Status {
    guard(error, || {
        if count == 0 {
            // SAFETY: as promised by the caller.
            return unsafe { (*decoder).columns(&mut []) };
        }
        // SAFETY: as promised by the caller.
        unsafe { (*decoder).columns(std::slice::from_raw_parts_mut(columns, count)) }
    })
}
