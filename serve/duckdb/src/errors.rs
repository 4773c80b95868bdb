//! Parses DuckDB's error texts into SQLSTATE, position and hint.
//!
//! Errors reach the server as text only, because Arrow's C stream interface carries nothing else. Each text begins with
//! DuckDB's class of the error (`Catalog Error: …`). Many end with the line of the statement and a caret under the
//! position.

use colonnade_server::{EngineError, SqlState};
use colonnade_sql::{Dialect, TokenKind};

use crate::insert::BATCH_NAME;
use crate::repeated;

/// What this crate does not do itself (0A000), with what to do instead.
pub(crate) fn refused(text: String, hint: &str) -> EngineError {
    EngineError { hint: Some(hint.to_owned()), ..EngineError::new(SqlState::FEATURE_NOT_SUPPORTED, text) }
}

/// Makes an error with an SQLSTATE of DuckDB's error text about `statement`.
pub(crate) fn error(text: &str, statement: &str) -> EngineError {
    let text = text.trim();
    if TOO_DEEP.iter().any(|words| text.contains(words)) {
        let message = "a value or an expression is nested too deeply";
        let error = EngineError::new(SqlState::STATEMENT_TOO_COMPLEX, message);
        return EngineError { detail: Some(text.to_owned()), hint: Some(NESTING_HINT.to_owned()), ..error };
    }
    let (body, position) = match text.rfind("LINE ") {
        Some(start) => match position(&text[start..], statement) {
            Some(position) => (text[..start].trim_end(), Some(position)),
            None => (text, None),
        },
        None => (text, None),
    };
    let position = position.or_else(|| position_of_name(body, statement));
    let (message, rest) = body.split_once('\n').unwrap_or((body, ""));
    // It would drop the tables that use a type or a sequence.
    let rest = rest.trim().trim_end_matches(CASCADE_ADVICE).trim_end();
    let rest = (!rest.is_empty()).then(|| rest.to_owned());
    let is_hint = rest.as_deref().is_some_and(|rest| HINT_PREFIXES.iter().any(|start| rest.starts_with(start)));
    let (detail, hint) = if is_hint { (None, rest) } else { (rest, None) };
    let hint = hint.or_else(|| is_disk_full(message).then(|| DISK_FULL_HINT.to_owned()));
    let class_and_text = message.split_once(": ");
    let is_late_duplicate = class_and_text.is_some_and(|(_, text)| text.starts_with(LATE_DUPLICATE));
    let hint = hint.or_else(|| is_late_duplicate.then(|| LATE_DUPLICATE_HINT.to_owned()));
    let hint = hint.or_else(|| message.ends_with(INDEXED).then(|| INDEXED_HINT.to_owned()));
    let hint = match NUMBERED.iter().any(|words| message.contains(words)) {
        true => Some(NUMBERED_HINT.to_owned()),
        false => hint,
    };
    if message.starts_with(MACRO) && message.contains(WRONG_ARGUMENTS) {
        // The client has called a function, whatever DuckDB stores it as.
        let message = message.replacen("Macro ", "Function ", 1);
        let detail = detail.map(|detail| detail.replace("Candidate macros", "Candidate functions"));
        let hint = Some(ARGUMENTS_HINT.to_owned());
        return EngineError { detail, hint, position, ..EngineError::new(SqlState::UNDEFINED_FUNCTION, message) };
    }
    if is_row_lock(message, statement, position) {
        return EngineError {
            position,
            ..refused("row locks (FOR UPDATE, FOR SHARE) are not supported".to_owned(), ROW_LOCK_HINT)
        };
    }
    if message.starts_with(DISPATCHER_MISPLACED) {
        let message = "a function in Python cannot be used in this expression";
        let hint = Some(MISPLACED_HINT.to_owned());
        return EngineError { hint, position, ..EngineError::new(SqlState::FEATURE_NOT_SUPPORTED, message) };
    }
    if message.contains(UNKNOWN_CONSTANT.0) && message.contains(UNKNOWN_CONSTANT.1) {
        let message = "the type of an argument of an aggregate in Python is not known";
        let hint = Some("Cast it to the type of the parameter.".to_owned());
        return EngineError { hint, position, ..EngineError::new(SqlState::INDETERMINATE_DATATYPE, message) };
    }
    // DuckDB invalidates the database after internal errors and errors of the disk. Then every statement fails with
    // this error. Only DuckDB writes the beginning of the text, so a client cannot cause it.
    let ends_engine = message.starts_with("FATAL Error: ");
    let code = code(body);
    if code == SqlState::DIVISION_BY_ZERO {
        return EngineError { position, ..division_by_zero(message) };
    }
    let error = EngineError { detail, hint, position, ends_engine, ..EngineError::new(code, message) };
    let is_concurrent = error.code == SqlState::UNIQUE_VIOLATION && repeated::is_concurrent(statement, message);
    if is_concurrent { repeatable(error) } else { error }
}

/// PostgreSQL's words for a division by zero. DuckDB's name the expression, and what to do.
fn division_by_zero(message: &str) -> EngineError {
    let (_, words) = message.split_once(": ").unwrap_or(("", message));
    let (expression, advice) = words.split_once(". ").unwrap_or((words, ""));
    // The session may not change the setting that the advice ends with.
    let hint = advice.split_once(", or SET").map(|(advice, _)| format!("{advice}."));
    // The divisor of `divisions` is not the client's.
    let detail = (!expression.contains("0 % 0")).then(|| format!("{}.", expression.trim_end_matches('.')));
    EngineError { detail, hint, ..EngineError::new(SqlState::DIVISION_BY_ZERO, "division by zero") }
}

/// The error of a statement that says what to do with keys that are there, and meets one that another session has added
/// meanwhile. PostgreSQL has the same SQLSTATE for it ("repeatable read"), by which clients repeat the transaction.
pub(crate) fn repeatable(error: EngineError) -> EngineError {
    if error.code != SqlState::UNIQUE_VIOLATION {
        return error;
    }
    EngineError { code: SqlState::SERIALIZATION_FAILURE, hint: Some(LATE_DUPLICATE_HINT.to_owned()), ..error }
}

/// The errors of DuckDB's parser, Arrow's C interface (64 levels) and Python for too deeply nested values.
const TOO_DEEP: [&str; 3] = [
    "Max expression depth limit of",
    "Recursion level in ArrowSchema struct exceeded",
    "maximum recursion depth exceeded",
];
const NESTING_HINT: &str = "Split nested values in the query, or cast them to VARCHAR.";

/// DuckDB's advice after an error of DROP.
const CASCADE_ADVICE: &str = "Use DROP...CASCADE to drop all dependents.";
/// The beginnings of DuckDB's lines that are hints.
const HINT_PREFIXES: [&str; 4] = ["Did you mean", "Candidate bindings", "Either add it", "Use \"SET"];

/// The errors for columns that number their rows in statements other than CREATE TABLE (`numbered`).
const NUMBERED: [&str; 4] = ["name serial ", "name bigserial ", "name smallserial ", "at or near \"identity\""];
const NUMBERED_HINT: &str =
    "It is supported in CREATE TABLE only; elsewhere write CREATE SEQUENCE s, and DEFAULT nextval('s') for the column.";

/// The end of the errors for changes of a column with an index. Migrations drop the index in the same transaction.
const INDEXED: &str = "an index depends on it!";
const INDEXED_HINT: &str = "Drop the index and commit, then run this statement: DuckDB sees an index until the \
                            transaction that drops it has ended.";

/// The error of a macro, which may be a function in Python, for arguments of other types.
const MACRO: &str = "Binder Error: Macro ";
const WRONG_ARGUMENTS: &str = "does not support the supplied arguments";
const ARGUMENTS_HINT: &str =
    "Add casts to the types of the parameters. A string needs one too, for example DATE '2025-01-31'.";

/// The error of a call whose first argument depends on the type of a placeholder (`aggregates.rs`).
const UNKNOWN_CONSTANT: (&str, &str) = ("in function \"colonnade_aggregate", "must be a constant expression");

/// DuckDB has no functions of its C interface in the expressions of indexes.
const DISPATCHER_MISPLACED: &str = "Binder Error: Cannot use \"colonnade_";
const MISPLACED_HINT: &str = "For an index, store the function's value in a column, and index that.";

/// Whether a message has the operating system's text for a full disk (ENOSPC). It can occur in errors of several
/// classes.
fn is_disk_full(message: &str) -> bool {
    message.contains("No space left on device")
}
const DISK_FULL_HINT: &str =
    "Earlier committed changes are kept. Free space on that disk, and run the statement again.";

/// How COMMIT reports a key that another session has committed meanwhile.
const LATE_DUPLICATE: &str = "Failed to commit: PRIMARY KEY or UNIQUE constraint violation";
const LATE_DUPLICATE_HINT: &str =
    "Another session has committed a row with this key meanwhile. Repeat the transaction.";

/// What to do without row locks. The clause is not ignored, because a lock also protects rows that its transaction does
/// not change.
const ROW_LOCK_HINT: &str = "Leave the clause out. If another transaction changes a row that this one changes too, \
                             one of them fails with 40001, and has to be repeated.";

/// Whether the parser has stopped at FOR UPDATE, FOR NO KEY UPDATE, FOR SHARE or FOR KEY SHARE.
fn is_row_lock(message: &str, statement: &str, position: Option<usize>) -> bool {
    let is_for = message.to_ascii_lowercase().ends_with("syntax error at or near \"for\"");
    let Some((start, _)) = position.filter(|_| is_for).and_then(|at| statement.char_indices().nth(at)) else {
        return false;
    };
    let clause = colonnade_sql::code(&statement[start..], Dialect::DuckDb).skip(1).take(2);
    clause.into_iter().any(|word| word.is_one_of(&["update", "share", "key"]))
}

/// The SQLSTATE of a message, by its class and, if a class has several, by its words.
fn code(text: &str) -> SqlState {
    let (class, message) = text.split_once(": ").unwrap_or(("", text));
    let says = |words: &str| message.contains(words);
    if is_disk_full(message) {
        return SqlState::DISK_FULL;
    }
    match class {
        "Syntax Error" if says("escape character") || says("escape string") => SqlState::INVALID_ESCAPE_SEQUENCE,
        "Parser Error" | "Syntax Error" => SqlState::SYNTAX_ERROR,
        "Catalog Error" => catalog_code(message),
        "Binder Error" => binder_code(message),
        "Constraint Error" if says("NOT NULL") => SqlState::NOT_NULL_VIOLATION,
        "Constraint Error" if says("foreign key") => SqlState::FOREIGN_KEY_VIOLATION,
        "Constraint Error" if says("uplicate key") || says("contains duplicates") => SqlState::UNIQUE_VIOLATION,
        "Constraint Error" if says("CHECK") => SqlState::CHECK_VIOLATION,
        "Constraint Error" => SqlState::INTEGRITY_CONSTRAINT_VIOLATION,
        "Conversion Error" if says("field value out of range") => SqlState::DATETIME_FIELD_OVERFLOW,
        "Conversion Error" if says("out of range") || says("Could not cast value") => {
            SqlState::NUMERIC_VALUE_OUT_OF_RANGE
        }
        "Conversion Error" if says("cannot cast type ") || says("Unimplemented type for cast") => {
            SqlState::new("42846")
        }
        // Errors of ranges (`keyed.rs`).
        "Conversion Error" if says("lower bound must be less") || says("would not be contiguous") => {
            SqlState::new("22000")
        }
        "Conversion Error" => SqlState::INVALID_TEXT_REPRESENTATION,
        "Out of Range Error" => SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        "Invalid Input Error" if says("Division by zero") => SqlState::DIVISION_BY_ZERO,
        "Invalid Input Error" if says("Values were not provided") => SqlState::UNDEFINED_PARAMETER,
        "Invalid Input Error" if says("More than one row returned by a subquery") => SqlState::CARDINALITY_VIOLATION,
        "Invalid Input Error" if says("configuration has been locked") => SqlState::INSUFFICIENT_PRIVILEGE,
        // Python exports the batch that a COPY … FROM inserts.
        "Invalid Input Error" if says(BATCH_NAME) && says("failed: MemoryError") => SqlState::OUT_OF_MEMORY,
        // The error of the macro of a function that is called before a statement (`function_macro.py`).
        "Invalid Input Error" if says("function ") && says(" cannot be called here") => SqlState::FEATURE_NOT_SUPPORTED,
        "Invalid Input Error" if says("is a Macro Function. \"DISTINCT\"") => SqlState::WRONG_OBJECT_TYPE,
        "Invalid Input Error" if says("read-only") => SqlState::READ_ONLY_SQL_TRANSACTION,
        // The error of a text that COPY … FROM has cast (`insert`).
        "Invalid Input Error" if message.starts_with("column \"") && says("\", row ") => {
            SqlState::INVALID_TEXT_REPRESENTATION
        }
        // Errors of the catalog's functions (`catalog_names.sql`).
        "Invalid Input Error" if message.starts_with("relation \"") => SqlState::UNDEFINED_TABLE,
        "Invalid Input Error" if message.starts_with("function \"") => SqlState::UNDEFINED_FUNCTION,
        "Invalid Input Error" if message.starts_with("schema \"") => SqlState::INVALID_SCHEMA_NAME,
        "Invalid Input Error" if message.starts_with("index ") && says(" out of valid range, 0..") => {
            SqlState::new("2202E")
        }
        "Invalid Input Error" if message.starts_with("set_config() cannot") => SqlState::FEATURE_NOT_SUPPORTED,
        "Invalid Input Error"
            if message.starts_with("type \"") || message.starts_with("unrecognized configuration parameter") =>
        {
            SqlState::UNDEFINED_OBJECT
        }
        "Invalid Input Error" => SqlState::DATA_EXCEPTION,
        // Of signals to sessions, and of advisory locks.
        "permission denied" => SqlState::INSUFFICIENT_PRIVILEGE,
        "value out of range" => SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        "deadlock detected" => SqlState::DEADLOCK_DETECTED,
        "out of shared memory" => SqlState::OUT_OF_MEMORY,
        // Of notifications.
        "channel name cannot be empty" | "channel name too long" | "payload string too long" => {
            SqlState::INVALID_PARAMETER_VALUE
        }
        "too many notifications" => SqlState::PROGRAM_LIMIT_EXCEEDED,
        "INTERRUPT Error" => SqlState::QUERY_CANCELED,
        // The first, because the text ends with the key.
        "TransactionContext Error" if message.starts_with(LATE_DUPLICATE) => SqlState::UNIQUE_VIOLATION,
        "TransactionContext Error" if says("read-only mode") => SqlState::READ_ONLY_SQL_TRANSACTION,
        "TransactionContext Error" if says("aborted") => SqlState::IN_FAILED_SQL_TRANSACTION,
        "TransactionContext Error" if says("within a transaction") => SqlState::ACTIVE_SQL_TRANSACTION,
        "TransactionContext Error" if says("no transaction is active") => SqlState::NO_ACTIVE_SQL_TRANSACTION,
        "TransactionContext Error" if says("onflict") => SqlState::SERIALIZATION_FAILURE,
        "TransactionContext Error" => SqlState::INVALID_TRANSACTION_STATE,
        "IO Error" if says("No files found") || says("No such file") => SqlState::UNDEFINED_FILE,
        "IO Error" | "HTTP Error" | "Serialization Error" => SqlState::IO_ERROR,
        "Permission Error" => SqlState::INSUFFICIENT_PRIVILEGE,
        "Not implemented Error" if says("TimeZone") => SqlState::INVALID_PARAMETER_VALUE,
        "Not implemented Error" | "Missing Extension Error" => SqlState::FEATURE_NOT_SUPPORTED,
        "Out of Memory Error" => SqlState::OUT_OF_MEMORY,
        "Resource In Use Error" => SqlState::OBJECT_IN_USE,
        "Dependency Error" => SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
        "Mismatch Type Error" | "Invalid type Error" => SqlState::DATATYPE_MISMATCH,
        "Sequence Error" => SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
        "Settings Error" | "Invalid Configuration Error" => SqlState::INVALID_PARAMETER_VALUE,
        "Object Size Error" => SqlState::PROGRAM_LIMIT_EXCEEDED,
        "Parameter Not Resolved Error" => SqlState::INDETERMINATE_DATATYPE,
        "Parameter Not Allowed Error" => SqlState::UNDEFINED_PARAMETER,
        _ => SqlState::INTERNAL_ERROR,
    }
}

fn catalog_code(message: &str) -> SqlState {
    let first = message.split_whitespace().next().unwrap_or_default();
    let is_new = message.contains("already exists");
    match first {
        "Table" | "View" if is_new => SqlState::DUPLICATE_TABLE,
        "Table" | "View" => SqlState::UNDEFINED_TABLE,
        "Schema" if is_new => SqlState::DUPLICATE_SCHEMA,
        "Schema" => SqlState::INVALID_SCHEMA_NAME,
        "Column" if is_new => SqlState::DUPLICATE_COLUMN,
        "Scalar" | "Aggregate" | "Macro" if !is_new => SqlState::UNDEFINED_FUNCTION,
        _ if message.contains("Function with name") && !is_new => SqlState::UNDEFINED_FUNCTION,
        _ if is_new => SqlState::DUPLICATE_OBJECT,
        _ if message.contains(" depends on it") => SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
        _ if message.contains("write-write conflict") => SqlState::SERIALIZATION_FAILURE,
        _ => SqlState::UNDEFINED_OBJECT,
    }
}

fn binder_code(message: &str) -> SqlState {
    let says = |words: &str| message.contains(words);
    if says("Referenced table") {
        SqlState::UNDEFINED_TABLE
    } else if says("Ambiguous reference") {
        SqlState::AMBIGUOUS_COLUMN
    } else if says("Referenced column") || says("does not have a column") || says("does not contain column") {
        SqlState::UNDEFINED_COLUMN
    } else if says("No function matches") {
        SqlState::UNDEFINED_FUNCTION
    } else if says("must appear in the GROUP BY clause") {
        SqlState::GROUPING_ERROR
    } else if says("Cannot compare values of type") || says("an explicit cast is required") {
        SqlState::DATATYPE_MISMATCH
    } else {
        SqlState::SYNTAX_ERROR_OR_ACCESS_RULE_VIOLATION
    }
}

/// The position to which the caret under a `LINE n: …` excerpt points, in characters of the statement. DuckDB shortens
/// long lines, so the excerpt is searched in line `n`. If it does not occur there, there is no position.
fn position(excerpt: &str, statement: &str) -> Option<usize> {
    let (shown, caret) = excerpt.split_once('\n')?;
    let number = shown.strip_prefix("LINE ")?.split(':').next()?;
    let line_number: usize = number.parse().ok()?;
    let prefix = "LINE ".len() + number.len() + ": ".len();
    let shown = shown.get(prefix..)?;
    let caret = caret.find('^')?.checked_sub(prefix)?;
    let line = statement.split('\n').nth(line_number.checked_sub(1)?)?;
    let before: usize = statement.split('\n').take(line_number - 1).map(|line| line.chars().count() + 1).sum();
    let cut_left = shown.starts_with("...");
    let core = shown.strip_prefix("...").unwrap_or(shown);
    let core = core.strip_suffix("...").unwrap_or(core);
    let start = line.find(core)?;
    let column = line[..start].chars().count() + caret.checked_sub(if cut_left { 3 } else { 0 })?;
    (column <= line.chars().count()).then_some(before + column)
}

/// The position of the name in a message, if the name occurs once in the statement. DuckDB's error has no excerpt if a
/// relation is bound before it runs.
fn position_of_name(body: &str, statement: &str) -> Option<usize> {
    let (_, rest) = NAME_PREFIXES.iter().find_map(|start| body.split_once(start))?;
    let name = match rest.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next()?,
        None => rest.split_whitespace().next()?,
    };
    let is_name = |kind| matches!(kind, TokenKind::Word | TokenKind::Name);
    let mut found = colonnade_sql::code(statement, Dialect::DuckDb)
        .filter(|token| is_name(token.kind) && token.folded().eq_ignore_ascii_case(name));
    let token = found.next().filter(|_| found.next().is_none())?;
    Some(statement[..token.start].chars().count())
}

/// The words before the name in messages about missing objects.
const NAME_PREFIXES: [&str; 5] =
    ["Table with name ", "Function with name ", "Schema with name ", "Referenced column ", "Referenced table "];

#[cfg(test)]
mod tests;
