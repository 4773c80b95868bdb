//! A compiled statement, its values and its rows.

use std::borrow::Cow;
use std::ffi::{c_char, c_int, c_uchar, c_void};
use std::marker::PhantomData;
use std::ptr::NonNull;

use libsqlite3_sys as ffi;

use super::{Database, text};
use crate::Error;
use crate::literal::sqlite::Atom;
use crate::sqlite::fault::Stage;
use crate::sqlite::value::RawValue;

/// A compiled statement.
pub(in crate::sqlite) struct SqliteStatement<'d> {
    raw: NonNull<ffi::sqlite3_stmt>,
    database: &'d Database,
}

/// The current row of a statement.
pub(in crate::sqlite) struct Row<'s> {
    raw: NonNull<ffi::sqlite3_stmt>,
    statement: PhantomData<&'s mut ()>,
}

impl<'d> SqliteStatement<'d> {
    /// # Safety
    /// `raw` is a statement of the database's that nobody else uses.
    pub(super) unsafe fn of(raw: NonNull<ffi::sqlite3_stmt>, database: &'d Database) -> Self {
        Self { raw, database }
    }

    /// The number of columns; 0 if it returns no rows. Before the first step, the columns are those of the schema that
    /// this connection knows; the step compares it with the file's, and compiles the statement again if it has changed.
    pub(in crate::sqlite) fn columns(&self) -> usize {
        // SAFETY: the statement is valid.
        usize::try_from(unsafe { ffi::sqlite3_column_count(self.raw.as_ptr()) }).unwrap_or_default()
    }

    /// A column's name.
    pub(in crate::sqlite) fn name(&self, column: usize) -> String {
        // SAFETY: the statement is valid; the text stays until the next call with this column.
        unsafe { text(ffi::sqlite3_column_name(self.raw.as_ptr(), column as c_int)) }.unwrap_or_default()
    }

    /// The declared type of a table's column; `None` for expressions, and for columns without one.
    pub(in crate::sqlite) fn declared(&self, column: usize) -> Option<String> {
        // SAFETY: as above.
        unsafe { text(ffi::sqlite3_column_decltype(self.raw.as_ptr(), column as c_int)) }
    }

    /// The name of the table's column; `None` for expressions.
    pub(in crate::sqlite) fn origin(&self, column: usize) -> Option<String> {
        // SAFETY: as above.
        unsafe { text(ffi::sqlite3_column_origin_name(self.raw.as_ptr(), column as c_int)) }
    }

    /// Whether it changes no database.
    pub(in crate::sqlite) fn only_reads(&self) -> bool {
        // SAFETY: the statement is valid.
        unsafe { ffi::sqlite3_stmt_readonly(self.raw.as_ptr()) != 0 }
    }

    /// Number of placeholders.
    pub(in crate::sqlite) fn parameters(&self) -> c_int {
        // SAFETY: the statement is valid.
        unsafe { ffi::sqlite3_bind_parameter_count(self.raw.as_ptr()) }
    }

    /// The text of a placeholder, counted from 1; `None` for `?`.
    pub(in crate::sqlite) fn parameter(&self, place: c_int) -> Option<String> {
        // SAFETY: as above; the text stays as long as the statement.
        unsafe { text(ffi::sqlite3_bind_parameter_name(self.raw.as_ptr(), place)) }
    }

    /// Binds a value to a placeholder, before the statement starts.
    pub(in crate::sqlite) fn bind(&mut self, place: c_int, atom: &Atom<'_>) -> Result<(), Error> {
        // SAFETY: the library copies texts and bytes.
        unsafe { self.bind_as(place, atom, ffi::SQLITE_TRANSIENT()) }
    }

    /// Runs the statement to its end with a value for each placeholder. Texts and bytes are read where they are.
    ///
    /// # Errors
    /// Outside an error of `values`, inside an error of the database.
    pub(in crate::sqlite) fn run_with<'v>(
        &mut self,
        values: impl Iterator<Item = Result<Atom<'v>, Error>>,
    ) -> Result<Result<(), Error>, Error> {
        let bound = BoundStatement(self);
        for (place, atom) in (1..).zip(values) {
            let atom = atom?;
            let destructor = if let Atom::Text(Cow::Owned(_)) = atom { ffi::SQLITE_TRANSIENT() } else { None };
            // SAFETY: what is not copied is borrowed for 'v, which is longer than this call, and at its end `bound`
            // removes the bindings.
            if let Err(refused) = unsafe { bound.0.bind_as(place, &atom, destructor) } {
                return Ok(Err(refused));
            }
        }
        loop {
            match bound.0.step() {
                Ok(Some(_)) => {}
                Ok(None) => return Ok(Ok(())),
                Err(refused) => return Ok(Err(refused)),
            }
        }
    }

    /// # Safety
    /// Without a destructor, the text or the bytes must stay until the placeholder has another value or none.
    unsafe fn bind_as(
        &mut self,
        place: c_int,
        atom: &Atom<'_>,
        copied: ffi::sqlite3_destructor_type,
    ) -> Result<(), Error> {
        let raw = self.raw.as_ptr();
        // SAFETY: the statement is valid, and texts and bytes have the given lengths.
        let code = unsafe {
            match atom {
                Atom::Null => ffi::sqlite3_bind_null(raw, place),
                Atom::Integer(value) => ffi::sqlite3_bind_int64(raw, place, *value),
                Atom::Real(value) => ffi::sqlite3_bind_double(raw, place, *value),
                Atom::Text(value) => {
                    let (start, length) = (value.as_ptr().cast::<c_char>(), value.len() as u64);
                    ffi::sqlite3_bind_text64(raw, place, start, length, copied, ffi::SQLITE_UTF8 as c_uchar)
                }
                Atom::Blob(value) => {
                    ffi::sqlite3_bind_blob64(raw, place, value.as_ptr().cast::<c_void>(), value.len() as u64, copied)
                }
            }
        };
        if code == ffi::SQLITE_OK { Ok(()) } else { Err(self.database.error(code, Stage::Prepare)) }
    }

    /// Runs the statement to its end, and makes it ready for other values.
    pub(in crate::sqlite) fn run_once(&mut self) -> Result<(), Error> {
        self.count_once().map(drop)
    }

    /// Runs the statement to its end, and makes it ready for other values. Returns the number of rows.
    pub(in crate::sqlite) fn count_once(&mut self) -> Result<u64, Error> {
        let mut rows = 0;
        while self.step()?.is_some() {
            rows += 1;
        }
        // SAFETY: the statement is valid, and `&mut self` means that no row of it is in use.
        unsafe { ffi::sqlite3_reset(self.raw.as_ptr()) };
        Ok(rows)
    }

    /// The row of the last step, if it had one.
    pub(in crate::sqlite) fn row(&mut self) -> Option<Row<'_>> {
        // SAFETY: the statement is valid. It has values only while it stands on a row.
        let values = unsafe { ffi::sqlite3_data_count(self.raw.as_ptr()) };
        (values > 0).then_some(Row { raw: self.raw, statement: PhantomData })
    }

    /// The next row, or `None` after the last.
    pub(in crate::sqlite) fn step(&mut self) -> Result<Option<Row<'_>>, Error> {
        // SAFETY: the statement is valid, and `&mut self` means that no row of it is in use.
        match unsafe { ffi::sqlite3_step(self.raw.as_ptr()) } {
            ffi::SQLITE_ROW => Ok(Some(Row { raw: self.raw, statement: PhantomData })),
            ffi::SQLITE_DONE => Ok(None),
            code => Err(self.database.error(code, Stage::Step)),
        }
    }
}

/// A statement whose values are removed at the end.
struct BoundStatement<'s, 'd>(&'s mut SqliteStatement<'d>);

impl Drop for BoundStatement<'_, '_> {
    fn drop(&mut self) {
        // SAFETY: the statement is valid, and no row of it is in use. The code of `reset` is that of the last step.
        unsafe {
            ffi::sqlite3_reset(self.0.raw.as_ptr());
            ffi::sqlite3_clear_bindings(self.0.raw.as_ptr());
        }
    }
}

impl Drop for SqliteStatement<'_> {
    fn drop(&mut self) {
        // SAFETY: it is not used any more.
        unsafe { ffi::sqlite3_finalize(self.raw.as_ptr()) };
    }
}

impl<'s> Row<'s> {
    /// The value of a column.
    #[inline]
    pub(in crate::sqlite) fn value(&self, column: usize) -> RawValue<'s> {
        // SAFETY: the statement stands on a row while `self` exists.
        let raw = unsafe { ffi::sqlite3_column_value(self.raw.as_ptr(), column as c_int) };
        // SAFETY: as above.
        unsafe { RawValue::of(raw) }
    }
}
