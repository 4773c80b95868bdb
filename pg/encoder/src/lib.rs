//! The encoder and the decoder of `colonnade-wire` behind a C interface, for code that runs inside a PostgreSQL
//! backend.
//!
//! `pg/src/colonnade_encoder.h` and `colonnade_decoder.h` are the same interface for C and state the caller's
//! obligations; change both together. It is suitable for a backend: it starts no thread, uses no signal, file or
//! socket, never calls back, and never panics into C. Every function that can fail returns a [`Status`] and writes a
//! message.
//!
//! With the feature `memory-errors`, which the extension needs to link, a failed allocation is [`Status::OutOfMemory`].

#![cfg_attr(feature = "memory-errors", feature(alloc_error_hook))]

mod decoder;
mod decoding;
mod encoder;
mod error;
mod input;
#[cfg(feature = "memory-errors")]
mod memory;
mod types;

use std::ffi::c_char;
use std::time::Duration;

use colonnade_wire::{Config, Queue};

pub use decoder::{ColonnadeDecoder, Event};
pub use decoding::{
    ColonnadeLimits, colonnade_decoder_accepts, colonnade_decoder_columns, colonnade_decoder_create,
    colonnade_decoder_destroy, colonnade_decoder_fields, colonnade_decoder_finish, colonnade_decoder_rows,
    colonnade_decoder_take,
};
pub use encoder::ColonnadeEncoder;
pub use error::{ColonnadeError, MESSAGE_LEN, Status};
pub use input::{ColonnadeColumn, ColonnadeField, ColonnadePair};

use error::{Failure, guard};

/// How chunks are encoded. The strings are NUL-terminated UTF-8.
#[repr(C)]
pub struct ColonnadeOptions {
    /// PROTOCOL §2's `compression`; null for `auto`.
    pub compression: *const c_char,
    /// PROTOCOL §2's `encodings`; null for all.
    pub encodings: *const c_char,
    /// PROTOCOL §2's `codecs`; null for all.
    pub codecs: *const c_char,
    /// The reader's distance: 0 same machine, 1 loopback, 2 elsewhere, 3 elsewhere without [`colonnade_link`].
    pub link: u8,
    /// What the connection's earlier encoders have measured.
    pub estimate: ColonnadeLinkEstimate,
}

/// The throughput of a connection, which an encoder hands to the next one.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ColonnadeLinkEstimate {
    /// Bytes a second; 0 if nothing was measured.
    pub throughput: f64,
    /// 1 if the link was the limit; otherwise the throughput is a lower bound.
    pub was_limit: u8,
}

/// Bytes of a message. They are valid until the next call with the same encoder.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ColonnadeSlice {
    /// The first byte.
    pub bytes: *const u8,
    /// The number of bytes.
    pub length: usize,
}

/// The state of a socket.
#[repr(C)]
pub struct ColonnadeQueue {
    /// Bytes that the peer has acknowledged since the connection began.
    pub delivered: u64,
    /// Bytes that have not left yet.
    pub unsent: u64,
    /// Microseconds in which the peer's window was the limit.
    pub peer_limited: u64,
    /// 1 if the congestion window is below the slow start threshold.
    pub is_slow_start: u8,
}

/// One message, to send slice by slice.
#[repr(C)]
pub struct ColonnadeMessage {
    /// The slices.
    pub slices: *const ColonnadeSlice,
    /// The number of slices.
    pub count: usize,
    /// Bytes of all of them.
    pub length: usize,
    /// Rows of a chunk, 0 otherwise.
    pub rows: usize,
}

/// Must be called once, before anything else. Fails if there is no memory.
#[cfg(feature = "memory-errors")]
#[unsafe(no_mangle)]
pub extern "C" fn colonnade_encoder_prepare() -> Status {
    if memory::prepare() { Status::Ok } else { Status::OutOfMemory }
}

/// Whether `compression` is a configuration (or `auto`).
///
/// # Safety
///
/// `compression` is NUL-terminated, `error` valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn colonnade_check_compression(compression: *const c_char, error: *mut ColonnadeError) -> Status {
    guard(error, || {
        // SAFETY: as promised by the caller.
        let name = unsafe { input::text(compression) }?.unwrap_or("auto");
        if name != "auto" {
            name.parse::<Config>().map_err(|unknown| Failure::Argument(unknown.to_string()))?;
        }
        Ok(())
    })
}

/// A new encoder at `*encoder` for a stream of the columns `fields`, depth first.
///
/// # Safety
///
/// All pointers are valid, the arrays have the stated lengths, the strings are NUL-terminated.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn colonnade_encoder_create(
    options: *const ColonnadeOptions,
    fields: *const ColonnadeField,
    field_count: usize,
    encoder: *mut *mut ColonnadeEncoder,
    error: *mut ColonnadeError,
) -> Status {
    guard(error, || {
        // SAFETY: as promised by the caller.
        unsafe {
            let schema = input::schema(input::array(fields, field_count))?;
            let created = ColonnadeEncoder::new(&*options, schema)?;
            encoder.write(Box::into_raw(Box::new(created)));
        }
        Ok(())
    })
}

/// Frees the encoder and everything that it returned.
///
/// # Safety
///
/// `encoder` comes from [`colonnade_encoder_create`] and is not used again. Null is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn colonnade_encoder_destroy(encoder: *mut ColonnadeEncoder) {
    if !encoder.is_null() {
        // A destructor that panics must not unwind into C. The error cannot be reported.
        let _ = guard(std::ptr::null_mut(), || {
            // SAFETY: as promised by the caller.
            drop(unsafe { Box::from_raw(encoder) });
            Ok(())
        });
    }
}

/// The stream's first message.
///
/// # Safety
///
/// The pointers are valid and not used by others during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn colonnade_schema_message(
    encoder: *mut ColonnadeEncoder,
    message: *mut ColonnadeMessage,
    error: *mut ColonnadeError,
) -> Status {
    guard(error, || {
        // SAFETY: as promised by the caller.
        unsafe { message.write((*encoder).schema_message()) };
        Ok(())
    })
}

/// The next chunk: `rows` rows of `columns`, depth first as the fields were.
///
/// # Safety
///
/// As above. Every buffer of the columns is valid for its length and does not change until the next call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn colonnade_encode_chunk(
    encoder: *mut ColonnadeEncoder,
    rows: usize,
    columns: *const ColonnadeColumn,
    column_count: usize,
    message: *mut ColonnadeMessage,
    error: *mut ColonnadeError,
) -> Status {
    guard(error, || {
        // SAFETY: as promised by the caller.
        unsafe {
            let columns = input::array(columns, column_count);
            message.write((*encoder).chunk(rows, columns)?);
        }
        Ok(())
    })
}

/// Adds a chunk message that another encoder made for the same fields and options.
///
/// # Safety
///
/// As above. `bytes` is valid for `length` bytes and does not change until the next call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn colonnade_adopt_chunk(
    encoder: *mut ColonnadeEncoder,
    bytes: *const u8,
    length: usize,
    message: *mut ColonnadeMessage,
    error: *mut ColonnadeError,
) -> Status {
    guard(error, || {
        // SAFETY: as promised by the caller.
        unsafe {
            let bytes = input::array(bytes, length);
            message.write((*encoder).adopt(bytes)?);
        }
        Ok(())
    })
}

/// The stream's last message.
///
/// # Safety
///
/// The pointers are valid and not used by others during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn colonnade_end_message(
    encoder: *mut ColonnadeEncoder,
    message: *mut ColonnadeMessage,
    error: *mut ColonnadeError,
) -> Status {
    guard(error, || {
        // SAFETY: as promised by the caller.
        unsafe { message.write((*encoder).end_message()) };
        Ok(())
    })
}

/// The maximum number of unsent bytes in the socket, if the encoder needs the link's state. Otherwise 0; querying the
/// socket is then useless.
///
/// # Safety
///
/// `encoder` is valid and not used by others during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn colonnade_watches_link(encoder: *const ColonnadeEncoder) -> u32 {
    // SAFETY: as promised by the caller.
    if unsafe { (*encoder).watches_link() } { colonnade_wire::UNSENT } else { 0 }
}

/// `bytes` were handed to the socket since the last call, and `queue` is its current state. Must be called before and
/// after each message is sent.
///
/// # Safety
///
/// As above; `queue` is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn colonnade_link(encoder: *mut ColonnadeEncoder, bytes: usize, queue: *const ColonnadeQueue) {
    // Numbers cannot be invalid. A defect of the encoder would appear in the next chunk.
    let _ = guard(std::ptr::null_mut(), || {
        // SAFETY: as promised by the caller.
        let (encoder, queue) = unsafe { (&mut *encoder, &*queue) };
        let peer_limited = Duration::from_micros(queue.peer_limited);
        let (delivered, unsent, is_slow_start) = (queue.delivered, queue.unsent, queue.is_slow_start != 0);
        encoder.link(bytes, &Queue { delivered, unsent, peer_limited, is_slow_start, ..Queue::default() });
        Ok(())
    });
}

/// Writes what the encoder has measured of the link to `estimate`, which stays as it is if that is nothing.
///
/// # Safety
///
/// As above; `estimate` is valid for writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn colonnade_link_estimate(
    encoder: *const ColonnadeEncoder,
    estimate: *mut ColonnadeLinkEstimate,
) {
    let _ = guard(std::ptr::null_mut(), || {
        // SAFETY: as promised by the caller.
        let encoder = unsafe { &*encoder };
        if let Some(measured) = encoder.link_estimate() {
            // SAFETY: as promised by the caller.
            unsafe { estimate.write(measured) };
        }
        Ok(())
    });
}

/// The size of the next chunk as a share of a full one, above 0 and at most 1.
///
/// # Safety
///
/// As above.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn colonnade_share(encoder: *mut ColonnadeEncoder) -> f64 {
    let mut share = 1.0;
    let _ = guard(std::ptr::null_mut(), || {
        // SAFETY: as promised by the caller.
        share = unsafe { (*encoder).share() };
        Ok(())
    });
    share
}

/// The version of the stream format; FORMAT.md.
#[unsafe(no_mangle)]
pub extern "C" fn colonnade_format_version() -> u32 {
    1
}
