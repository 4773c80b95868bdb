//! The settings that a part has from its planner. They decide which rows a query gives, in which order, and how values
//! are written.
//!
//! A ticket may come from a stranger, so the reader checks its settings by the same list. Others, such as time limits,
//! are the reader's own. Parts run without parallel workers and COPY uses no plan of before, so settings of these
//! decide nothing.

use crate::{Error, ErrorKind};

/// Settings whose values are words: `on`, `escape`, `auto`.
const WORDS: [&str; 34] = [
    "IntervalStyle",
    "array_nulls",
    "backslash_quote",
    "bytea_output",
    "constraint_exclusion",
    "enable_async_append",
    "enable_bitmapscan",
    "enable_distinct_reordering",
    "enable_eager_aggregate",
    "enable_group_by_reordering",
    "enable_hashagg",
    "enable_hashjoin",
    "enable_incremental_sort",
    "enable_indexonlyscan",
    "enable_indexscan",
    "enable_material",
    "enable_memoize",
    "enable_mergejoin",
    "enable_nestloop",
    "enable_partition_pruning",
    "enable_partitionwise_aggregate",
    "enable_partitionwise_join",
    "enable_presorted_aggregate",
    "enable_self_join_elimination",
    "enable_seqscan",
    "enable_sort",
    "enable_tidscan",
    "geqo",
    "quote_all_identifiers",
    "row_security",
    "standard_conforming_strings",
    "transform_null_equals",
    "xmlbinary",
    "xmloption",
];
/// Settings whose values are numbers, in the unit of `pg_settings`.
const NUMBERS: [&str; 19] = [
    "cpu_index_tuple_cost",
    "cpu_operator_cost",
    "cpu_tuple_cost",
    "effective_cache_size",
    "extra_float_digits",
    "from_collapse_limit",
    "geqo_effort",
    "geqo_generations",
    "geqo_pool_size",
    "geqo_seed",
    "geqo_selection_bias",
    "geqo_threshold",
    "gin_fuzzy_search_limit",
    "hash_mem_multiplier",
    "join_collapse_limit",
    "random_page_cost",
    "recursive_worktable_factor",
    "seq_page_cost",
    "work_mem",
];
/// Settings whose values are names, or lists of them. The last two are the user and the role, because rights decide
/// about rows.
const TEXTS: [&str; 10] = [
    "DateStyle",
    "TimeZone",
    "default_text_search_config",
    "lc_monetary",
    "lc_numeric",
    "lc_time",
    "search_path",
    "timezone_abbreviations",
    "session_authorization",
    "role",
];

/// Whether a part has this setting of its planner. One with a dot in its name is an extension's, and may decide about
/// rows, as `pg_trgm.similarity_threshold` does; which ones exist is known only after their libraries are loaded.
pub(super) fn is_carried(name: &str) -> bool {
    [&WORDS[..], &NUMBERS, &TEXTS].iter().any(|names| names.contains(&name)) || is_custom(name)
}

/// Checks the settings of a ticket.
///
/// # Errors
/// No planner gives a part one of the settings, or this value of it.
pub(super) fn check(settings: &[(String, String)]) -> Result<(), Error> {
    let wrong = settings.iter().find(|(name, value)| !is_carried(name) || !has_form(name, value));
    let Some((name, _)) = wrong else { return Ok(()) };
    let message =
        format!("the part changes the setting {name:?}, or to a value that it cannot have: no plan has such a part");
    Err(Error::new(ErrorKind::Usage, message)
        .with_hint("read only parts of planners that you trust, as they were made"))
}

/// Whether a value has the form of the setting's values. The database checks its meaning.
fn has_form(name: &str, value: &str) -> bool {
    if WORDS.contains(&name) {
        return value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    }
    if NUMBERS.contains(&name) {
        return value.parse::<f64>().is_ok_and(f64::is_finite);
    }
    !value.contains('\0')
}

/// Whether a name has the form of a custom setting (`valid_custom_variable_name` in PostgreSQL's `guc.c`).
fn is_custom(name: &str) -> bool {
    let is_start = |letter: char| letter.is_ascii_alphabetic() || letter == '_' || !letter.is_ascii();
    let is_part = |part: &str| {
        part.starts_with(is_start)
            && part.chars().all(|letter| is_start(letter) || letter.is_ascii_digit() || letter == '$')
    };
    name.contains('.') && name.split('.').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_one(name: &str, value: &str) -> bool {
        check(&[(name.to_owned(), value.to_owned())]).is_ok()
    }

    #[test]
    fn only_what_decides_about_rows_is_carried() {
        for (name, value) in [
            ("search_path", "\"a\", 'ß'"),
            ("TimeZone", "<+03>-03"),
            ("extra_float_digits", "-15"),
            ("random_page_cost", "1.1e+00"),
            ("enable_seqscan", "off"),
            ("app.tenant", "it's\n42"),
            ("a.b.ß$1", ""),
            ("role", "none"),
        ] {
            assert!(check_one(name, value), "{name}");
        }
        for name in [
            "statement_timeout",
            "default_transaction_read_only",
            "transaction_read_only",
            "log_statement",
            "session_replication_role",
            "SEARCH_PATH",
            "search_path ",
            "",
            ".",
            "a.",
            ".a",
            "a.1b",
            "a b.c",
            "a.b;c",
            "a.b\0",
        ] {
            assert!(!check_one(name, "1"), "{name:?}");
        }
    }

    #[test]
    fn values_have_the_form_of_their_setting() {
        for (name, value) in [
            ("enable_seqscan", "off'"),
            ("geqo", "a b"),
            ("work_mem", "1 TB"),
            ("work_mem", ""),
            ("extra_float_digits", "inf"),
            ("search_path", "a\0b"),
            ("app.tenant", "\0"),
        ] {
            assert!(!check_one(name, value), "{name} {value:?}");
        }
    }
}
