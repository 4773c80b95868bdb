//! `_serve.settings.Settings`, as the server takes it.

use std::path::PathBuf;
use std::time::Duration;

use colonnade_server::Options;
use colonnade_server::limits::Limits;
use pyo3::prelude::*;

/// The attributes of the same names; times are in seconds, and 0 is no limit.
#[derive(FromPyObject)]
pub(crate) struct PyOptions {
    encode_cpu: f64,
    max_connections: usize,
    max_user_connections: usize,
    max_address_logins: usize,
    login_timeout: f64,
    statement_timeout: f64,
    idle_timeout: f64,
    idle_transaction_timeout: f64,
    max_result_bytes: u64,
    max_session_memory: usize,
    spool_bytes: usize,
    spool_directory: Option<PathBuf>,
    log_statements: bool,
}

impl From<PyOptions> for Options {
    fn from(options: PyOptions) -> Self {
        let limits = Limits {
            connections: options.max_connections,
            user_connections: Some(options.max_user_connections).filter(|count| *count > 0),
            address_logins: Some(options.max_address_logins).filter(|count| *count > 0),
            login: seconds(options.login_timeout).unwrap_or(Duration::MAX),
            statement: seconds(options.statement_timeout),
            idle: seconds(options.idle_timeout),
            idle_in_transaction: seconds(options.idle_transaction_timeout),
            result_bytes: Some(options.max_result_bytes).filter(|count| *count > 0),
            session_memory: Some(options.max_session_memory).filter(|count| *count > 0),
            spool_bytes: Some(options.spool_bytes).filter(|count| *count > 0),
            spool_directory: options.spool_directory,
        };
        let PyOptions { encode_cpu, log_statements, .. } = options;
        Self { encode_cpu, limits, log_statements, ..Self::default() }
    }
}

fn seconds(count: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(count).ok().filter(|time| !time.is_zero())
}
