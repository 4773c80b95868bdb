//! The types of a table's columns: which one a new column gets, and what an existing one accepts.
//! TYPES.md, "Writing".

use super::ServerFamily;
use crate::write::kind::ColumnMeaning;

/// The most digits that dates and times have after the point.
const MAX_DIGITS: u32 = 6;
/// The most digits of a DECIMAL.
const MAX_PRECISION: u8 = 65;
/// The most bytes of InnoDB's keys.
const KEY_BYTES: usize = 3072;
/// The most bytes of a key's column that is neither text nor binary: those of DECIMAL with 65 digits, and some to
/// spare.
const NUMBER_BYTES: usize = 32;
const BYTES_OF_A_CHARACTER: usize = 4;
/// The characters of a UUID.
const UUID_LENGTH: usize = 36;
/// Character sets that hold every character that they accept, and give it back as it was. `latin1` is cp1252.
const CHARACTER_SETS: [&str; 9] =
    ["utf8mb4", "utf8mb3", "utf8", "ucs2", "utf16", "utf16le", "utf32", "latin1", "ascii"];
const UTF8MB4: &str = "utf8mb4";

/// A column's type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ColumnType {
    Integer {
        bits: u8,
        signed: bool,
    },
    Bit(u8),
    Year,
    Float {
        signed: bool,
    },
    Double {
        signed: bool,
    },
    Decimal {
        precision: u8,
        scale: u8,
        signed: bool,
    },
    Date,
    /// The microseconds between two values, as for all times below.
    Time(i64),
    DateTime(i64),
    Timestamp(i64),
    /// CHAR drops spaces at the end.
    Char {
        most: usize,
        set: TextSet,
    },
    Varchar {
        most: usize,
        set: TextSet,
    },
    /// TEXT of any size, and its most bytes.
    Text {
        bytes: u64,
        set: TextSet,
    },
    Enum {
        labels: Vec<String>,
        set: TextSet,
    },
    Set {
        labels: Vec<String>,
        set: TextSet,
    },
    /// BINARY fills up with zeros.
    Binary(usize),
    Varbinary(usize),
    Blob(u64),
    Uuid,
}

/// The character set of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextSet {
    /// The server stores the bytes of UTF-8 as they are.
    Utf8mb4,
    /// The server must convert them.
    Other,
}

impl TextSet {
    /// The character set of a collation, whose name begins with it.
    fn of(collation: Option<&str>) -> Option<Self> {
        let set = collation?.split('_').next().unwrap_or_default();
        match set {
            UTF8MB4 => Some(Self::Utf8mb4),
            _ => CHARACTER_SETS.contains(&set).then_some(Self::Other),
        }
    }
}

impl ColumnType {
    /// The type that `SHOW COLUMNS` names, if this client writes it.
    pub(super) fn of(name: &str, collation: Option<&str>) -> Option<Self> {
        let (base, arguments, attributes) = parts(name)?;
        let mut signed = true;
        for attribute in attributes.split(' ').filter(|attribute| !attribute.is_empty()) {
            match attribute {
                "unsigned" | "zerofill" => signed = false,
                _ => return None,
            }
        }
        let number = || arguments.parse::<usize>().ok();
        let set = || TextSet::of(collation);
        let integer = |bits| Some(Self::Integer { bits, signed });
        match base {
            "tinyint" => integer(8),
            "smallint" => integer(16),
            "mediumint" => integer(24),
            "int" => integer(32),
            "bigint" => integer(64),
            "bit" => Some(Self::Bit(u8::try_from(number()?).ok().filter(|bits| (1..=64).contains(bits))?)),
            // YEAR(2) is another type.
            "year" => matches!(arguments, "" | "4").then_some(Self::Year),
            // FLOAT(7,2) rounds.
            "float" => arguments.is_empty().then_some(Self::Float { signed }),
            "double" => arguments.is_empty().then_some(Self::Double { signed }),
            "decimal" => {
                let (precision, scale) = arguments.split_once(',')?;
                Some(Self::Decimal { precision: precision.parse().ok()?, scale: scale.parse().ok()?, signed })
            }
            "date" => Some(Self::Date),
            "time" => Some(Self::Time(step(arguments)?)),
            "datetime" => Some(Self::DateTime(step(arguments)?)),
            "timestamp" => Some(Self::Timestamp(step(arguments)?)),
            "char" => Some(Self::Char { most: number()?, set: set()? }),
            "varchar" => Some(Self::Varchar { most: number()?, set: set()? }),
            "tinytext" => Some(Self::Text { bytes: 0xff, set: set()? }),
            "text" => Some(Self::Text { bytes: 0xffff, set: set()? }),
            "mediumtext" => Some(Self::Text { bytes: 0xff_ffff, set: set()? }),
            "longtext" => Some(Self::Text { bytes: 0xffff_ffff, set: set()? }),
            "enum" => Some(Self::Enum { labels: labels(arguments)?, set: set()? }),
            "set" => Some(Self::Set { labels: labels(arguments)?, set: set()? }),
            "binary" => Some(Self::Binary(number()?)),
            "varbinary" => Some(Self::Varbinary(number()?)),
            "tinyblob" => Some(Self::Blob(0xff)),
            "blob" => Some(Self::Blob(0xffff)),
            "mediumblob" => Some(Self::Blob(0xff_ffff)),
            "longblob" => Some(Self::Blob(0xffff_ffff)),
            "uuid" => Some(Self::Uuid),
            // Among them MySQL's JSON, which changes the text.
            _ => None,
        }
    }

    /// Whether values can be written exactly, or are refused one by one.
    pub(super) fn accepts(&self, meaning: &ColumnMeaning) -> bool {
        use ColumnMeaning as M;
        match (self, meaning) {
            (_, M::Null)
            | (Self::Integer { bits: 8, .. } | Self::Bit(1), M::Bool)
            | (Self::Integer { .. } | Self::Year, M::Integer { .. })
            | (Self::Float { .. } | Self::Double { .. }, M::Float { .. } | M::Integer { .. })
            | (Self::Decimal { .. }, M::Decimal { .. } | M::Integer { .. })
            | (Self::Date, M::Date { .. })
            | (Self::Time(_), M::Time { .. } | M::Duration { .. })
            | (Self::DateTime(_), M::Timestamp { zoned: false, .. })
            | (Self::Timestamp(_), M::Timestamp { zoned: true, .. })
            | (Self::Text { .. }, M::Text | M::Json)
            | (Self::Char { .. } | Self::Varchar { .. } | Self::Enum { .. } | Self::Set { .. }, M::Text)
            | (Self::Binary(_) | Self::Varbinary(_) | Self::Blob(_), M::Bytes)
            | (Self::Uuid, M::Uuid | M::Text)
            | (Self::Char { most: UUID_LENGTH, .. }, M::Uuid) => true,
            (Self::Bit(bits), M::Integer { .. }) => *bits > 1,
            _ => false,
        }
    }

    /// Whether the server must convert the bytes of a file to text, because it would misread them.
    pub(super) fn is_converted(&self) -> bool {
        matches!(
            self,
            // MariaDB would take the bytes of a file for those of the UUID.
            Self::Uuid
                | Self::Char { set: TextSet::Other, .. }
                | Self::Varchar { set: TextSet::Other, .. }
                | Self::Text { set: TextSet::Other, .. }
                | Self::Enum { set: TextSet::Other, .. }
                | Self::Set { set: TextSet::Other, .. }
        )
    }

    /// Whether the server compares values by a collation, in which different texts may be equal.
    pub(super) fn is_collated(&self) -> bool {
        matches!(self, Self::Char { .. } | Self::Varchar { .. } | Self::Text { .. })
    }

    /// The type for an error's message.
    pub(super) fn name(&self) -> String {
        let sign = |name: &str, signed: &bool| if *signed { name.to_owned() } else { format!("{name} unsigned") };
        match self {
            Self::Integer { bits: 8, signed } => sign("tinyint", signed),
            Self::Integer { bits: 16, signed } => sign("smallint", signed),
            Self::Integer { bits: 24, signed } => sign("mediumint", signed),
            Self::Integer { bits: 32, signed } => sign("int", signed),
            Self::Integer { signed, .. } => sign("bigint", signed),
            Self::Bit(bits) => format!("bit({bits})"),
            Self::Year => "year".to_owned(),
            Self::Float { signed } => sign("float", signed),
            Self::Double { signed } => sign("double", signed),
            Self::Decimal { precision, scale, signed } => sign(&format!("decimal({precision},{scale})"), signed),
            Self::Date => "date".to_owned(),
            Self::Time(step) => format!("time({})", digits(*step)),
            Self::DateTime(step) => format!("datetime({})", digits(*step)),
            Self::Timestamp(step) => format!("timestamp({})", digits(*step)),
            Self::Char { most, .. } => format!("char({most})"),
            Self::Varchar { most, .. } => format!("varchar({most})"),
            Self::Text { bytes, .. } => format!("a text column of at most {bytes} bytes"),
            Self::Enum { .. } => "an enum".to_owned(),
            Self::Set { .. } => "a set".to_owned(),
            Self::Binary(length) => format!("binary({length})"),
            Self::Varbinary(length) => format!("varbinary({length})"),
            Self::Blob(bytes) => format!("a blob column of at most {bytes} bytes"),
            Self::Uuid => "uuid".to_owned(),
        }
    }
}

/// The name, the arguments and the attributes of a type, as in `int(5) unsigned`.
fn parts(name: &str) -> Option<(&str, &str, &str)> {
    let end = name.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(name.len());
    let (base, rest) = name.split_at(end);
    match rest.strip_prefix('(') {
        Some(rest) => rest.rsplit_once(')').map(|(arguments, attributes)| (base, arguments, attributes)),
        None => Some((base, "", rest)),
    }
}

fn step(arguments: &str) -> Option<i64> {
    let digits = if arguments.is_empty() { 0 } else { arguments.parse().ok()? };
    Some(10i64.pow(MAX_DIGITS.checked_sub(digits)?))
}

fn digits(step: i64) -> u32 {
    MAX_DIGITS - step.ilog10()
}

/// The labels of an enum or a set, as in `'a','it''s'`. Servers differ in how they show a backslash.
fn labels(arguments: &str) -> Option<Vec<String>> {
    if arguments.contains('\\') {
        return None;
    }
    let inner = arguments.strip_prefix('\'')?.strip_suffix('\'')?;
    let (mut labels, mut label) = (Vec::new(), String::new());
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        if letter != '\'' {
            label.push(letter);
            continue;
        }
        match letters.next()? {
            '\'' => label.push('\''),
            ',' if letters.next() == Some('\'') => labels.push(std::mem::take(&mut label)),
            _ => return None,
        }
    }
    labels.push(label);
    Some(labels)
}

/// How many bytes each text and each binary column of a new key may have; `long` is their number, `others` that of the
/// other columns.
pub(super) fn key_bytes(long: usize, others: usize) -> usize {
    KEY_BYTES.saturating_sub(others * NUMBER_BYTES) / long.max(1)
}

/// The type that a new column gets, if one holds the values exactly. A column of the key needs a limited length, and is
/// compared by its bytes; `key_bytes` is how many it may have.
pub(super) fn created(meaning: &ColumnMeaning, family: ServerFamily, key_bytes: Option<usize>) -> Option<String> {
    let name = match meaning {
        ColumnMeaning::Bool => "BIT(1)",
        ColumnMeaning::Integer { bits: 8, signed: true } => "TINYINT",
        ColumnMeaning::Integer { bits: 16, signed: true } => "SMALLINT",
        ColumnMeaning::Integer { bits: 32, signed: true } => "INT",
        ColumnMeaning::Integer { signed: true, .. } => "BIGINT",
        ColumnMeaning::Integer { bits: 8, .. } => "TINYINT UNSIGNED",
        ColumnMeaning::Integer { bits: 16, .. } => "SMALLINT UNSIGNED",
        ColumnMeaning::Integer { bits: 32, .. } => "INT UNSIGNED",
        ColumnMeaning::Integer { .. } => "BIGINT UNSIGNED",
        ColumnMeaning::Float { bits: 64 } => "DOUBLE",
        ColumnMeaning::Float { .. } => "FLOAT",
        ColumnMeaning::Decimal { precision, scale } => {
            let fits = *precision <= MAX_PRECISION && *scale <= family.max_scale();
            return fits.then(|| format!("DECIMAL({precision},{scale})"));
        }
        ColumnMeaning::Text if let Some(bytes) = key_bytes => {
            let most = bytes / BYTES_OF_A_CHARACTER;
            return Some(format!("VARCHAR({most}) CHARACTER SET utf8mb4 COLLATE {}", family.exact_collation()?));
        }
        ColumnMeaning::Bytes if let Some(bytes) = key_bytes => return Some(format!("VARBINARY({bytes})")),
        // A JSON of MySQL's drops spaces, the order and repetitions of keys.
        ColumnMeaning::Json if family.is_mariadb() => "JSON",
        ColumnMeaning::Null | ColumnMeaning::Text | ColumnMeaning::Json => "LONGTEXT CHARACTER SET utf8mb4",
        ColumnMeaning::Bytes => "LONGBLOB",
        ColumnMeaning::Uuid if family.has_uuid() => "UUID",
        ColumnMeaning::Uuid => "CHAR(36) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        ColumnMeaning::Date { .. } => "DATE",
        ColumnMeaning::Time { .. } | ColumnMeaning::Duration { .. } => "TIME(6)",
        ColumnMeaning::Timestamp { zoned: false, .. } => "DATETIME(6)",
        ColumnMeaning::Timestamp { zoned: true, .. } => "TIMESTAMP(6)",
        ColumnMeaning::Interval | ColumnMeaning::List(_) => return None,
    };
    Some(name.to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn types_are_read_as_servers_show_them() {
        let of = |name| ColumnType::of(name, Some("utf8mb4_general_ci"));
        assert_eq!(of("int(11)"), Some(ColumnType::Integer { bits: 32, signed: true }));
        assert_eq!(of("int unsigned"), Some(ColumnType::Integer { bits: 32, signed: false }));
        assert_eq!(of("int(5) unsigned zerofill"), Some(ColumnType::Integer { bits: 32, signed: false }));
        assert_eq!(of("decimal(5,2) unsigned"), Some(ColumnType::Decimal { precision: 5, scale: 2, signed: false }));
        assert_eq!(of("timestamp(3)"), Some(ColumnType::Timestamp(1000)));
        assert_eq!(of("time").unwrap().name(), "time(0)");
        for other in ["float(7,2)", "double(9,1)", "json", "point", "inet6", "year(2)", "text /*M!100301 COMPRESSED*/"]
        {
            assert_eq!(of(other), None, "{other}");
        }
    }

    #[test]
    fn a_character_set_is_that_of_the_collation() {
        let varchar = |collation| ColumnType::of("varchar(3)", collation);
        assert_eq!(varchar(Some("utf8mb4_bin")), Some(ColumnType::Varchar { most: 3, set: TextSet::Utf8mb4 }));
        assert!(varchar(Some("latin1_swedish_ci")).unwrap().is_converted());
        assert_eq!(varchar(Some("sjis_bin")), None);
        assert_eq!(varchar(None), None);
    }

    #[test]
    fn labels_are_read() {
        assert_eq!(labels("'a','it''s','',','"), Some(["a", "it's", "", ","].map(str::to_owned).to_vec()));
        assert_eq!(labels("'a','b\\\\c'"), None);
        assert_eq!(labels("'a' 'b'"), None);
    }
}
