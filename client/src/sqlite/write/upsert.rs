//! Upsert: INSERT … ON CONFLICT, and the keys of the rows so far, so that no key comes twice.
//! <https://www.sqlite.org/lang_upsert.html>

use std::ffi::c_int;

use colonnade_sql::{Dialect, quote};

use super::moment::MomentText;
use super::stored::{BatchColumn, TargetColumn};
use super::stored_type::StoredType;
use crate::literal::sqlite::Atom;
use crate::sqlite::library::{Database, SqliteStatement};
use crate::write::repeated_key;
use crate::{Error, ErrorKind};

/// The temporary table of the keys. SQLite writes it to a temporary file if it is large.
const KEYS: &str = "temp.colonnade_keys";
const BINARY: &str = "BINARY";
/// The SQLSTATE of a constraint.
const CONSTRAINT: &str = "23000";

/// The key of the table, and what happens to rows that have it.
pub(super) struct UpsertPlan {
    table: String,
    key: Vec<KeyColumn>,
    /// The columns that a row with an existing key gets, quoted.
    replaced: Vec<String>,
}

struct KeyColumn {
    name: String,
    /// The collation in which the index compares.
    collation: String,
    /// Its place in the data.
    column: usize,
}

/// A unique index: its columns with their collations, and whether rows or expressions limit it.
struct UniqueIndex {
    columns: Vec<(String, String)>,
    is_limited: bool,
}

impl UpsertPlan {
    /// Finds the unique index on exactly the key's columns. `table` has no quotes, `columns` are those of the data.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn of(
        database: &Database,
        table: &str,
        key: &[String],
        columns: &[TargetColumn],
    ) -> Result<Self, Error> {
        let indexes = unique_indexes(database, table)?;
        let is_key = |index: &UniqueIndex| {
            let has = |name: &String| index.columns.iter().any(|(column, _)| column == name);
            index.columns.len() == key.len() && key.iter().all(has)
        };
        let (fitting, others): (Vec<_>, Vec<_>) = indexes.iter().partition(|index| is_key(index) && !index.is_limited);
        if fitting.is_empty() {
            return Err(no_index(table, key, others.iter().any(|index| is_key(index)), &others));
        }
        // One that takes more texts for equal decides.
        let collation = |name: &String| {
            let found = fitting.iter().flat_map(|index| &index.columns).filter(|(column, _)| column == name);
            let found: Vec<_> = found.map(|(_, collation)| collation.as_str()).collect();
            found.iter().find(|collation| **collation != BINARY).map_or(BINARY, |collation| collation).to_owned()
        };
        let place = |name: &String| columns.iter().position(|column| column.name == *name);
        let key: Vec<_> = key
            .iter()
            .filter_map(|name| Some(KeyColumn { name: name.clone(), collation: collation(name), column: place(name)? }))
            .collect();
        // Texts that the collation takes for equal are replaced too, so that the data's text is stored.
        let kept = |name: &String| key.iter().any(|column| column.name == *name && column.collation == BINARY);
        let replaced = columns.iter().map(|column| &column.name).filter(|name| !kept(name)).map(|name| quoted(name));
        Ok(Self { table: format!("main.{}", quoted(table)), replaced: replaced.collect(), key })
    }

    /// What follows the values in INSERT.
    pub(super) fn clause(&self) -> String {
        let key: Vec<_> = self.key.iter().map(|column| quoted(&column.name)).collect();
        let changes: Vec<_> = self.replaced.iter().map(|name| format!("{name} = excluded.{name}")).collect();
        let action =
            if changes.is_empty() { "NOTHING".to_owned() } else { format!("UPDATE SET {}", changes.join(", ")) };
        format!(" ON CONFLICT ({}) DO {action}", key.join(", "))
    }

    /// Makes the table of keys.
    pub(super) fn begin<'d>(&self, database: &'d Database, columns: &[TargetColumn]) -> Result<KeyCheck<'d>, Error> {
        let is_integer =
            |column: &KeyColumn| columns.get(column.column).is_some_and(|column| column.stored == StoredType::Integer);
        // Without a declared type, values are compared as they are.
        let declared = match self.key.as_slice() {
            [only] if is_integer(only) => "k0 INTEGER PRIMARY KEY)".to_owned(),
            several => {
                let collated = (0..).zip(several).map(|(place, column): (usize, _)| {
                    format!("k{place} COLLATE {} NOT NULL", quoted(&column.collation))
                });
                let names: Vec<_> = (0..several.len()).map(|place| format!("k{place}")).collect();
                let collated: Vec<_> = collated.collect();
                format!("{}, PRIMARY KEY ({})) WITHOUT ROWID", collated.join(", "), names.join(", "))
            }
        };
        database.run(&format!("CREATE TABLE {KEYS} ({declared}"))?;
        let places = vec!["?"; self.key.len()].join(", ");
        let seen = prepared(database, &format!("INSERT INTO {KEYS} VALUES ({places})"))?;
        let found = if self.replaced.is_empty() {
            let same: Vec<_> = self.key.iter().map(|column| format!("{} = ?", quoted(&column.name))).collect();
            Some(prepared(database, &format!("SELECT 1 FROM {} WHERE {}", self.table, same.join(" AND ")))?)
        } else {
            None
        };
        let inserted = |key: &KeyColumn| (1..).zip(columns).find(|(_, column)| column.name == key.name);
        let places = self.key.iter().zip(1..).filter_map(|(key, place)| Some((inserted(key)?.0, place)));
        Ok(KeyCheck { seen, found, places: places.collect() })
    }

    /// The error of a row whose key another one has.
    #[cold]
    pub(super) fn repeated(&self, columns: &[TargetColumn], values: &[BatchColumn<'_>], row: usize) -> Error {
        let value = |key: &KeyColumn| {
            let mut moment = MomentText::default();
            let atom = columns.get(key.column)?.atom(values.get(key.column)?, row, &mut moment).ok()?;
            Some(shown(&atom))
        };
        let names: Vec<_> = self.key.iter().map(|key| quoted(&key.name)).collect();
        let values: Vec<_> = self.key.iter().map(|key| value(key).unwrap_or_default()).collect();
        repeated_key(&names, &values)
    }
}

/// The keys of the rows so far.
pub(super) struct KeyCheck<'d> {
    seen: SqliteStatement<'d>,
    /// Whether the table has a row with the key. It is asked for if such a row stays as it is.
    found: Option<SqliteStatement<'d>>,
    /// The places of the key's columns in INSERT and in the key, counted from 1.
    places: Vec<(c_int, c_int)>,
}

impl KeyCheck<'_> {
    /// Takes the value for a place of INSERT, if its column is in the key.
    pub(super) fn bind(&mut self, place: c_int, atom: &Atom<'_>) -> Result<(), Error> {
        let Some((_, place)) = self.places.iter().copied().find(|(given, _)| *given == place) else { return Ok(()) };
        if let Some(found) = &mut self.found {
            found.bind(place, atom)?;
        }
        self.seen.bind(place, atom)
    }

    /// Adds the key. `false` if it was there; then nothing more can be added.
    pub(super) fn add(&mut self) -> Result<bool, Error> {
        match self.seen.run_once() {
            Ok(()) => Ok(true),
            Err(error) if error.sqlstate() == Some(CONSTRAINT) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The rows of the table that have the key now: 1 or 0. `changes` are those that INSERT has changed.
    pub(super) fn stored(&mut self, changes: u64) -> Result<u64, Error> {
        match &mut self.found {
            Some(found) if changes == 0 => found.count_once(),
            _ => Ok(changes),
        }
    }
}

fn prepared<'d>(database: &'d Database, sql: &str) -> Result<SqliteStatement<'d>, Error> {
    let (statement, _) = database.prepare(sql)?;
    statement.ok_or_else(|| Error::new(ErrorKind::Database, "an empty statement"))
}

/// The unique indexes of a table, with the primary key. SQLite has no index for the key that is the number of the row.
fn unique_indexes(database: &Database, table: &str) -> Result<Vec<UniqueIndex>, Error> {
    let table = quote::string(table, Dialect::Sqlite);
    let sql = format!(
        "SELECT i.name, i.partial, c.cid, c.name, c.coll, i.origin FROM pragma_index_list({table}, 'main') i, \
         pragma_index_xinfo(i.name, 'main') c WHERE i.\"unique\" AND c.key ORDER BY i.seq, c.seqno"
    );
    let mut indexes: Vec<(String, UniqueIndex)> = Vec::new();
    let mut has_primary = false;
    for row in database.texts(&sql)? {
        let Ok([index, partial, number, column, collation, origin]) = <[String; 6]>::try_from(row) else { continue };
        has_primary |= origin == "pk";
        if indexes.last().is_none_or(|(name, _)| *name != index) {
            indexes.push((index, UniqueIndex { columns: Vec::new(), is_limited: partial != "0" }));
        }
        if let Some((_, last)) = indexes.last_mut() {
            // An expression has no number.
            last.is_limited |= number.starts_with('-');
            last.columns.push((column, collation));
        }
    }
    let mut indexes: Vec<_> = indexes.into_iter().map(|(_, index)| index).collect();
    if !has_primary {
        let key = database.texts(&format!("SELECT name FROM pragma_table_info({table}, 'main') WHERE pk"))?;
        let columns: Vec<_> = key.into_iter().flatten().map(|name| (name, BINARY.to_owned())).collect();
        if !columns.is_empty() {
            indexes.insert(0, UniqueIndex { columns, is_limited: false });
        }
    }
    Ok(indexes)
}

fn no_index(table: &str, key: &[String], is_limited: bool, others: &[&UniqueIndex]) -> Error {
    let list = |names: &mut dyn Iterator<Item = &String>| {
        let names: Vec<_> = names.map(|name| quoted(name)).collect();
        format!("({})", names.join(", "))
    };
    let (table, wanted) = (quoted(table), list(&mut key.iter()));
    let limited = if is_limited { "; one on these columns has a WHERE, or expressions" } else { "" };
    let known = others.iter().filter(|index| !index.is_limited);
    let known: Vec<_> = known.map(|index| list(&mut index.columns.iter().map(|(name, _)| name))).collect();
    let known =
        if known.is_empty() { String::new() } else { format!(", or give a key that has one: {}", known.join(", ")) };
    let message = format!("the table {table} has no unique index on exactly the key {wanted}{limited}");
    Error::new(ErrorKind::Database, message)
        .with_sqlstate("42P10")
        .with_hint(format!("make one: CREATE UNIQUE INDEX … ON {table} {wanted}{known}"))
}

fn quoted(name: &str) -> String {
    quote::identifier(name, Dialect::Sqlite)
}

fn shown(atom: &Atom<'_>) -> String {
    match atom {
        Atom::Null => "NULL".to_owned(),
        Atom::Integer(number) => number.to_string(),
        Atom::Real(number) => number.to_string(),
        Atom::Text(text) => text.to_string(),
        Atom::Blob(bytes) => format!("{} bytes", bytes.len()),
    }
}
