//! Inserts rows: several with one statement, or each with its own if each must be looked at.

use super::moment::MomentText;
use super::stored::BatchColumn;
use super::table::{self, ReadyTable};
use super::upsert::KeyCheck;
use crate::literal::sqlite::Atom;
use crate::sqlite::library::{Database, SqliteStatement};
use crate::{Error, ErrorKind};

/// The values of one statement. A statement costs as much as some values, and SQLite allows 32,766.
const VALUES: usize = 1024;

/// The statements of a table, and the rows so far.
pub(super) struct RowInserter<'d> {
    database: &'d Database,
    table: &'d ReadyTable,
    one: SqliteStatement<'d>,
    several: Option<SqliteStatement<'d>>,
    /// The rows of `several`.
    group: usize,
    keys: Option<KeyCheck<'d>>,
    moments: Vec<MomentText>,
    /// The rows that were given.
    pub(super) rows: u64,
    /// The rows that the table got, as SQLite counts them.
    pub(super) stored: u64,
}

impl<'d> RowInserter<'d> {
    pub(super) fn begin(database: &'d Database, table: &'d ReadyTable) -> Result<Self, Error> {
        let prepared = |rows| {
            let (statement, _) = database.prepare(&table::insert(table, rows))?;
            statement.ok_or_else(|| Error::new(ErrorKind::Database, "an empty statement"))
        };
        let group = (VALUES / table.columns.len().max(1)).max(1);
        // A trigger may keep the rows before one that it refuses (RAISE(FAIL)), and an upsert checks each row's key.
        let is_plain = group > 1 && table.upsert.is_none() && !table.has_triggers;
        Ok(Self {
            database,
            table,
            one: prepared(1)?,
            several: if is_plain { Some(prepared(group)?) } else { None },
            group,
            keys: table.upsert.as_ref().map(|plan| plan.begin(database, &table.columns)).transpose()?,
            moments: vec![MomentText::default(); group * table.columns.len()],
            rows: 0,
            stored: 0,
        })
    }

    /// Inserts the first `count` rows of these columns. `check` is asked before each statement.
    ///
    /// # Errors
    /// A value has no exact form, the database refuses a row, or the error of `check`.
    pub(super) fn insert(
        &mut self,
        columns: &[BatchColumn<'_>],
        count: usize,
        check: impl Fn() -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut row = 0;
        while row < count {
            check()?;
            if self.keys.is_some() {
                self.insert_with_key(columns, row)?;
                row += 1;
            } else if self.several.is_some() && row + self.group <= count {
                self.insert_several(columns, row)?;
                row += self.group;
            } else {
                self.insert_one(columns, row)?;
                row += 1;
            }
        }
        Ok(())
    }

    fn insert_several(&mut self, columns: &[BatchColumn<'_>], from: usize) -> Result<(), Error> {
        let Some(several) = &mut self.several else { return Ok(()) };
        let (given, width) = (self.rows, columns.len());
        let table = self.table;
        let rows = (1u64..).zip(from..from + self.group).zip(self.moments.chunks_mut(width));
        let values = rows.flat_map(|((number, row), moments)| atoms(table, columns, row, given + number, moments));
        if let Err(error) = several.run_with(values)? {
            return Err(self.refused(error, columns, from));
        }
        self.rows += self.group as u64;
        self.stored += self.database.changes();
        Ok(())
    }

    /// The error of the row that a statement with several rows has met. SQLite has undone the whole statement.
    #[cold]
    fn refused(&mut self, error: Error, columns: &[BatchColumn<'_>], from: usize) -> Error {
        let rows = format!("rows {} to {}", self.rows + 1, self.rows + self.group as u64);
        // After some errors SQLite has rolled back the transaction, and a row would be committed by itself.
        if self.database.is_stopped() || !self.database.in_transaction() {
            return error.with_detail(Some(rows));
        }
        let found = (from..from + self.group).find_map(|row| self.insert_one(columns, row).err());
        // All are rolled back in any case.
        found.unwrap_or_else(|| error.with_detail(Some(rows)))
    }

    fn insert_one(&mut self, columns: &[BatchColumn<'_>], row: usize) -> Result<(), Error> {
        let number = self.rows + 1;
        let values = atoms(self.table, columns, row, number, &mut self.moments);
        self.one.run_with(values)?.map_err(|error| at_row(error, number))?;
        self.rows = number;
        self.stored += self.database.changes();
        Ok(())
    }

    fn insert_with_key(&mut self, columns: &[BatchColumn<'_>], row: usize) -> Result<(), Error> {
        let (Some(keys), Some(plan)) = (&mut self.keys, &self.table.upsert) else { return Ok(()) };
        let number = self.rows + 1;
        let values = atoms(self.table, columns, row, number, &mut self.moments).collect::<Result<Vec<_>, _>>()?;
        for (place, atom) in (1..).zip(&values) {
            keys.bind(place, atom)?;
        }
        if !keys.add()? {
            return Err(at_row(plan.repeated(&self.table.columns, columns, row), number));
        }
        self.one.run_with(values.into_iter().map(Ok))?.map_err(|error| at_row(error, number))?;
        self.rows = number;
        self.stored += keys.stored(self.database.changes())?;
        Ok(())
    }
}

/// The values of a row, whose number counts from 1.
fn atoms<'v>(
    table: &'v ReadyTable,
    columns: &'v [BatchColumn<'_>],
    row: usize,
    number: u64,
    moments: &'v mut [MomentText],
) -> impl Iterator<Item = Result<Atom<'v>, Error>> {
    table
        .columns
        .iter()
        .zip(columns)
        .zip(moments)
        .map(move |((to, column), moment)| to.atom(column, row, moment).map_err(|misfit| misfit.at(&to.name, number)))
}

fn at_row(error: Error, number: u64) -> Error {
    error.with_detail(Some(format!("row {number}")))
}
