//! Each allocation of a stream fails once, alone and with all that follow it: the call ends with `OutOfMemory`, and the
//! process continues.
//!
//! The C library's functions are replaced, so that allocations of Zstandard and of the unwinder fail too.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says so by panicking")]

use std::cell::Cell;
use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr::{null, null_mut};

use colonnade_encoder::*;

// Only the test's own thread is affected, because allocations of the harness's threads must not fail.
thread_local! {
    /// Allocations until one fails; 0 is none.
    static LEFT: Cell<usize> = const { Cell::new(0) };
    /// Whether all allocations after it fail as well.
    static ALL: Cell<bool> = const { Cell::new(false) };
    static REFUSED: Cell<usize> = const { Cell::new(0) };
}

fn is_refused() -> bool {
    let refused = match LEFT.get() {
        0 => false,
        1 => true,
        left => {
            LEFT.set(left - 1);
            return false;
        }
    };
    if refused {
        REFUSED.set(REFUSED.get() + 1);
        if !ALL.get() {
            LEFT.set(0);
        }
    }
    refused
}

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
    fn __libc_realloc(pointer: *mut c_void, size: usize) -> *mut c_void;
    fn __libc_memalign(align: usize, size: usize) -> *mut c_void;
}

#[unsafe(no_mangle)]
extern "C" fn malloc(size: usize) -> *mut c_void {
    // SAFETY: the C library's own.
    if is_refused() { null_mut() } else { unsafe { __libc_malloc(size) } }
}

#[unsafe(no_mangle)]
extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    // SAFETY: the C library's own.
    if is_refused() { null_mut() } else { unsafe { __libc_calloc(count, size) } }
}

/// # Safety
///
/// As the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn realloc(pointer: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: as promised by the caller.
    if is_refused() { null_mut() } else { unsafe { __libc_realloc(pointer, size) } }
}

/// # Safety
///
/// As the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn posix_memalign(pointer: *mut *mut c_void, align: usize, size: usize) -> c_int {
    const ENOMEM: c_int = 12;
    if is_refused() {
        return ENOMEM;
    }
    // SAFETY: as promised by the caller.
    unsafe { pointer.write(__libc_memalign(align, size)) };
    0
}

/// Buffers of one column, and its field's type.
struct Buffers {
    type_id: u8,
    values: Vec<u8>,
    data: Vec<u8>,
}

const ROWS: usize = 1000;

fn fixed<const N: usize>(type_id: u8, value: impl Fn(usize) -> [u8; N]) -> Buffers {
    Buffers { type_id, values: (0..ROWS).flat_map(value).collect(), data: vec![] }
}

fn text(value: impl Fn(usize) -> String) -> Buffers {
    let mut offsets = vec![0i32];
    let mut data = vec![];
    for row in 0..ROWS {
        data.extend(value(row).into_bytes());
        offsets.push(data.len() as i32);
    }
    Buffers { type_id: 26, values: offsets.into_iter().flat_map(i32::to_le_bytes).collect(), data }
}

/// Columns that use each encoding: packed, delta, dictionary, ALP, FSST, constant, plain.
fn table() -> Vec<Buffers> {
    let scattered = |row: usize| (row as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    vec![
        fixed(4, |row| ((scattered(row) >> 50) as i32).to_le_bytes()),
        fixed(5, |row| (row as i64 * 1000).to_le_bytes()),
        fixed(5, |row| ((scattered(row % 7)) as i64).to_le_bytes()),
        fixed(12, |row| ((scattered(row) >> 44) as f64 / 100.0).to_le_bytes()),
        fixed(12, |row| f64::from_bits(scattered(row) >> 2).to_le_bytes()),
        fixed(4, |_| 5i32.to_le_bytes()),
        text(|row| format!("one of {}", row % 11)),
        text(|row| format!("a sentence about the number {row}, and about {}", scattered(row))),
    ]
}

fn check(status: Status) -> Result<(), Status> {
    if status == Status::Ok { Ok(()) } else { Err(status) }
}

/// A whole stream of two chunks; the bytes of its messages. `take` gets them.
fn stream(
    compression: &CStr,
    fields: &[ColonnadeField],
    columns: &[ColonnadeColumn],
    take: &mut impl FnMut(&[u8]),
) -> Result<usize, Status> {
    let options = ColonnadeOptions {
        compression: compression.as_ptr(),
        encodings: null(),
        codecs: null(),
        link: 2,
        estimate: ColonnadeLinkEstimate::default(),
    };
    let mut error = ColonnadeError { message: [0; MESSAGE_LEN] };
    let mut message = ColonnadeMessage { slices: null(), count: 0, length: 0, rows: 0 };
    let mut encoder = null_mut();
    let mut bytes = 0;
    // SAFETY: all of it outlives the encoder.
    unsafe {
        check(colonnade_encoder_create(&options, fields.as_ptr(), fields.len(), &mut encoder, &mut error))?;
        let mut work = || {
            check(colonnade_schema_message(encoder, &mut message, &mut error))?;
            bytes += message.length;
            hand_over(&message, take);
            for _ in 0..2 {
                let (first, count) = (columns.as_ptr(), columns.len());
                check(colonnade_encode_chunk(encoder, ROWS, first, count, &mut message, &mut error))?;
                let queue = ColonnadeQueue { delivered: bytes as u64, unsent: 0, peer_limited: 0, is_slow_start: 0 };
                colonnade_link(encoder, message.length, &queue);
                bytes += message.length;
                hand_over(&message, take);
            }
            check(colonnade_end_message(encoder, &mut message, &mut error))?;
            bytes += message.length;
            hand_over(&message, take);
            Ok(())
        };
        let result = work();
        colonnade_encoder_destroy(encoder);
        result.map(|()| bytes)
    }
}

/// # Safety
///
/// The message's slices are still valid.
unsafe fn hand_over(message: &ColonnadeMessage, take: &mut impl FnMut(&[u8])) {
    for index in 0..message.count {
        // SAFETY: as promised by the caller.
        unsafe {
            let slice = *message.slices.add(index);
            take(std::slice::from_raw_parts(slice.bytes, slice.length));
        }
    }
}

#[test]
fn every_allocation_may_be_refused() {
    assert_eq!(colonnade_encoder_prepare(), Status::Ok);
    let table = table();
    let name = CString::new("column").unwrap();
    let fields: Vec<_> = table.iter().map(|buffers| field(&name, buffers.type_id)).collect();
    let columns: Vec<_> = table.iter().map(column).collect();
    for compression in [c"plain", c"light+lz4", c"light+fsst+zstd-1", c"light+zstd-19", c"auto"] {
        stream(compression, &fields, &columns, &mut |_| {}).unwrap();
        refuse_each(20, || stream(compression, &fields, &columns, &mut |_| {}));
        let mut sent = vec![];
        stream(compression, &fields, &columns, &mut |bytes| sent.extend_from_slice(bytes)).unwrap();
        assert_eq!(received(&sent, table.len()), Ok(2 * ROWS));
        refuse_each(10, || received(&sent, table.len()));
        assert_eq!(received(&sent, table.len()), Ok(2 * ROWS));
    }
}

/// Repeats the work with one allocation more that succeeds, until all do; these must be more than `least`.
fn refuse_each<T: PartialEq>(least: usize, mut work: impl FnMut() -> Result<T, Status>) {
    for all in [false, true] {
        ALL.set(all);
        let mut refused = 0;
        for number in 1.. {
            REFUSED.set(0);
            LEFT.set(number);
            let result = work();
            LEFT.set(0);
            if REFUSED.get() == 0 {
                break;
            }
            refused += 1;
            // A single one may be of those that are not needed, such as a trial's.
            assert!(result == Err(Status::OutOfMemory) || (!all && result.is_ok()), "allocation {number}");
        }
        assert!(refused > least, "{refused}");
    }
}

/// Decodes a stream that arrives in pieces; its rows.
fn received(stream: &[u8], columns: usize) -> Result<usize, Status> {
    let limits =
        ColonnadeLimits { message_bytes: 1 << 30, decoded_bytes: 1 << 30, chunk_bytes: 1 << 30, chunk_rows: 1 << 20 };
    let mut error = ColonnadeError { message: [0; MESSAGE_LEN] };
    let mut decoder = null_mut();
    let empty = || ColonnadeColumn {
        rows: 0,
        validity: null(),
        values: null(),
        values_length: 0,
        data: null(),
        data_length: 0,
    };
    let mut buffers: [ColonnadeColumn; 8] = std::array::from_fn(|_| empty());
    assert_eq!(columns, buffers.len());
    // SAFETY: all of it outlives the decoder.
    unsafe {
        check(colonnade_decoder_create(&limits, &mut decoder, &mut error))?;
        let mut work = || {
            let mut rows = 0;
            for mut piece in stream.chunks(10_000) {
                while !piece.is_empty() {
                    let (mut taken, mut event) = (0, Event::None);
                    let (first, length) = (piece.as_ptr(), piece.len());
                    check(colonnade_decoder_take(decoder, first, length, &mut taken, &mut event, &mut error))?;
                    piece = &piece[taken..];
                    if event == Event::Chunk {
                        rows += colonnade_decoder_rows(decoder);
                        check(colonnade_decoder_columns(decoder, buffers.as_mut_ptr(), columns, &mut error))?;
                    }
                }
            }
            check(colonnade_decoder_finish(decoder, &mut error))?;
            Ok(rows)
        };
        let result = work();
        colonnade_decoder_destroy(decoder);
        result
    }
}

fn field(name: &CStr, type_id: u8) -> ColonnadeField {
    ColonnadeField {
        name: name.as_ptr(),
        zone: null(),
        pairs: null(),
        pair_count: 0,
        children: 0,
        type_id,
        nullable: 1,
        parameter: 0,
        scale: 0,
        ordered: 0,
    }
}

fn column(buffers: &Buffers) -> ColonnadeColumn {
    ColonnadeColumn {
        rows: ROWS,
        validity: null(),
        values: buffers.values.as_ptr(),
        values_length: buffers.values.len(),
        data: buffers.data.as_ptr(),
        data_length: buffers.data.len(),
    }
}
