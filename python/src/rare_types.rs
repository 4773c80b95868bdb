//! Types that some destinations lack.

use arrow_schema::DataType;

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
