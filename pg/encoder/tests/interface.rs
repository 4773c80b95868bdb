//! Calls the C interface as C does, and decodes the messages.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says so by panicking")]

use std::ffi::{CStr, CString};
use std::ptr::{null, null_mut};

use bytes::Bytes;
use colonnade_encoder::*;
use colonnade_wire::{DataType, DecodeLimits, Decoder, Message, Totals, Values};

struct Encoder {
    raw: *mut ColonnadeEncoder,
    error: ColonnadeError,
}

impl Encoder {
    fn new(compression: &CStr, fields: &[ColonnadeField]) -> Result<Self, (Status, String)> {
        let options = ColonnadeOptions {
            compression: compression.as_ptr(),
            encodings: null(),
            codecs: null(),
            link: 0,
            estimate: ColonnadeLinkEstimate::default(),
        };
        let mut encoder = Self { raw: null_mut(), error: ColonnadeError { message: [0; MESSAGE_LEN] } };
        // SAFETY: all of it outlives the call.
        let status = unsafe {
            colonnade_encoder_create(&options, fields.as_ptr(), fields.len(), &mut encoder.raw, &mut encoder.error)
        };
        encoder.checked(status).map(|()| encoder)
    }

    fn checked(&self, status: Status) -> Result<(), (Status, String)> {
        let text = CStr::from_bytes_until_nul(&self.error.message).unwrap().to_str().unwrap();
        if status == Status::Ok { Ok(()) } else { Err((status, text.to_owned())) }
    }

    fn message(
        &mut self,
        call: impl FnOnce(*mut ColonnadeEncoder, *mut ColonnadeMessage, *mut ColonnadeError) -> Status,
    ) -> Result<Vec<u8>, (Status, String)> {
        let mut message = ColonnadeMessage { slices: null(), count: 0, length: 0, rows: 0 };
        let status = call(self.raw, &mut message, &mut self.error);
        self.checked(status)?;
        let mut bytes = vec![];
        for index in 0..message.count {
            // SAFETY: the slices are valid until the next call.
            unsafe {
                let slice = *message.slices.add(index);
                bytes.extend_from_slice(std::slice::from_raw_parts(slice.bytes, slice.length));
            }
        }
        assert_eq!(bytes.len(), message.length);
        Ok(bytes)
    }

    fn schema(&mut self) -> Vec<u8> {
        // SAFETY: the pointers are those of `message`.
        self.message(|encoder, message, error| unsafe { colonnade_schema_message(encoder, message, error) }).unwrap()
    }

    fn chunk(&mut self, rows: usize, columns: &[ColonnadeColumn]) -> Result<Vec<u8>, (Status, String)> {
        // SAFETY: the columns outlive the message.
        self.message(|encoder, message, error| unsafe {
            colonnade_encode_chunk(encoder, rows, columns.as_ptr(), columns.len(), message, error)
        })
    }

    fn adopt(&mut self, bytes: &[u8]) -> Result<Vec<u8>, (Status, String)> {
        // SAFETY: the bytes outlive the message.
        self.message(|encoder, message, error| unsafe {
            colonnade_adopt_chunk(encoder, bytes.as_ptr(), bytes.len(), message, error)
        })
    }

    fn end(&mut self) -> Vec<u8> {
        // SAFETY: the pointers are those of `message`.
        self.message(|encoder, message, error| unsafe { colonnade_end_message(encoder, message, error) }).unwrap()
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        // SAFETY: it is not used again.
        unsafe { colonnade_encoder_destroy(self.raw) };
    }
}

fn field(name: &CString, type_id: u8, children: u32) -> ColonnadeField {
    ColonnadeField {
        name: name.as_ptr(),
        zone: null(),
        pairs: null(),
        pair_count: 0,
        children,
        type_id,
        nullable: 1,
        parameter: 0,
        scale: 0,
        ordered: 0,
    }
}

fn column(rows: usize, validity: Option<&[u8]>, values: &[u8], data: &[u8]) -> ColonnadeColumn {
    ColonnadeColumn {
        rows,
        validity: validity.map_or(null(), <[u8]>::as_ptr),
        values: values.as_ptr(),
        values_length: values.len(),
        data: data.as_ptr(),
        data_length: data.len(),
    }
}

fn ints(values: impl IntoIterator<Item = i32>) -> Vec<u8> {
    values.into_iter().flat_map(i32::to_le_bytes).collect()
}

fn name(text: &str) -> CString {
    CString::new(text).unwrap()
}

#[test]
fn a_stream_of_every_shape_is_read_back() {
    let (key, value) = (name("colonnade.type"), name("tsvector"));
    let pairs = [ColonnadePair { key: key.as_ptr(), value: value.as_ptr() }];
    let names: Vec<CString> = ["n", "t", "l", "item", "s", "d", "z", "e", "labels"].map(name).into();
    let zone = name("UTC");
    let fields = [
        field(&names[0], 4, 0),
        ColonnadeField { pairs: pairs.as_ptr(), pair_count: 1, ..field(&names[1], 26, 0) },
        field(&names[2], 31, 1),
        field(&names[3], 4, 0),
        field(&names[4], 34, 2),
        ColonnadeField { parameter: 15, scale: 2, ..field(&names[5], 15, 0) },
        ColonnadeField { parameter: 2, zone: zone.as_ptr(), ..field(&names[6], 21, 0) },
        ColonnadeField { parameter: 6, ordered: 1, ..field(&names[7], 36, 1) },
        field(&names[8], 26, 0),
    ];
    let (numbers, offsets, items) = (ints([1, 2, 3]), ints([0, 1, 1, 3]), ints([7, 8, 9]));
    let (decimals, times, codes, labels) = ([1; 48], [2; 24], [1, 0, 1], ints([0, 3, 5]));
    let columns = [
        column(3, None, &numbers, &[]),
        column(3, Some(&[0b101]), &offsets, b"xyz"),
        column(3, None, &offsets, &[]),
        column(3, None, &items, &[]),
        column(3, Some(&[0b110]), &[], &[]),
        column(3, None, &decimals, &[]),
        column(3, None, &times, &[]),
        column(3, None, &codes, &[]),
        column(2, None, &labels, b"sadok"),
    ];
    for compression in [c"auto", c"plain", c"light", c"light+fsst+zstd-3"] {
        let mut encoder = Encoder::new(compression, &fields).unwrap();
        let mut decoder = Decoder::new(DecodeLimits::default());
        let Message::Schema(schema) = decoder.message(encoder.schema().into()).unwrap() else { panic!("no schema") };
        let types: Vec<DataType> = schema.fields.iter().map(|field| field.data_type.clone()).collect();
        assert_eq!(types[..3], [DataType::Int32, DataType::Utf8, DataType::List]);
        assert_eq!(schema.fields[1].metadata, [("colonnade.type".to_owned(), "tsvector".to_owned())]);
        for _ in 0..2 {
            let chunk = Bytes::from(encoder.chunk(3, &columns).unwrap());
            let Message::Chunk(chunk) = decoder.message(chunk).unwrap() else { panic!("no chunk") };
            let Values::Fixed(read) = chunk.column(0).unwrap().values else { panic!("no integers") };
            assert_eq!(read, numbers);
            let text = chunk.column(1).unwrap();
            assert!(!text.validity.unwrap().bit(1));
            let Values::Bytes { data, .. } = text.values else { panic!("no text") };
            assert_eq!(&data[..], b"xyz");
            let Values::Struct(parts) = chunk.column(3).unwrap().values else { panic!("no struct") };
            assert_eq!(parts.len(), 2);
            let Values::Dictionary { values, .. } = chunk.column(4).unwrap().values else { panic!("no dictionary") };
            assert_eq!(values.rows, 2);
        }
        decoder.message(encoder.end().into()).unwrap();
        assert_eq!(decoder.finish().unwrap(), Totals { rows: 6, chunks: 2 });
    }
}

#[test]
fn a_workers_chunk_becomes_the_leaders() {
    let n = name("n");
    let fields = [field(&n, 4, 0)];
    let numbers = ints(0..1000);
    let columns = [column(1000, None, &numbers, &[])];
    let mut leader = Encoder::new(c"plain", &fields).unwrap();
    let mut worker = Encoder::new(c"light", &fields).unwrap();
    let mut decoder = Decoder::new(DecodeLimits::default());
    decoder.message(leader.schema().into()).unwrap();
    for _ in 0..2 {
        let chunk = worker.chunk(1000, &columns).unwrap();
        decoder.message(leader.adopt(&chunk).unwrap().into()).unwrap();
        decoder.message(leader.chunk(1000, &columns).unwrap().into()).unwrap();
    }
    let (status, _) = leader.adopt(b"no chunk").unwrap_err();
    assert_eq!(status, Status::Damaged);
    decoder.message(leader.end().into()).unwrap();
    assert_eq!(decoder.finish().unwrap(), Totals { rows: 4000, chunks: 4 });
}

#[test]
fn a_stream_without_columns_has_rows() {
    let mut encoder = Encoder::new(c"light", &[]).unwrap();
    let mut decoder = Decoder::new(DecodeLimits::default());
    decoder.message(encoder.schema().into()).unwrap();
    decoder.message(encoder.chunk(5, &[]).unwrap().into()).unwrap();
    decoder.message(encoder.end().into()).unwrap();
    assert_eq!(decoder.finish().unwrap().rows, 5);
}

#[test]
fn mistakes_are_named_and_leave_the_encoder_usable() {
    let n = name("n");
    let fields = [field(&n, 4, 0)];
    let (status, text) = Encoder::new(c"snappy", &fields).err().unwrap();
    assert_eq!(status, Status::Argument);
    assert!(text.starts_with("compression \"snappy\" is not known"), "{text}");
    let (status, text) = Encoder::new(c"plain", &[field(&n, 99, 0)]).err().unwrap();
    assert_eq!((status, text.as_str()), (Status::Argument, "field \"n\": type 99 is not possible so"));
    let (status, _) = Encoder::new(c"plain", &[field(&n, 31, 1)]).err().unwrap();
    assert_eq!(status, Status::Argument);

    let numbers = ints([1, 2]);
    let mut encoder = Encoder::new(c"plain", &fields).unwrap();
    encoder.schema();
    for wrong in [vec![], vec![column(3, None, &numbers, &[])], vec![column(2, None, &numbers[..4], &[])]] {
        assert_eq!(encoder.chunk(wrong.first().map_or(1, |c| c.rows), &wrong).unwrap_err().0, Status::Argument);
    }
    let two = [column(2, None, &numbers, &[]), column(2, None, &numbers, &[])];
    assert_eq!(encoder.chunk(2, &two).unwrap_err().0, Status::Argument);
    assert!(encoder.chunk(2, &two[..1]).is_ok());
}

#[test]
fn configurations_are_checked() {
    let mut error = ColonnadeError { message: [0; MESSAGE_LEN] };
    // SAFETY: the strings are NUL-terminated.
    let mut check = |text: &CStr| unsafe { colonnade_check_compression(text.as_ptr(), &mut error) };
    assert_eq!(check(c"auto"), Status::Ok);
    assert_eq!(check(c"light+zstd-3"), Status::Ok);
    assert_eq!(check(c"light+zstd-99"), Status::Argument);
    assert_eq!(check(c"\xff"), Status::Argument);
    // SAFETY: nothing to destroy.
    unsafe { colonnade_encoder_destroy(null_mut()) };
}
