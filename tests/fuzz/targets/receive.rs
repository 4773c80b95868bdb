//! The decoder's C interface, which a PostgreSQL backend feeds with a client's bytes: in pieces of any size it reads
//! what a reader of the whole stream reads, and refuses the rest. The first byte chooses the size of the pieces, and
//! whether checksums are repaired.

#![no_main]

use std::ptr::{null, null_mut};

use colonnade_encoder::{
    ColonnadeColumn, ColonnadeDecoder, ColonnadeError, ColonnadeLimits, Event, MESSAGE_LEN, Status,
    colonnade_decoder_columns, colonnade_decoder_create, colonnade_decoder_destroy, colonnade_decoder_fields,
    colonnade_decoder_finish, colonnade_decoder_rows, colonnade_decoder_take,
};
use colonnade_fuzz::{LIMITS, read, repaired};
use colonnade_wire::Field;

const EMPTY: ColonnadeColumn =
    ColonnadeColumn { rows: 0, validity: null(), values: null(), values_length: 0, data: null(), data_length: 0 };

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((&choice, bytes)) = bytes.split_first() else { return };
    let stream = if choice & 1 == 0 { repaired(bytes) } else { bytes.to_vec() };
    let mut decoder = null_mut();
    let mut error = ColonnadeError { message: [0; MESSAGE_LEN] };
    let limits = ColonnadeLimits {
        message_bytes: LIMITS.message_bytes,
        decoded_bytes: LIMITS.decoded_bytes,
        chunk_bytes: u64::MAX,
        chunk_rows: u32::MAX,
    };
    // SAFETY: the pointers are valid, and the decoder is not used after it was destroyed.
    let received = unsafe {
        assert_eq!(colonnade_decoder_create(&limits, &mut decoder, &mut error), Status::Ok);
        let received = receive(decoder, &stream, usize::from(choice >> 1) + 1);
        colonnade_decoder_destroy(decoder);
        received
    };
    match (read(&stream), received) {
        (Ok((_, chunks)), Ok(rows)) => {
            assert!(chunks.iter().all(|columns| columns.first().is_none_or(|column| column.rows <= rows)));
        }
        (Err(_), Err(status)) => assert_ne!(status, Status::Internal),
        // C's strings have no NUL characters, so names must not have any.
        (Ok((schema, _)), Err(status)) => {
            assert!(status == Status::Argument && schema.fields.iter().any(has_nul), "{status:?}");
        }
        (Err(error), Ok(_)) => panic!("{error} was not seen"),
    }
});

fn has_nul(field: &Field) -> bool {
    field.name.contains('\0') || field.children.iter().any(has_nul)
}

/// Reads the stream as the extension does. Returns the rows, after all buffers were read from start to end.
///
/// # Safety
///
/// The decoder is at the start of a stream.
unsafe fn receive(decoder: *mut ColonnadeDecoder, stream: &[u8], size: usize) -> Result<usize, Status> {
    let mut error = ColonnadeError { message: [0; MESSAGE_LEN] };
    let check = |status| if status == Status::Ok { Ok(()) } else { Err(status) };
    let mut rows = 0;
    for mut piece in stream.chunks(size) {
        while !piece.is_empty() {
            let (mut taken, mut event) = (0, Event::None);
            // SAFETY: the pointers are valid.
            unsafe {
                let (first, length) = (piece.as_ptr(), piece.len());
                check(colonnade_decoder_take(decoder, first, length, &mut taken, &mut event, &mut error))?;
                piece = &piece[taken..];
                if event != Event::Chunk {
                    continue;
                }
                let mut count = 0;
                colonnade_decoder_fields(decoder, &mut count);
                let mut columns: Vec<_> = (0..count).map(|_| EMPTY).collect();
                check(colonnade_decoder_columns(decoder, columns.as_mut_ptr(), count, &mut error))?;
                rows += colonnade_decoder_rows(decoder);
                for column in &columns {
                    touch(column.values, column.values_length);
                    touch(column.data, column.data_length);
                    touch(column.validity, column.rows.div_ceil(8));
                }
            }
        }
    }
    // SAFETY: the pointers are valid.
    check(unsafe { colonnade_decoder_finish(decoder, &mut error) })?;
    Ok(rows)
}

/// # Safety
///
/// Null, or valid for `length` bytes: the sanitizer checks it.
unsafe fn touch(first: *const u8, length: usize) {
    if !first.is_null() {
        // SAFETY: as promised by the caller.
        let sum: u64 = unsafe { std::slice::from_raw_parts(first, length) }.iter().map(|&byte| u64::from(byte)).sum();
        std::hint::black_box(sum);
    }
}
