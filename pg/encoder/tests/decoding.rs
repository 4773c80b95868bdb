//! Calls the decoder's C interface as C does, with streams of the encoder and with the specification's vectors.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says so by panicking")]

use std::ffi::CStr;
use std::path::Path;
use std::ptr::{null, null_mut};

use colonnade_encoder::*;

const LIMITS: ColonnadeLimits =
    ColonnadeLimits { message_bytes: 1 << 26, decoded_bytes: 1 << 26, chunk_bytes: 1 << 24, chunk_rows: 1 << 20 };

struct Decoder {
    raw: *mut ColonnadeDecoder,
    error: ColonnadeError,
}

impl Drop for Decoder {
    fn drop(&mut self) {
        // SAFETY: created in `new`, and not used again.
        unsafe { colonnade_decoder_destroy(self.raw) };
    }
}

type Failed = (Status, String);

impl Decoder {
    fn new() -> Self {
        let mut decoder = Self { raw: null_mut(), error: ColonnadeError { message: [0; MESSAGE_LEN] } };
        // SAFETY: the pointers are valid.
        let status = unsafe { colonnade_decoder_create(&LIMITS, &mut decoder.raw, &mut decoder.error) };
        assert_eq!(status, Status::Ok);
        decoder
    }

    fn checked(&self, status: Status) -> Result<(), Failed> {
        if status == Status::Ok { Ok(()) } else { Err((status, text(&self.error))) }
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(usize, Event), Failed> {
        let (mut taken, mut event) = (0, Event::None);
        // SAFETY: the pointers are valid.
        let status = unsafe {
            colonnade_decoder_take(self.raw, bytes.as_ptr(), bytes.len(), &mut taken, &mut event, &mut self.error)
        };
        self.checked(status).map(|()| (taken, event))
    }

    fn fields(&self) -> &[ColonnadeField] {
        let mut count = 0;
        // SAFETY: the fields live as long as the decoder.
        unsafe {
            let first = colonnade_decoder_fields(self.raw, &mut count);
            if count == 0 { &[] } else { std::slice::from_raw_parts(first, count) }
        }
    }

    /// Decodes the chunk. The sum of all bytes of its buffers shows that they can be read.
    fn columns(&mut self) -> Result<u64, Failed> {
        let empty = || ColonnadeColumn {
            rows: 0,
            validity: null(),
            values: null(),
            values_length: 0,
            data: null(),
            data_length: 0,
        };
        let mut columns: Vec<_> = self.fields().iter().map(|_| empty()).collect();
        // SAFETY: the pointers are valid, and the buffers are until the next call of `take`.
        unsafe {
            let status = colonnade_decoder_columns(self.raw, columns.as_mut_ptr(), columns.len(), &mut self.error);
            self.checked(status)?;
            let bytes = |first: *const u8, length: usize| {
                if first.is_null() {
                    0
                } else {
                    std::slice::from_raw_parts(first, length).iter().map(|&b| u64::from(b)).sum()
                }
            };
            Ok(columns
                .iter()
                .map(|column| {
                    bytes(column.values, column.values_length)
                        + bytes(column.data, column.data_length)
                        + bytes(column.validity, column.rows.div_ceil(8))
                })
                .sum())
        }
    }

    /// Reads the whole stream in pieces; its rows.
    fn stream(&mut self, stream: &[u8], size: usize) -> Result<usize, Failed> {
        let mut rows = 0;
        for mut piece in stream.chunks(size) {
            while !piece.is_empty() {
                let (taken, event) = self.take(piece)?;
                assert!(taken > 0 || event != Event::None);
                piece = &piece[taken..];
                if event == Event::Chunk {
                    // SAFETY: the decoder is valid.
                    rows += unsafe { colonnade_decoder_rows(self.raw) };
                    self.columns()?;
                }
            }
        }
        // SAFETY: the pointers are valid.
        let status = unsafe { colonnade_decoder_finish(self.raw, &mut self.error) };
        self.checked(status).map(|()| rows)
    }
}

fn text(error: &ColonnadeError) -> String {
    CStr::from_bytes_until_nul(&error.message).unwrap().to_str().unwrap().to_owned()
}

/// The specification's vectors by name.
fn vectors(kind: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors").join(kind);
    let paths = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let paths = paths.filter(|path| path.extension().is_some_and(|extension| extension == "hex"));
    let vectors = paths.map(|path| {
        let text = std::fs::read_to_string(&path).unwrap();
        let digits: String = text.lines().map(|line| line.split('#').next().unwrap()).collect();
        let digits: Vec<u8> = digits.bytes().filter(u8::is_ascii_hexdigit).collect();
        let bytes = digits.chunks(2).map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap());
        (path.file_stem().unwrap().to_str().unwrap().to_owned(), bytes.collect())
    });
    vectors.collect()
}

fn vector(name: &str) -> Vec<u8> {
    vectors("good").into_iter().find(|(found, _)| found == name).unwrap().1
}

#[test]
fn good_vectors_are_read_in_pieces_of_any_size() {
    let vectors = vectors("good");
    assert!(vectors.len() > 50);
    for (name, stream) in vectors {
        let whole = Decoder::new().stream(&stream, stream.len());
        // A C string cannot contain the character.
        if let Err((status, message)) = &whole {
            assert_eq!((*status, &**message), (Status::Argument, "the name of a field has a NUL character"), "{name}");
        }
        for size in [1, 7, 64, 100] {
            assert_eq!(Decoder::new().stream(&stream, size), whole, "{name} {size}");
        }
    }
}

#[test]
fn bad_vectors_and_cut_streams_are_refused() {
    let vectors = vectors("bad");
    assert!(vectors.len() > 100);
    for (name, stream) in vectors {
        for size in [1, 50, stream.len().max(1)] {
            let (status, _) = Decoder::new().stream(&stream, size).unwrap_err();
            assert!(matches!(status, Status::Damaged | Status::Argument), "{name}");
        }
    }
    let stream = vector("types_null");
    for length in 0..stream.len() {
        assert_eq!(Decoder::new().stream(&stream[..length], 100).unwrap_err().0, Status::Damaged);
    }
    let trailing = [&stream[..], &[0]].concat();
    assert_eq!(Decoder::new().stream(&trailing, 1).unwrap_err().1, "unexpected bytes after the end");
}

#[test]
fn calls_out_of_order_are_errors() {
    let stream = vector("types_null");
    let mut decoder = Decoder::new();
    assert!(decoder.fields().is_empty());
    assert_eq!(decoder.columns().unwrap_err(), (Status::Argument, "there is no chunk".to_owned()));
    let (schema, event) = decoder.take(&stream).unwrap();
    assert_eq!((event, decoder.fields().len()), (Event::Schema, 1));
    assert_eq!(decoder.take(&stream[schema..]).unwrap().1, Event::Chunk);
    decoder.columns().unwrap();
    // SAFETY: the decoder is valid.
    assert_eq!(unsafe { colonnade_decoder_rows(decoder.raw) }, 3);
    // Its columns are decoded once.
    assert_eq!(decoder.columns().unwrap_err().0, Status::Argument);
}

fn field(name: &CStr, type_id: u8, parameter: u8, scale: i8, children: u32) -> ColonnadeField {
    ColonnadeField {
        name: name.as_ptr(),
        zone: null(),
        pairs: null(),
        pair_count: 0,
        children,
        type_id,
        nullable: 1,
        parameter,
        scale,
        ordered: 0,
    }
}

/// What the stream of the vector has, and whether a column of the type takes it.
fn accepts(stream: &[u8], expected: &[ColonnadeField]) -> Result<(), (String, String)> {
    let mut decoder = Decoder::new();
    decoder.take(stream).unwrap();
    let mut names = [0; 2].map(|_| ColonnadeError { message: [0; MESSAGE_LEN] });
    let [wanted, found] = &mut names;
    // SAFETY: the pointers are valid.
    let status = unsafe { colonnade_decoder_accepts(decoder.raw, 0, expected.as_ptr(), expected.len(), wanted, found) };
    if status == Status::Ok { Ok(()) } else { Err((text(wanted), text(found))) }
}

#[test]
fn types_are_compared_and_named() {
    let nulls = vector("types_null");
    assert_eq!(accepts(&nulls, &[field(c"n", 4, 0, 0, 0)]), Ok(()));
    assert_eq!(accepts(&nulls, &[field(c"n", 31, 0, 0, 1), field(c"item", 26, 0, 0, 0)]), Ok(()));
    let mut encoder = null_mut();
    let mut error = ColonnadeError { message: [0; MESSAGE_LEN] };
    let options = ColonnadeOptions {
        compression: null(),
        encodings: null(),
        codecs: null(),
        link: 0,
        estimate: ColonnadeLinkEstimate::default(),
    };
    let list = [field(c"a", 31, 0, 0, 1), field(c"item", 15, 12, 2, 0)];
    let mut message = ColonnadeMessage { slices: null(), count: 0, length: 0, rows: 0 };
    // SAFETY: all of it outlives the encoder, and the message is copied before it is destroyed.
    let schema = unsafe {
        let created = colonnade_encoder_create(&options, list.as_ptr(), list.len(), &mut encoder, &mut error);
        assert_eq!(created, Status::Ok);
        assert_eq!(colonnade_schema_message(encoder, &mut message, &mut error), Status::Ok);
        let slice = *message.slices;
        let schema = std::slice::from_raw_parts(slice.bytes, slice.length).to_vec();
        colonnade_encoder_destroy(encoder);
        schema
    };
    assert_eq!(accepts(&schema, &list), Ok(()));
    let names = |expected: &[ColonnadeField]| accepts(&schema, expected).unwrap_err();
    let found = "list(decimal128(12, 2))".to_owned();
    assert_eq!(names(&[field(c"a", 17, 0, 0, 0)]), ("date32".to_owned(), found.clone()));
    let dictionary = [field(c"a", 36, 6, 0, 1), field(c"values", 26, 0, 0, 0)];
    assert_eq!(names(&dictionary), ("dictionary(uint8, utf8)".to_owned(), found.clone()));
    let row = [field(c"a", 34, 0, 0, 2), field(c"x", 4, 0, 0, 0), field(c"y", 21, 2, 0, 0)];
    assert_eq!(names(&row), ("struct(x int32, y timestamp(us))".to_owned(), found));
}
