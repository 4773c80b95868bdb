//! Whose SQL a text is.

use crate::lexer::is_space;

/// The rules that a text follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// DuckDB's.
    #[default]
    DuckDb,
    /// PostgreSQL's.
    Postgres {
        /// Whether a backslash escapes in `'…'`, as it always does in `E'…'`: only if `standard_conforming_strings` is
        /// off.
        backslashes: bool,
    },
    /// SQLite's, which has numbers, text and blobs only.
    Sqlite,
    /// MySQL's and MariaDB's.
    MySql {
        /// Whether a backslash escapes within quotes: not if the session's `sql_mode` has NO_BACKSLASH_ESCAPES.
        backslashes: bool,
    },
    /// It is not known whose. Tokens are PostgreSQL's; [`certain`](crate::certain) says where all dialects agree.
    Unknown,
}

impl Dialect {
    /// The dialect in which functions in Python are created.
    pub const WITH_PYTHON: Self = Self::DuckDb;
    /// PostgreSQL with its default settings.
    pub const POSTGRES: Self = Self::Postgres { backslashes: false };

    /// MySQL and MariaDB with their default settings. Names, texts and bytes are written alike under all of them.
    pub const MYSQL: Self = Self::MySql { backslashes: true };

    /// How a server announces it to clients (PROTOCOL §1).
    pub fn name(self) -> &'static str {
        match self {
            Self::DuckDb => "duckdb",
            Self::Postgres { .. } => "postgresql",
            Self::Sqlite => "sqlite",
            Self::MySql { backslashes: true } => "mysql",
            Self::MySql { backslashes: false } => "mysql-no-backslash-escapes",
            Self::Unknown => "unknown",
        }
    }

    /// The dialect of this [`name`](Self::name); [`Unknown`](Self::Unknown) if there is none.
    pub fn of_name(name: &str) -> Self {
        match name {
            "duckdb" => Self::DuckDb,
            "postgresql" => Self::POSTGRES,
            "sqlite" => Self::Sqlite,
            "mysql" => Self::MySql { backslashes: true },
            "mysql-no-backslash-escapes" => Self::MySql { backslashes: false },
            _ => Self::Unknown,
        }
    }

    /// Whether `/* /* */ */` is one comment.
    pub(crate) fn nests_comments(self) -> bool {
        matches!(self, Self::DuckDb | Self::Postgres { .. } | Self::Unknown)
    }

    /// Whether `$$…$$` and `$tag$…$tag$` are strings.
    pub(crate) fn has_dollar_quotes(self) -> bool {
        self.nests_comments()
    }

    /// Whether `E'…'` is a string in which backslashes escape.
    pub(crate) fn has_escape_strings(self) -> bool {
        self.nests_comments()
    }

    /// Whether a backslash escapes in a string without a prefix.
    pub(crate) fn has_backslashes(self) -> bool {
        matches!(self, Self::Postgres { backslashes: true } | Self::MySql { backslashes: true })
    }

    /// Whether a string goes on behind a line break: `'a'⏎'b'` is `'ab'`, and an `E` counts for both.
    pub(crate) fn joins_lines(self) -> bool {
        matches!(self, Self::Postgres { .. })
    }

    /// Whether a token begins behind this character, and none with it.
    pub fn is_space(self, character: char) -> bool {
        is_space(character, self)
    }

    /// Whether it is PostgreSQL's.
    pub fn is_postgres(self) -> bool {
        matches!(self, Self::Postgres { .. })
    }

    /// Whether it is MySQL's or MariaDB's.
    pub fn is_mysql(self) -> bool {
        matches!(self, Self::MySql { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_back_to_its_dialect() {
        for dialect in [
            Dialect::DuckDb,
            Dialect::POSTGRES,
            Dialect::Sqlite,
            Dialect::MySql { backslashes: true },
            Dialect::MySql { backslashes: false },
            Dialect::Unknown,
        ] {
            assert_eq!(Dialect::of_name(dialect.name()), dialect);
        }
        assert_eq!(Dialect::of_name("oracle"), Dialect::Unknown);
    }
}
