//! The types of columns, as the package asks for them: those that some destinations lack, and their kinds.

use arrow_schema::{DataType, Field};
use colonnade_client::arrow_stream::TYPE_KEY;

/// The kind of a column's values, by which `dtype` may name columns. `None` for other kinds, and for a text that stands
/// for a type that Arrow lacks.
pub(crate) fn kind(field: &Field) -> Option<&'static str> {
    if field.metadata().contains_key(TYPE_KEY) {
        return None;
    }
    let plain = match field.data_type() {
        DataType::Dictionary(_, values) => values,
        plain => plain,
    };
    Some(match plain {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "str",
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => "bytes",
        DataType::Boolean => "bool",
        DataType::Decimal128(..) | DataType::Decimal256(..) => "Decimal",
        DataType::Date32 | DataType::Date64 => "date",
        DataType::Timestamp(..) => "datetime",
        DataType::Time32(_) | DataType::Time64(_) => "time",
        integer if integer.is_integer() => "int",
        float if float.is_floating() => "float",
        _ => return None,
    })
}

/// Adds the names of the rare kinds of a type and of the types in it: nested, binary, interval, decimal256.
pub(crate) fn find_rare_types(data_type: &DataType, found: &mut Vec<&'static str>) {
    if data_type.is_nested() && !found.contains(&"nested") {
        found.push("nested");
    }
    match data_type {
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            found.push("binary");
        }
        DataType::Interval(_) => found.push("interval"),
        DataType::Decimal256(..) => found.push("decimal256"),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _)
        | DataType::RunEndEncoded(_, field) => find_rare_types(field.data_type(), found),
        DataType::Struct(fields) => fields.iter().for_each(|field| find_rare_types(field.data_type(), found)),
        DataType::Union(fields, _) => fields.iter().for_each(|(_, field)| find_rare_types(field.data_type(), found)),
        DataType::Dictionary(_, values) => find_rare_types(values, found),
        _ => {}
    }
}
