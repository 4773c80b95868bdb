//! The settings that the session knows, and what each one does.

use crate::limits::Timeout;
use crate::session::settings::modes::Mode;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// The value is stored for SHOW, and has no other effect.
    Charged,
    /// Only one value is accepted, in one of these spellings.
    Only(&'static [&'static str]),
    /// The setting describes the server. Only its present value is accepted.
    ReadOnly,
    /// The value is a time. It has no effect, and the client is warned.
    IgnoredTime,
    /// The value is a time limit of the session. The server's own limit still applies.
    TimeLimit(Timeout),
    /// The encoding of the client's texts.
    Encoding,
    /// The form of dates and timestamps in text.
    DateStyle,
    /// The form of intervals in text.
    IntervalStyle,
    SearchPath,
    /// The only value is the client's role, and for `role` also `none`, which is the same one.
    Role,
    /// A mode of the session's next transactions.
    TransactionDefault(Mode),
    /// A mode of the present transaction. The transaction has the value.
    Transaction(Mode),
    /// The value is the time zone of the session and of the engine.
    TimeZone,
}

pub(super) struct KnownSetting {
    pub name: &'static str,
    pub default: &'static str,
    pub effect: Effect,
    /// Whether changes are reported to the client (PostgreSQL's GUC_REPORT).
    pub is_reported: bool,
}

const fn known(name: &'static str, default: &'static str, effect: Effect, is_reported: bool) -> KnownSetting {
    KnownSetting { name, default, effect, is_reported }
}

use Effect::{
    Charged, DateStyle, Encoding, IgnoredTime, IntervalStyle, Only, ReadOnly, Role, SearchPath, TimeLimit, TimeZone,
    Transaction, TransactionDefault,
};

pub(super) const CLIENT_ENCODING: &str = "client_encoding";
pub(super) const DATE_STYLE: &str = "DateStyle";
pub(super) const DEFAULT_DEFERRABLE: &str = "default_transaction_deferrable";
pub(super) const DEFAULT_ISOLATION: &str = "default_transaction_isolation";
pub(super) const DEFAULT_READ_ONLY: &str = "default_transaction_read_only";
pub(super) const INTERVAL_STYLE: &str = "IntervalStyle";
pub(super) const ROLE: &str = "role";
pub(super) const SESSION_AUTHORIZATION: &str = "session_authorization";

pub(super) const KNOWN: [KnownSetting; 38] = [
    known("application_name", "", Charged, true),
    known("bytea_output", "hex", Only(&["hex"]), false),
    known("check_function_bodies", "on", Charged, false),
    known(CLIENT_ENCODING, "UTF8", Encoding, true),
    known("client_min_messages", "notice", Charged, false),
    known(DATE_STYLE, "ISO, MDY", DateStyle, true),
    known(DEFAULT_DEFERRABLE, "off", TransactionDefault(Mode::Deferrable), false),
    known(DEFAULT_ISOLATION, "repeatable read", TransactionDefault(Mode::Isolation), false),
    known(DEFAULT_READ_ONLY, "off", TransactionDefault(Mode::ReadOnly), true),
    // It has no effect, because floats always have the shortest text that reads back as the same number.
    known("escape_string_warning", "on", Charged, false),
    known("extra_float_digits", "1", Charged, false),
    known("idle_in_transaction_session_timeout", "0", TimeLimit(Timeout::IdleInTransaction), false),
    known("idle_session_timeout", "0", TimeLimit(Timeout::Idle), false),
    known("in_hot_standby", "off", ReadOnly, true),
    known("integer_datetimes", "on", ReadOnly, true),
    known(INTERVAL_STYLE, "postgres", IntervalStyle, true),
    known("is_superuser", "off", ReadOnly, true),
    known("jit", "off", Charged, false),
    known("lc_collate", "C", ReadOnly, false),
    known("lc_messages", "C", Charged, false),
    known("lc_monetary", "C", Charged, false),
    known("lock_timeout", "0", IgnoredTime, false),
    known("max_identifier_length", "63", ReadOnly, false),
    known(ROLE, "none", Role, false),
    known("row_security", "on", Charged, false),
    // As in PostgreSQL 15, it is not reported. The engine has its value.
    known("search_path", "main", SearchPath, false),
    known("server_encoding", "UTF8", ReadOnly, true),
    known("server_version", "", ReadOnly, true),
    known("server_version_num", "150000", ReadOnly, false),
    known(SESSION_AUTHORIZATION, "", Role, true),
    known("standard_conforming_strings", "on", Only(&["on", "true", "1"]), true),
    known("statement_timeout", "0", TimeLimit(Timeout::Statement), false),
    known("synchronize_seqscans", "on", Charged, false),
    known("TimeZone", "UTC", TimeZone, true),
    known("transaction_isolation", "repeatable read", Transaction(Mode::Isolation), false),
    known("transaction_read_only", "off", Transaction(Mode::ReadOnly), false),
    known("transaction_deferrable", "off", Transaction(Mode::Deferrable), false),
    known("xmloption", "content", Charged, false),
];

/// Whether there is a setting with this name.
pub fn is_known(name: &str) -> bool {
    find(name).is_some()
}

/// The index of a setting, by its name in any letter case.
pub(super) fn find(name: &str) -> Option<usize> {
    KNOWN.iter().position(|known| known.name.eq_ignore_ascii_case(name))
}
