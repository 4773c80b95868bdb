//! Columns as other ADBC drivers have them: the database's names of types in the metadata, and Arrow's extension types.
//! <https://arrow.apache.org/docs/format/CanonicalExtensions.html>
//!
//! A UUID, which the client has as text, becomes sixteen bytes, because Arrow's type for it demands them.

use std::sync::Arc;

use arrow_array::builder::FixedSizeBinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, RecordBatch, RecordBatchOptions};
use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use colonnade_client::{
    self as client, Batch, Connection, ContinueCheck, ErrorKind, QueryOptions, ResultStream, Stats, TYPE_NAME_KEY,
    limited,
};

/// The client's key of a column that has text instead of a type that Arrow lacks. TYPES.md.
const AS_TEXT_KEY: &str = "colonnade.type";
/// The key that ADBC's PostgreSQL driver had before there was one for all databases. It is that of types which Arrow
/// lacks.
const POSTGRESQL_KEY: &str = "ADBC:postgresql:typname";
const UUID_BYTES: usize = 16;

/// A result of the client's within the limit of its options, with the metadata and the types that columns have in this
/// driver.
pub(crate) fn stream(
    stream: Box<dyn ResultStream>,
    source: &dyn Connection,
    options: &QueryOptions,
) -> Box<dyn ResultStream> {
    let stream = match options.max_result_bytes {
        Some(most) => limited(stream, most),
        None => stream,
    };
    let schema = Arc::new(schema(stream.schema(), source));
    Box::new(TypedStream { stream, schema })
}

/// The database's name and version.
pub(crate) fn vendor(source: &dyn Connection) -> (String, Option<String>) {
    let server = source.server();
    match server.split_once(' ') {
        // `colonnade serve` says PostgreSQL's version, and in parentheses its own and that of the engine.
        Some(_) if server.starts_with(|first: char| first.is_ascii_digit()) => {
            ("Colonnade".to_owned(), Some(server.to_owned()))
        }
        Some((name, version)) => (name.to_owned(), Some(version.to_owned())),
        None => (server.to_owned(), None),
    }
}

struct TypedStream {
    stream: Box<dyn ResultStream>,
    schema: SchemaRef,
}

impl ResultStream for TypedStream {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn next(&mut self, keep: ContinueCheck<'_>) -> Result<Option<Batch>, client::Error> {
        let Some(batch) = self.stream.next(keep)? else { return Ok(None) };
        batch.decode().and_then(|batch| retyped(&batch, &self.schema)).map(|batch| Some(batch.into()))
    }

    fn stats(&self) -> Stats {
        self.stream.stats()
    }
}

/// The columns that a result of the client's has in this driver.
pub(crate) fn schema(schema: &Schema, source: &dyn Connection) -> Schema {
    named(schema, &vendor(source).0)
}

fn named(schema: &Schema, vendor: &str) -> Schema {
    let fields = schema.fields().iter().map(|column| {
        let name = column.metadata().get(TYPE_NAME_KEY).map(|name| name.as_str());
        field(column, name, vendor)
    });
    Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone())
}

fn field(given: &FieldRef, type_name: Option<&str>, vendor: &str) -> FieldRef {
    let Some(type_name) = type_name else { return given.clone() };
    let mut metadata = given.metadata().clone();
    metadata.remove(TYPE_NAME_KEY);
    metadata.insert(format!("{}:type", vendor.to_uppercase()), type_name.to_owned());
    let is_as_text = metadata.contains_key(AS_TEXT_KEY);
    if is_as_text && vendor == "PostgreSQL" {
        metadata.insert(POSTGRESQL_KEY.to_owned(), type_name.to_owned());
    }
    let mut data_type = given.data_type().clone();
    match (type_name, &data_type) {
        ("uuid", DataType::Utf8) if !is_as_text => {
            metadata.insert(EXTENSION_TYPE_NAME_KEY.to_owned(), "arrow.uuid".to_owned());
            data_type = DataType::FixedSizeBinary(UUID_BYTES as i32);
        }
        ("json" | "jsonb", DataType::Utf8) => {
            metadata.insert(EXTENSION_TYPE_NAME_KEY.to_owned(), "arrow.json".to_owned());
            metadata.insert(EXTENSION_TYPE_METADATA_KEY.to_owned(), String::new());
        }
        // PostgreSQL's names of arrays.
        (_, DataType::List(item)) => data_type = DataType::List(field(item, type_name.strip_prefix('_'), vendor)),
        _ => {}
    }
    Arc::new(Field::new(given.name(), data_type, given.is_nullable()).with_metadata(metadata))
}

/// The batch with the columns of [`schema`].
fn retyped(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, client::Error> {
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| array(column, field.data_type())).collect::<Option<_>>();
    let wrong = || client::Error::new(ErrorKind::Protocol, "a UUID of the database is none");
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let batch = RecordBatch::try_new_with_options(schema.clone(), columns.ok_or_else(wrong)?, &options);
    batch.map_err(|cause| {
        client::Error::new(ErrorKind::Protocol, "a column of another type than its field").with_cause(cause)
    })
}

/// The array as one of this type; `None` if a text is no UUID.
fn array(given: &ArrayRef, data_type: &DataType) -> Option<ArrayRef> {
    match data_type {
        given_type if given_type == given.data_type() => Some(given.clone()),
        DataType::FixedSizeBinary(_) => uuids(given),
        DataType::List(item) => {
            let list = given.as_list_opt::<i32>()?;
            let values = array(list.values(), item.data_type())?;
            let list = ListArray::try_new(item.clone(), list.offsets().clone(), values, list.nulls().cloned());
            Some(Arc::new(list.ok()?))
        }
        _ => None,
    }
}

fn uuids(given: &ArrayRef) -> Option<ArrayRef> {
    let texts = given.as_string_opt::<i32>()?;
    let mut uuids = FixedSizeBinaryBuilder::with_capacity(texts.len(), UUID_BYTES as i32);
    for text in texts {
        match text {
            None => uuids.append_null(),
            Some(text) => uuids.append_value(uuid(text)?).ok()?,
        }
    }
    Some(Arc::new(uuids.finish()))
}

/// The bytes of 32 hexadecimal digits, in groups of 8, 4, 4, 4 and 12.
fn uuid(text: &str) -> Option<[u8; UUID_BYTES]> {
    /// Where the two digits of each byte begin, and where hyphens stand.
    const DIGITS: [usize; UUID_BYTES] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
    const HYPHENS: [usize; 4] = [8, 13, 18, 23];
    let text = <&[u8; 36]>::try_from(text.as_bytes()).ok()?;
    let digit = |place: usize| char::from(text[place]).to_digit(16);
    let mut bytes = [0; UUID_BYTES];
    for (byte, place) in bytes.iter_mut().zip(DIGITS) {
        *byte = (digit(place)? << 4 | digit(place + 1)?) as u8;
    }
    HYPHENS.iter().all(|place| text[*place] == b'-').then_some(bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use arrow_array::StringArray;
    use arrow_buffer::OffsetBuffer;

    use super::*;

    const TEXT: &str = "00112233-4455-6677-8899-aAbBcCdDeEfF";

    #[test]
    fn a_uuid_has_its_bytes() {
        assert_eq!(uuid(TEXT).unwrap().iter().map(|byte| byte / 17).collect::<Vec<_>>(), (0..16).collect::<Vec<_>>());
        for wrong in
            ["", "00112233445566778899aabbccddeeff", &TEXT[1..], &TEXT.replace('1', "-"), &TEXT.replace('1', "x")]
        {
            assert_eq!(uuid(wrong), None, "{wrong}");
        }
    }

    fn column(name: &str, data_type: DataType, metadata: &[(&str, &str)]) -> Field {
        let metadata = metadata.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        Field::new(name, data_type, true).with_metadata(metadata.collect::<std::collections::HashMap<_, _>>())
    }

    #[test]
    fn columns_have_the_types_and_the_keys_of_other_drivers() {
        let item = Arc::new(Field::new("item", DataType::Utf8, true));
        let texts: ArrayRef = Arc::new(StringArray::from(vec![Some(TEXT), None]));
        let list = ListArray::new(item.clone(), OffsetBuffer::new(vec![0, 2, 2].into()), texts.clone(), None);
        let given = Schema::new(vec![
            column("u", DataType::Utf8, &[(TYPE_NAME_KEY, "uuid")]),
            column("l", DataType::List(item), &[(TYPE_NAME_KEY, "_uuid")]),
            column("j", DataType::Utf8, &[(TYPE_NAME_KEY, "jsonb")]),
            column("t", DataType::Utf8, &[(TYPE_NAME_KEY, "uuid"), (AS_TEXT_KEY, "uuid")]),
            column("o", DataType::Utf8, &[]),
        ]);
        let columns = vec![texts.clone(), Arc::new(list), texts.clone(), texts.clone(), texts];
        let batch = RecordBatch::try_new(Arc::new(given.clone()), columns).unwrap();
        let schema = Arc::new(named(&given, "PostgreSQL"));
        let batch = retyped(&batch, &schema).unwrap();
        let bytes = uuid(TEXT).unwrap();
        assert_eq!(batch.column(0).as_fixed_size_binary().iter().collect::<Vec<_>>(), [Some(&bytes[..]), None]);
        let list = batch.column(1).as_list::<i32>();
        assert_eq!((list.value_length(0), list.value_length(1)), (2, 0));
        assert_eq!(list.values().as_fixed_size_binary().value(0), bytes);
        let of = |field: &Field, key: &str| field.metadata().get(key).map(|value| value.to_string());
        let extensions: Vec<_> = schema.fields().iter().map(|field| of(field, EXTENSION_TYPE_NAME_KEY)).collect();
        assert_eq!(extensions, [Some("arrow.uuid".to_owned()), None, Some("arrow.json".to_owned()), None, None]);
        let names: Vec<_> = schema.fields().iter().map(|field| of(field, "POSTGRESQL:type")).collect();
        assert_eq!(
            names.into_iter().map(Option::unwrap_or_default).collect::<Vec<_>>(),
            ["uuid", "_uuid", "jsonb", "uuid", ""]
        );
        assert_eq!(of(schema.field(3), POSTGRESQL_KEY), Some("uuid".to_owned()));
        assert_eq!(schema.field(4), given.field(4));
        let DataType::List(item) = schema.field(1).data_type() else { unreachable!() };
        assert_eq!(of(item, EXTENSION_TYPE_NAME_KEY).as_deref(), Some("arrow.uuid"));
    }

    #[test]
    fn a_text_that_is_no_uuid_is_an_error() {
        let given = Arc::new(Schema::new(vec![column("u", DataType::Utf8, &[(TYPE_NAME_KEY, "uuid")])]));
        let batch = RecordBatch::try_new(given.clone(), vec![Arc::new(StringArray::from(vec!["x"]))]).unwrap();
        assert_eq!(retyped(&batch, &Arc::new(named(&given, "MariaDB"))).unwrap_err().kind(), ErrorKind::Protocol);
    }
}
