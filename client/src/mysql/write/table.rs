//! What the server says of a table: its kind, its columns and its keys.

use colonnade_sql::{Dialect, quote};

use super::WritePlan;
use super::column_type::ColumnType;
use super::row_encoder::WrittenColumn;
use super::transfer::Transfer;
use crate::mysql::packet::protocol;
use crate::mysql::text_answer::TextAnswer;
use crate::shared_connection::AnswerError;
use crate::write::kind::ColumnMeaning;
use crate::write::{unsupported_column, unsupported_target};
use crate::{Error, ErrorKind};

/// ER_NO_SUCH_TABLE
pub(super) const NO_SUCH_TABLE: i32 = 1146;
/// ER_TABLEACCESS_DENIED_ERROR
const DENIED: i32 = 1142;
const ADVICE: &str = "convert the data: dtype={…: …}; spec/TYPES.md lists what a column accepts";
const CONVERT: &str = "convert the table: ALTER TABLE … CONVERT TO CHARACTER SET utf8mb4";
/// A collation of a character set that every text is written to.
const EXACT_COLLATION: &str = "utf8mb4_bin";
const CREATE_TEMPORARY: &str = "CREATE TEMPORARY TABLE";
/// What stands before the engine in the last line of CREATE TABLE. Line feeds in comments are escaped.
const BEFORE_ENGINE: &str = "\n) ENGINE=";

/// A table's full name.
#[derive(Clone, Debug)]
pub(super) struct TableName {
    pub(super) schema: String,
    pub(super) table: String,
}

impl TableName {
    /// The name, quoted and with its schema.
    pub(super) fn quoted(&self) -> String {
        format!("{}.{}", quoted(&self.schema), quoted(&self.table))
    }

    /// Another table of the same schema.
    pub(super) fn sibling(&self, table: String) -> Self {
        Self { schema: self.schema.clone(), table }
    }
}

/// A table that exists.
#[derive(Debug)]
pub(super) struct FoundTable {
    pub(super) is_temporary: bool,
    engine: String,
    /// Whether it is an ordinary table, and not a view or a sequence.
    is_table: bool,
    /// Whether its engine rolls back.
    rolls_back: bool,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TableColumn {
    pub(super) name: String,
    pub(super) type_name: String,
    pub(super) collation: Option<String>,
    is_nullable: bool,
    is_generated: bool,
    pub(super) is_auto_increment: bool,
}

/// A unique key, or the primary key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct UniqueKey {
    pub(super) name: String,
    pub(super) columns: Vec<String>,
    /// Whether it compares whole values, and has no NULLs, which are never equal.
    pub(super) is_exact: bool,
}

/// The table of this name, if there is one. A temporary table hides another one.
pub(super) fn find(transfer: &mut Transfer<'_>, name: &TableName) -> Result<Option<FoundTable>, AnswerError> {
    let (shown, denied) = match transfer.ask(&format!("SHOW CREATE TABLE {}", name.quoted())) {
        Err(AnswerError::Refused(error)) if error.code() == Some(NO_SUCH_TABLE) => return Ok(None),
        // A user without SELECT may insert. Everybody has all rights on temporary tables of their own.
        Err(AnswerError::Refused(error)) if error.code() == Some(DENIED) => (TextAnswer::default(), Some(error)),
        shown => (shown?, None),
    };
    let statement = shown.text(0, 1).unwrap_or_default();
    let is_temporary = statement.starts_with(CREATE_TEMPORARY);
    let (engine, is_table) = if is_temporary {
        let engine = statement.rsplit_once(BEFORE_ENGINE).map_or("", |(_, rest)| rest);
        (engine.split_ascii_whitespace().next().unwrap_or_default().to_owned(), true)
    } else {
        let kinds = transfer.ask(&format!(
            "SELECT TABLE_NAME, ENGINE, TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED') \
             FROM information_schema.TABLES WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {}",
            text(&name.schema),
            text(&name.table)
        ))?;
        if let (Some(error), true) = (denied, kinds.rows.is_empty()) {
            return Err(AnswerError::Refused(error));
        }
        let row = (0..kinds.rows.len()).find(|row| kinds.text(*row, 0) == Some(name.table.as_str())).unwrap_or(0);
        (kinds.text(row, 1).unwrap_or_default().to_owned(), kinds.text(row, 2) == Some("1"))
    };
    let sql = format!("SELECT TRANSACTIONS FROM information_schema.ENGINES WHERE ENGINE = {}", text(&engine));
    let rolls_back = transfer.ask(&sql)?.text(0, 0) == Some("YES");
    Ok(Some(FoundTable { is_temporary, engine, is_table, rolls_back }))
}

impl FoundTable {
    /// # Errors
    /// Rows that are added could not be rolled back.
    pub(super) fn check_can_roll_back(&self, name: &TableName) -> Result<(), AnswerError> {
        self.check_is_table(name)?;
        if self.rolls_back {
            return Ok(());
        }
        let what = format!("the table {} has the engine {}, which cannot roll back", name.quoted(), self.engine);
        let hint = "make it a table of InnoDB: ALTER TABLE … ENGINE=InnoDB";
        Err(AnswerError::Refused(unsupported_target(&what, hint)))
    }

    /// # Errors
    /// It is a view or a sequence.
    pub(super) fn check_is_table(&self, name: &TableName) -> Result<(), AnswerError> {
        if self.is_table {
            return Ok(());
        }
        let what = format!("{} is not a table", name.quoted());
        Err(AnswerError::Refused(unsupported_target(&what, "name the table behind the view")))
    }
}

/// The columns of a table.
pub(super) fn columns(transfer: &mut Transfer<'_>, name: &TableName) -> Result<Vec<TableColumn>, AnswerError> {
    let answer = match transfer.ask(&format!("SHOW FULL COLUMNS FROM {}", name.quoted())) {
        Err(AnswerError::Refused(error)) if error.code() == Some(DENIED) => transfer.ask(&format!(
            "SELECT COLUMN_NAME AS `Field`, COLUMN_TYPE AS `Type`, COLLATION_NAME AS `Collation`, \
             IS_NULLABLE AS `Null`, EXTRA AS `Extra` FROM information_schema.COLUMNS \
             WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {} ORDER BY ORDINAL_POSITION",
            text(&name.schema),
            text(&name.table)
        ))?,
        answer => answer?,
    };
    let places = ["Field", "Type", "Collation", "Null", "Extra"]
        .map(|wanted| answer.columns.iter().position(|column| column.name.eq_ignore_ascii_case(wanted)));
    let [Some(field), Some(type_name), Some(collation), Some(null), Some(extra)] = places else {
        return Err(protocol("columns of a table without their types").into());
    };
    let column = |row| {
        let text = |place| answer.text(row, place).unwrap_or_default();
        let has =
            |words: &[&str]| text(extra).split(' ').any(|word| words.iter().any(|one| word.eq_ignore_ascii_case(one)));
        TableColumn {
            name: text(field).to_owned(),
            type_name: text(type_name).to_owned(),
            collation: answer.text(row, collation).map(str::to_owned),
            is_nullable: text(null) != "NO",
            // MySQL's DEFAULT_GENERATED is a default.
            is_generated: has(&["VIRTUAL", "STORED", "PERSISTENT"]),
            is_auto_increment: has(&["auto_increment"]),
        }
    };
    Ok((0..answer.rows.len()).map(column).collect())
}

/// The unique keys of a table, with the primary key.
pub(super) fn unique_keys(transfer: &mut Transfer<'_>, name: &TableName) -> Result<Vec<UniqueKey>, AnswerError> {
    let answer = transfer.ask(&format!("SHOW INDEX FROM {}", name.quoted()))?;
    let places = ["Non_unique", "Key_name", "Column_name", "Sub_part", "Null"]
        .map(|wanted| answer.columns.iter().position(|column| column.name.eq_ignore_ascii_case(wanted)));
    let [Some(non_unique), Some(key_name), Some(column), Some(part), Some(null)] = places else {
        return Err(protocol("keys of a table without their columns").into());
    };
    let mut keys = Vec::<UniqueKey>::new();
    for row in (0..answer.rows.len()).filter(|row| answer.text(*row, non_unique) == Some("0")) {
        let name = answer.text(row, key_name).unwrap_or_default();
        if keys.last().is_none_or(|last| last.name != name) {
            keys.push(UniqueKey { name: name.to_owned(), columns: Vec::new(), is_exact: true });
        }
        let Some(key) = keys.last_mut() else { continue };
        key.columns.push(answer.text(row, column).unwrap_or_default().to_owned());
        // An expression has no column.
        key.is_exact &= answer.text(row, column).is_some()
            && answer.text(row, part).is_none()
            && answer.text(row, null) != Some("YES");
    }
    Ok(keys)
}

/// The columns that receive the data.
///
/// # Errors
/// One is missing, or it cannot hold the values exactly.
pub(super) fn written(found: &[TableColumn], plan: &WritePlan) -> Result<Vec<WrittenColumn>, AnswerError> {
    let columns = plan.columns.iter().map(|(name, meaning)| accepted(found, name, meaning));
    columns.collect::<Result<_, _>>().map_err(AnswerError::Refused)
}

fn accepted(found: &[TableColumn], name: &str, meaning: &ColumnMeaning) -> Result<WrittenColumn, Error> {
    let Some(column) = found.iter().find(|column| column.name == name && !column.is_generated) else {
        let message = format!("the table has no column {name:?} that can be written to");
        return Err(Error::new(ErrorKind::Database, message)
            .with_sqlstate("42703")
            .with_hint("names are compared exactly, with their case"));
    };
    let to = ColumnType::of(&column.type_name, column.collation.as_deref()).filter(|to| to.accepts(meaning));
    let to = to.ok_or_else(|| {
        let what = format!("the table's column of type {} cannot hold these values exactly", column.type_name);
        // The type is accepted with another character set.
        let is_character_set =
            ColumnType::of(&column.type_name, Some(EXACT_COLLATION)).is_some_and(|to| to.accepts(meaning));
        match &column.collation {
            Some(collation) if is_character_set => {
                unsupported_column(name, &format!("{what} with the collation {collation}"), CONVERT)
            }
            _ => unsupported_column(name, &what, ADVICE),
        }
    })?;
    let no_null = match column {
        TableColumn { is_auto_increment: true, .. } => {
            Some("NULL, in whose place MySQL would store the next number of AUTO_INCREMENT")
        }
        // LOAD DATA would store the type's zero, or the current time.
        TableColumn { is_nullable: false, .. } => Some("NULL, and the table's column is NOT NULL"),
        _ => None,
    };
    Ok(WrittenColumn { name: name.to_owned(), to, no_null })
}

/// A name that nobody else has.
pub(super) fn random_name() -> Result<String, Error> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|_| Error::new(ErrorKind::Unavailable, "the system has no random numbers"))?;
    Ok(format!("colonnade_{:016x}", u64::from_le_bytes(bytes)))
}

pub(super) fn quoted(name: &str) -> String {
    quote::identifier(name, Dialect::MYSQL)
}

pub(super) fn text(value: &str) -> String {
    quote::string(value, Dialect::MYSQL)
}
