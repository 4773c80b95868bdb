//! PostgreSQL's error codes (Appendix A of its manual), which drivers map to their own classes.

use std::fmt;

/// An error code of five characters.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SqlState([u8; 5]);

impl SqlState {
    /// The code with these five characters. Another length gives the code of an internal error.
    pub const fn new(code: &str) -> Self {
        match *code.as_bytes() {
            [a, b, c, d, e] => Self([a, b, c, d, e]),
            _ => Self(*b"XX000"),
        }
    }

    /// Parses the code of another database; `None` if it is not an SQLSTATE.
    pub fn parse(code: &str) -> Option<Self> {
        let is_one = code.len() == 5 && code.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
        is_one.then(|| Self::new(code))
    }

    /// Its five characters.
    pub fn as_str(&self) -> &str {
        // They are ASCII.
        std::str::from_utf8(&self.0).unwrap_or("XX000")
    }
}

impl fmt::Debug for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[allow(missing_docs, reason = "the names are those of PostgreSQL's Appendix A")]
impl SqlState {
    pub const WARNING: Self = Self::new("01000");
    pub const FEATURE_NOT_SUPPORTED: Self = Self::new("0A000");
    pub const PROTOCOL_VIOLATION: Self = Self::new("08P01");
    pub const CARDINALITY_VIOLATION: Self = Self::new("21000");
    pub const DATA_EXCEPTION: Self = Self::new("22000");
    pub const NUMERIC_VALUE_OUT_OF_RANGE: Self = Self::new("22003");
    pub const DATETIME_FIELD_OVERFLOW: Self = Self::new("22008");
    pub const DIVISION_BY_ZERO: Self = Self::new("22012");
    pub const INVALID_PARAMETER_VALUE: Self = Self::new("22023");
    pub const INVALID_ESCAPE_SEQUENCE: Self = Self::new("22025");
    pub const INVALID_TEXT_REPRESENTATION: Self = Self::new("22P02");
    pub const INTEGRITY_CONSTRAINT_VIOLATION: Self = Self::new("23000");
    pub const NOT_NULL_VIOLATION: Self = Self::new("23502");
    pub const FOREIGN_KEY_VIOLATION: Self = Self::new("23503");
    pub const UNIQUE_VIOLATION: Self = Self::new("23505");
    pub const CHECK_VIOLATION: Self = Self::new("23514");
    pub const INVALID_TRANSACTION_STATE: Self = Self::new("25000");
    pub const ACTIVE_SQL_TRANSACTION: Self = Self::new("25001");
    pub const READ_ONLY_SQL_TRANSACTION: Self = Self::new("25006");
    pub const NO_ACTIVE_SQL_TRANSACTION: Self = Self::new("25P01");
    pub const IN_FAILED_SQL_TRANSACTION: Self = Self::new("25P02");
    pub const DEPENDENT_OBJECTS_STILL_EXIST: Self = Self::new("2BP01");
    pub const INVALID_CATALOG_NAME: Self = Self::new("3D000");
    pub const INVALID_SCHEMA_NAME: Self = Self::new("3F000");
    pub const DEADLOCK_DETECTED: Self = Self::new("40P01");
    pub const SERIALIZATION_FAILURE: Self = Self::new("40001");
    pub const SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION: Self = Self::new("42000");
    pub const INSUFFICIENT_PRIVILEGE: Self = Self::new("42501");
    pub const SYNTAX_ERROR: Self = Self::new("42601");
    pub const DUPLICATE_COLUMN: Self = Self::new("42701");
    pub const AMBIGUOUS_COLUMN: Self = Self::new("42702");
    pub const UNDEFINED_COLUMN: Self = Self::new("42703");
    pub const UNDEFINED_OBJECT: Self = Self::new("42704");
    pub const DUPLICATE_OBJECT: Self = Self::new("42710");
    pub const GROUPING_ERROR: Self = Self::new("42803");
    pub const DATATYPE_MISMATCH: Self = Self::new("42804");
    pub const WRONG_OBJECT_TYPE: Self = Self::new("42809");
    pub const DUPLICATE_FUNCTION: Self = Self::new("42723");
    pub const UNDEFINED_FUNCTION: Self = Self::new("42883");
    pub const UNDEFINED_TABLE: Self = Self::new("42P01");
    pub const UNDEFINED_PARAMETER: Self = Self::new("42P02");
    pub const DUPLICATE_SCHEMA: Self = Self::new("42P06");
    pub const DUPLICATE_TABLE: Self = Self::new("42P07");
    pub const INVALID_FUNCTION_DEFINITION: Self = Self::new("42P13");
    pub const INDETERMINATE_DATATYPE: Self = Self::new("42P18");
    pub const TOO_MANY_CONNECTIONS: Self = Self::new("53300");
    pub const DISK_FULL: Self = Self::new("53100");
    pub const OUT_OF_MEMORY: Self = Self::new("53200");
    pub const PROGRAM_LIMIT_EXCEEDED: Self = Self::new("54000");
    pub const STATEMENT_TOO_COMPLEX: Self = Self::new("54001");
    pub const TOO_MANY_COLUMNS: Self = Self::new("54011");
    pub const OBJECT_NOT_IN_PREREQUISITE_STATE: Self = Self::new("55000");
    pub const OBJECT_IN_USE: Self = Self::new("55006");
    pub const QUERY_CANCELED: Self = Self::new("57014");
    pub const CRASH_SHUTDOWN: Self = Self::new("57P02");
    pub const ADMIN_SHUTDOWN: Self = Self::new("57P01");
    pub const SYSTEM_ERROR: Self = Self::new("58000");
    pub const IO_ERROR: Self = Self::new("58030");
    pub const UNDEFINED_FILE: Self = Self::new("58P01");
    pub const INTERNAL_ERROR: Self = Self::new("XX000");
}
