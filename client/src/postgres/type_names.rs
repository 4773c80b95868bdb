//! PostgreSQL's names of the types of a result's columns.

use colonnade_wire::Field;

use crate::TYPE_NAME_KEY;

/// The numbers of types and of their arrays, and the names of the types: `pg_type.dat`. They are the same in all
/// versions.
const NAMES: [(u32, u32, &str); 41] = [
    (16, 1000, "bool"),
    (17, 1001, "bytea"),
    (18, 1002, "char"),
    (19, 1003, "name"),
    (20, 1016, "int8"),
    (21, 1005, "int2"),
    (23, 1007, "int4"),
    (25, 1009, "text"),
    (26, 1028, "oid"),
    (114, 199, "json"),
    (142, 143, "xml"),
    (600, 1017, "point"),
    (650, 651, "cidr"),
    (700, 1021, "float4"),
    (701, 1022, "float8"),
    (774, 775, "macaddr8"),
    (790, 791, "money"),
    (829, 1040, "macaddr"),
    (869, 1041, "inet"),
    (1042, 1014, "bpchar"),
    (1043, 1015, "varchar"),
    (1082, 1182, "date"),
    (1083, 1183, "time"),
    (1114, 1115, "timestamp"),
    (1184, 1185, "timestamptz"),
    (1186, 1187, "interval"),
    (1266, 1270, "timetz"),
    (1560, 1561, "bit"),
    (1562, 1563, "varbit"),
    (1700, 1231, "numeric"),
    (2950, 2951, "uuid"),
    (3220, 3221, "pg_lsn"),
    (3614, 3643, "tsvector"),
    (3615, 3645, "tsquery"),
    (3802, 3807, "jsonb"),
    (3904, 3905, "int4range"),
    (3906, 3907, "numrange"),
    (3908, 3909, "tsrange"),
    (3910, 3911, "tstzrange"),
    (3912, 3913, "daterange"),
    (3926, 3927, "int8range"),
];

/// Writes the name of a column's type into its metadata, if the type is built in. An array's has an underscore before
/// that of its items.
pub(super) fn note(field: &mut Field, type_oid: u32) {
    let name = NAMES.iter().find_map(|(scalar, array, name)| match type_oid {
        oid if oid == *scalar => Some((*name).to_owned()),
        oid if oid == *array => Some(format!("_{name}")),
        _ => None,
    });
    field.metadata.extend(name.map(|name| (TYPE_NAME_KEY.to_owned(), name)));
}

#[cfg(test)]
mod tests {
    use colonnade_wire::DataType;

    use super::*;

    #[test]
    fn only_types_that_are_built_in_have_a_name() {
        for (type_oid, name) in [(2950, Some("uuid")), (2951, Some("_uuid")), (16_385, None)] {
            let mut field = Field::new("a", DataType::Utf8, true);
            note(&mut field, type_oid);
            assert_eq!(
                field.metadata.first().map(|(key, name)| (key.as_str(), name.as_str())),
                name.map(|name| (TYPE_NAME_KEY, name))
            );
        }
    }
}
