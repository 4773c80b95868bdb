//! The library's two symbols, and the functions of the table that `adbc_ffi` does not have as this driver needs them.
//!
//! `adbc_ffi` 0.25 leaves `ErrorFromArrayStream` empty, because its streams keep only the text of an error. So the
//! functions that give a stream of the database's rows are followed by one that puts this crate's own stream in its
//! place.

use std::ffi::{c_int, c_void};
use std::sync::LazyLock;

use adbc_core::constants::{ADBC_STATUS_NOT_IMPLEMENTED, ADBC_STATUS_OK, ADBC_VERSION_1_1_0};
use adbc_core::error::{AdbcStatusCode, Status};
use adbc_ffi::{FFI_AdbcConnection, FFI_AdbcDriver, FFI_AdbcError, FFI_AdbcStatement, FFIDriver as _, export_error};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;

use crate::driver::AdbcDriver;
use crate::error::refused;
use crate::rows::Rows;
use crate::stream::{error_from_array_stream, export};

/// The table as `adbc_ffi` makes it.
static MADE: LazyLock<FFI_AdbcDriver> = LazyLock::new(AdbcDriver::ffi_driver);

/// Fills the table of a driver. Driver managers look for this name, which they make from the file's.
///
/// # Safety
/// `driver` has room for a table of version 1.1; `error` is null or an error of that version.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "ADBC's name")]
pub unsafe extern "C" fn AdbcDriverColonnadeInit(
    version: c_int,
    driver: *mut c_void,
    error: *mut FFI_AdbcError,
) -> AdbcStatusCode {
    let refuse = |status, message: &str| {
        // SAFETY: the caller's promise.
        unsafe { export_error(error, refused(status, message)) };
        status.into()
    };
    if version != ADBC_VERSION_1_1_0 {
        return refuse(Status::NotImplemented, "this driver has ADBC's version 1.1.0 only");
    }
    if driver.is_null() {
        return refuse(Status::InvalidArguments, "there is no room for the driver's functions");
    }
    let mut table = AdbcDriver::ffi_driver();
    table.StatementExecuteQuery = Some(execute_query);
    table.ConnectionReadPartition = Some(read_partition);
    table.ErrorFromArrayStream = Some(error_from_array_stream);
    // SAFETY: the caller's promise. What was there before is no table yet.
    unsafe { driver.cast::<FFI_AdbcDriver>().write_unaligned(table) };
    ADBC_STATUS_OK
}

/// The name that driver managers look for if they do not find the other one.
///
/// # Safety
/// As for [`AdbcDriverColonnadeInit`].
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "ADBC's name")]
pub unsafe extern "C" fn AdbcDriverInit(
    version: c_int,
    driver: *mut c_void,
    error: *mut FFI_AdbcError,
) -> AdbcStatusCode {
    // SAFETY: the caller's promise.
    unsafe { AdbcDriverColonnadeInit(version, driver, error) }
}

unsafe extern "C" fn execute_query(
    statement: *mut FFI_AdbcStatement,
    out: *mut FFI_ArrowArrayStream,
    rows_affected: *mut i64,
    error: *mut FFI_AdbcError,
) -> AdbcStatusCode {
    let Some(made) = MADE.StatementExecuteQuery else { return ADBC_STATUS_NOT_IMPLEMENTED };
    // SAFETY: the caller's promises are those that the function asks for.
    let status = unsafe { made(statement, out, rows_affected, error) };
    if status != ADBC_STATUS_OK || out.is_null() {
        return status;
    }
    // SAFETY: the function has written a stream to `out`.
    let affected = unsafe { replace(out) };
    if let Some(affected) = affected.and_then(|rows| i64::try_from(rows).ok())
        && !rows_affected.is_null()
    {
        // SAFETY: the caller's promise.
        unsafe { rows_affected.write_unaligned(affected) };
    }
    status
}

unsafe extern "C" fn read_partition(
    connection: *mut FFI_AdbcConnection,
    partition: *const u8,
    length: usize,
    out: *mut FFI_ArrowArrayStream,
    error: *mut FFI_AdbcError,
) -> AdbcStatusCode {
    let Some(made) = MADE.ConnectionReadPartition else { return ADBC_STATUS_NOT_IMPLEMENTED };
    // SAFETY: the caller's promises are those that the function asks for.
    let status = unsafe { made(connection, partition, length, out, error) };
    if status == ADBC_STATUS_OK && !out.is_null() {
        // SAFETY: the function has written a stream to `out`.
        unsafe { replace(out) };
    }
    status
}

/// Puts this crate's stream of the latest rows in the place of `adbc_ffi`'s. Gives how many rows the statement changed.
///
/// # Safety
/// `out` is a valid stream of the rows that were made last on this thread.
unsafe fn replace(out: *mut FFI_ArrowArrayStream) -> Option<u64> {
    let rows = Rows::take_latest()?;
    let affected = rows.rows_affected();
    // SAFETY: the caller's promise. Both streams share the rows, so dropping the first does not end them.
    unsafe {
        drop(out.read_unaligned());
        out.write_unaligned(export(rows));
    }
    affected
}
