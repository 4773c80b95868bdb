//! Why a call has failed.

use std::io;
use std::time::Duration;

use thiserror::Error;

use crate::function::Function;
use crate::memory::MemoryExceeded;

/// Why a call has failed. The session survives; a process that was killed is replaced at the next call.
#[derive(Debug, Error)]
pub enum CallError {
    /// The body is not valid Python.
    #[error("{0}")]
    Syntax(Box<FunctionError>),
    /// The function raised an exception.
    #[error("{0}")]
    Exception(Box<FunctionError>),
    /// The result has a wrong shape, number of rows or type.
    #[error("{0}")]
    Result(Box<FunctionError>),
    /// A value does not fit into its type; the class says how.
    #[error("{1}")]
    Value(ValueFault, Box<FunctionError>),
    /// What the function process has written is not valid. It was killed.
    #[error("function \"{function}\": the answer of its worker process is not valid: {fault}")]
    Broken {
        /// The function.
        function: String,
        /// What is wrong.
        fault: &'static str,
    },
    /// The function process or its ring needed more memory than `--udf-memory`.
    #[error("function \"{function}\" needs more memory than --udf-memory={limit} bytes")]
    Memory {
        /// The function.
        function: String,
        /// The limit in bytes.
        limit: u64,
        /// Where it happened, if Python could tell.
        record: Option<Box<FunctionError>>,
    },
    /// What the server keeps for functions needs more memory than they may use in its process.
    #[error("function \"{function}\": {exceeded}")]
    ServerMemory {
        /// The function.
        function: String,
        /// Which limit.
        exceeded: MemoryExceeded,
    },
    /// The call took longer than `--udf-timeout`.
    #[error("function \"{function}\" took longer than --udf-timeout={} s", limit.as_secs_f64())]
    Timeout {
        /// The function.
        function: String,
        /// The limit.
        limit: Duration,
    },
    /// The session has cancelled its statement.
    #[error("the statement was cancelled in function \"{function}\"")]
    Cancelled {
        /// The function.
        function: String,
    },
    /// The function process ended by a signal.
    #[error("the worker process of function \"{function}\" was ended by signal {signal}{}", signal_name(*signal))]
    Signal {
        /// The function.
        function: String,
        /// The signal's number.
        signal: i32,
    },
    /// The function process exited.
    #[error("function \"{function}\" ended its worker process with exit status {status}; raise an exception instead")]
    Exit {
        /// The function.
        function: String,
        /// The exit status.
        status: i32,
    },
    /// A query of the function has failed, and the function did not catch the error.
    #[error("{record}")]
    Query {
        /// The query's SQLSTATE.
        code: String,
        /// The query's message, and where the function has run it.
        record: Box<FunctionError>,
    },
    /// The function has refused, because something that it needs is in a wrong state.
    #[error("{0}")]
    State(Box<FunctionError>),
    /// There are as many function processes as `--udf-max-workers` allows.
    #[error(
        "all {0} worker processes for functions are in use: try again later, or start the server with a larger --udf-max-workers"
    )]
    TooManyProcesses(usize),
    /// The session has as many function processes as `--udf-workers` allows.
    #[error(
        "all {0} worker processes of this session are in use: start the server with a larger --udf-workers, or run the statement with \
         fewer functions"
    )]
    TooManySessionProcesses(usize),
    /// No function process could be started.
    #[error("no worker process for functions could be started: {0}")]
    Start(String),
    /// The caller did not write the arguments as the function's parameters say.
    #[error("function \"{function}\": the arguments were not written as declared: {fault}")]
    Misuse {
        /// The function.
        function: String,
        /// What is wrong.
        fault: &'static str,
    },
}

/// How a value does not fit into its type, by the SQLSTATE that PostgreSQL has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueFault {
    /// 22003: a number is out of range, or not exact.
    NumberOutOfRange,
    /// 22004: a NULL or NaN where none is possible.
    NullNotAllowed,
    /// 22008: a date or a time is out of range.
    DateTimeOutOfRange,
    /// 22021: a text is not UTF-8, or has a NUL.
    Text,
    /// 22P02: a text is no JSON.
    Json,
    /// 22023: another value that the type does not have.
    Other,
}

/// The full record of an error in a function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct FunctionError {
    /// What happened: `ValueError: …`.
    pub message: String,
    /// The line of the body in which it happened, for DETAIL. Empty if there is none.
    pub detail: String,
    /// The traceback of the function's own frames, for CONTEXT: `function "main.f", line 3`, one line for each. Empty
    /// if there is none.
    pub context: String,
    /// The line in the body, from 1; 0 if unknown.
    pub line: u32,
    /// The position in the body in characters, from 1; 0 if unknown.
    pub position: u32,
}

impl CallError {
    /// The error of a function whose data needs more memory than this limit.
    pub fn exceeded(function: &Function, exceeded: MemoryExceeded) -> Self {
        Self::ServerMemory { function: function.name.clone(), exceeded }
    }

    /// The five characters of the SQLSTATE.
    pub fn sqlstate(&self) -> &str {
        match self {
            Self::Query { code, .. } => code,
            Self::Syntax(_) => "42601",
            Self::Exception(_) | Self::Signal { .. } | Self::Exit { .. } => "38000",
            Self::Result(_) | Self::Broken { .. } => "39000",
            Self::Value(fault, _) => match fault {
                ValueFault::NumberOutOfRange => "22003",
                ValueFault::NullNotAllowed => "22004",
                ValueFault::DateTimeOutOfRange => "22008",
                ValueFault::Text => "22021",
                ValueFault::Json => "22P02",
                ValueFault::Other => "22023",
            },
            Self::State(_) => "55000",
            Self::Memory { .. } | Self::ServerMemory { .. } => "53200",
            Self::Timeout { .. } | Self::Cancelled { .. } => "57014",
            Self::TooManyProcesses(_) | Self::TooManySessionProcesses(_) => "53300",
            Self::Start(_) => "58000",
            Self::Misuse { .. } => "XX000",
        }
    }

    /// The record with the place in the function, if there is one.
    pub fn record(&self) -> Option<&FunctionError> {
        match self {
            Self::Syntax(record)
            | Self::Exception(record)
            | Self::Result(record)
            | Self::State(record)
            | Self::Value(_, record)
            | Self::Query { record, .. } => Some(record),
            Self::Memory { record, .. } => record.as_deref(),
            _ => None,
        }
    }
}

impl From<io::Error> for CallError {
    fn from(error: io::Error) -> Self {
        Self::Start(error.to_string())
    }
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        libc::SIGSEGV => " (a segmentation fault)",
        libc::SIGABRT => " (it was aborted)",
        libc::SIGBUS => " (a bus error)",
        libc::SIGFPE => " (an arithmetic error)",
        libc::SIGILL => " (an illegal instruction)",
        libc::SIGKILL => " (it was killed)",
        libc::SIGSYS => " (a forbidden system call)",
        _ => "",
    }
}
