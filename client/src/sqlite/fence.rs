//! The limits for a gateway's clients: they may read the served file and use temporary tables.
//! <https://www.sqlite.org/security.html>
//!
//! When SQLite compiles a statement, it asks for permission for each of its actions, by a number
//! (<https://www.sqlite.org/c3ref/c_alter_table.html>). Actions that are not in the list are refused. So the words of
//! a statement and new statements of later versions do not matter. The file itself is opened read-only.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use libsqlite3_sys as ffi;

/// The database of temporary tables.
const TEMPORARY: &CStr = c"temp";
/// The most bytes of a value or a row.
pub(super) const VALUE_BYTES: c_int = 128 << 20;
/// The most bytes of the library's memory in this process, for all sessions together.
pub(super) const HEAP_BYTES: i64 = 1 << 30;

/// The limits of one connection. The length of a pattern limits the time of LIKE and GLOB, which cannot be
/// interrupted.
const LIMITS: [(c_int, c_int); 5] = [
    (ffi::SQLITE_LIMIT_LENGTH, VALUE_BYTES),
    (ffi::SQLITE_LIMIT_ATTACHED, 0),
    (ffi::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000),
    (ffi::SQLITE_LIMIT_TRIGGER_DEPTH, 10),
    (ffi::SQLITE_LIMIT_WORKER_THREADS, 0),
];

/// PRAGMAs that describe the file, without a value.
const PRAGMAS: [&str; 16] = [
    "application_id",
    "collation_list",
    "compile_options",
    "data_version",
    "encoding",
    "freelist_count",
    "function_list",
    "integrity_check",
    "journal_mode",
    "page_count",
    "page_size",
    "pragma_list",
    "quick_check",
    "schema_version",
    "table_list",
    "user_version",
];
/// PRAGMAs whose value names the described object, or limits the result.
const NAMING: [&str; 9] = [
    "foreign_key_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "integrity_check",
    "quick_check",
    "table_info",
    "table_list",
    "table_xinfo",
];

/// Functions that compute only from their arguments and the file's rows. A test compares this list and [`REFUSED`]
/// with the library's functions.
#[rustfmt::skip]
pub(super) const FUNCTIONS: [&str; 119] = [
    "->", "->>", "abs", "avg", "bm25", "changes", "char", "coalesce", "concat", "concat_ws", "count", "cume_dist",
    "current_date", "current_time", "current_timestamp", "date", "datetime", "dense_rank", "first_value", "format",
    "fts5_get_locale", "fts5_insttoken", "fts5_locale", "fts5_source_id", "glob", "group_concat", "hex", "highlight",
    "if", "ifnull", "iif", "instr", "json", "json_array", "json_array_insert", "json_array_length",
    "json_error_position", "json_extract", "json_group_array", "json_group_object", "json_insert", "json_object",
    "json_patch", "json_pretty", "json_quote", "json_remove", "json_replace", "json_set", "json_type", "json_valid",
    "jsonb", "jsonb_array", "jsonb_array_insert", "jsonb_extract", "jsonb_group_array", "jsonb_group_object",
    "jsonb_insert", "jsonb_object", "jsonb_patch", "jsonb_remove", "jsonb_replace", "jsonb_set", "julianday", "lag",
    "last_insert_rowid", "last_value", "lead", "length", "like", "likelihood", "likely", "lower", "ltrim", "match",
    "matchinfo", "max", "min", "nth_value", "ntile", "nullif", "octet_length", "offsets", "percent_rank", "printf",
    "quote", "random", "randomblob", "rank", "replace", "round", "row_number", "rtrim", "sign", "snippet", "soundex",
    "sqlite_compileoption_get", "sqlite_compileoption_used", "sqlite_source_id", "sqlite_version", "strftime",
    "string_agg", "substr", "substring", "subtype", "sum", "time", "timediff", "total", "total_changes", "trim",
    "typeof", "unhex", "unicode", "unistr", "unistr_quote", "unixepoch", "unlikely", "upper", "zeroblob",
];

/// Functions that access other resources, or reveal the library's internals.
#[cfg(test)]
pub(super) const REFUSED: [&str; 8] =
    ["fts3_tokenizer", "fts5", "load_extension", "optimize", "rtreecheck", "rtreedepth", "rtreenode", "sqlite_log"];

/// Sets the limits of a new connection, before its first statement.
pub(super) fn raise(raw: *mut ffi::sqlite3) -> c_int {
    // SAFETY: the connection is open, and nobody else uses it; the callback needs nothing of the caller's.
    unsafe {
        for (limit, value) in LIMITS {
            ffi::sqlite3_limit(raw, limit, value);
        }
        ffi::sqlite3_hard_heap_limit64(HEAP_BYTES);
        let defended =
            ffi::sqlite3_db_config(raw, ffi::SQLITE_DBCONFIG_DEFENSIVE, 1 as c_int, ptr::null_mut::<c_int>());
        match defended {
            ffi::SQLITE_OK => ffi::sqlite3_set_authorizer(raw, Some(authorize), ptr::null_mut()),
            code => code,
        }
    }
}

/// Whether an action is allowed. SQLite gives its kind, up to two names, and the database.
extern "C" fn authorize(
    _: *mut c_void,
    action: c_int,
    first: *const c_char,
    second: *const c_char,
    database: *const c_char,
    _trigger: *const c_char,
) -> c_int {
    // SAFETY: SQLite gives C strings, or null.
    let name = |text: *const c_char| unsafe { (!text.is_null()).then(|| CStr::from_ptr(text)) };
    let is_listed = |list: &[&str], text: Option<&CStr>| {
        text.is_some_and(|text| list.iter().any(|one| one.as_bytes().eq_ignore_ascii_case(text.to_bytes())))
    };
    let allowed = match action {
        // These do not change the rows of the served file, because it is read-only.
        ffi::SQLITE_SELECT
        | ffi::SQLITE_READ
        | ffi::SQLITE_RECURSIVE
        | ffi::SQLITE_TRANSACTION
        | ffi::SQLITE_SAVEPOINT
        | ffi::SQLITE_INSERT
        | ffi::SQLITE_UPDATE
        | ffi::SQLITE_DELETE
        | ffi::SQLITE_CREATE_TEMP_TABLE
        | ffi::SQLITE_CREATE_TEMP_INDEX
        | ffi::SQLITE_CREATE_TEMP_VIEW
        | ffi::SQLITE_DROP_TEMP_TABLE
        | ffi::SQLITE_DROP_TEMP_INDEX
        | ffi::SQLITE_DROP_TEMP_VIEW => true,
        // The action that fills a new index.
        ffi::SQLITE_REINDEX => name(database) == Some(TEMPORARY),
        ffi::SQLITE_FUNCTION => is_listed(&FUNCTIONS, name(second)),
        ffi::SQLITE_PRAGMA => match name(second) {
            None => is_listed(&PRAGMAS, name(first)),
            Some(_) => is_listed(&NAMING, name(first)),
        },
        _ => false,
    };
    if allowed { ffi::SQLITE_OK } else { ffi::SQLITE_DENY }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::time::Duration;

    use super::super::descriptor_table;
    use super::super::library::Database;
    use super::super::value::Cell;
    use super::*;
    use crate::Access;

    fn names(access: Access, sql: &'static str) -> Vec<String> {
        descriptor_table::run(move || read_names(access, sql)).unwrap()
    }

    fn read_names(access: Access, sql: &str) -> Vec<String> {
        let database = Database::open(c":memory:", false, Duration::ZERO, access).unwrap();
        let (statement, _) = database.prepare(sql).unwrap();
        let (mut statement, mut found) = (statement.unwrap(), Vec::new());
        while let Some(row) = statement.step().unwrap() {
            if let Some(Cell::Text(name)) = row.value(0).cell() {
                found.push(String::from_utf8_lossy(name).into_owned());
            }
        }
        found
    }

    #[test]
    fn each_function_of_the_library_is_allowed_or_refused() {
        let known = names(Access::Own, "SELECT DISTINCT name FROM pragma_function_list ORDER BY name");
        let mut decided: Vec<_> = FUNCTIONS.iter().chain(&REFUSED).map(|name| (*name).to_owned()).collect();
        decided.sort_unstable();
        assert_eq!(decided, known);
    }

    #[test]
    fn each_pragma_of_the_library_is_refused_unless_it_only_tells() {
        for name in names(Access::Own, "SELECT name FROM pragma_pragma_list") {
            // What the PRAGMA itself says of this value and this database does not matter.
            let refused = |statement: String| {
                let prepared = descriptor_table::run(move || {
                    let database = Database::open(c":memory:", false, Duration::ZERO, Access::Gateway).unwrap();
                    database.prepare(&statement).map(drop)
                });
                prepared.unwrap().is_err_and(|error| error.sqlstate() == Some("42501"))
            };
            let (bare, named) = (PRAGMAS.contains(&name.as_str()), NAMING.contains(&name.as_str()));
            assert_eq!(refused(format!("PRAGMA {name}")), !bare, "{name}");
            assert_eq!(refused(format!("PRAGMA {name} = 'x'")), !named, "{name}");
        }
    }
}
