//! Functions in Python, which clients create with CREATE FUNCTION and CREATE AGGREGATE.
//!
//! `sql` reads the statements. `create.rs` turns one into a [`FunctionDefinition`], or refuses it. The engine stores,
//! lists and runs functions behind the trait [`Functions`].

pub mod block;
pub mod calls;
mod create;
pub mod scope;

use colonnade_sql::statement::{CommentOnFunction, DropFunction, FunctionSyntaxError};

use crate::engine::error::EngineError;
use crate::error::{ClientError, SqlState};

pub use create::{DefinedParameter, DefinedResult, DefinitionKind, FunctionDefinition, MAX_BODY_BYTES, MAX_PARAMETERS};

/// The functions of a session's engine.
pub trait Functions {
    /// Creates a function in the session's transaction. The position of an error counts in the function's body, in
    /// characters from 0.
    ///
    /// # Errors
    /// If its body is no Python, a type does not exist, or there is another function with this name and these types.
    fn create(&mut self, function: &FunctionDefinition) -> Result<(), EngineError>;

    /// Whether any of these names is a function in Python.
    ///
    /// # Errors
    /// The engine's error.
    fn has(&mut self, functions: &DropFunction) -> Result<bool, EngineError>;

    /// Drops functions in the session's transaction. Gives false, and drops none, if none of these names is a function
    /// in Python.
    ///
    /// # Errors
    /// If one of them does not exist, or something depends on it.
    fn drop(&mut self, functions: &DropFunction) -> Result<bool, EngineError>;

    /// Sets or removes the comment on a function. Gives false if this is no function in Python.
    ///
    /// # Errors
    /// If there is none with these types.
    fn comment(&mut self, comment: &CommentOnFunction) -> Result<bool, EngineError>;
}

/// Why a statement about functions is refused before the engine reads it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DefinitionError {
    /// It is not as its grammar says, or asks for something that does not exist.
    #[error(transparent)]
    Syntax(#[from] FunctionSyntaxError),
    /// The parts of a definition do not fit together.
    #[error("{0}")]
    Invalid(String),
    /// A kind of function that does not exist here.
    #[error("{what} is not supported")]
    Unsupported {
        /// What.
        what: &'static str,
        /// What to do instead.
        hint: &'static str,
    },
    /// A body that is too long, or too many parameters.
    #[error("{what} are more than {limit}")]
    TooLarge {
        /// What.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// The server has no functions.
    #[error("functions in Python are not enabled on this server")]
    Off,
    /// The user may not.
    #[error("permission denied to create or drop functions")]
    NotAllowed,
}

impl ClientError for DefinitionError {
    fn code(&self) -> SqlState {
        match self {
            Self::Syntax(FunctionSyntaxError::Syntax(_) | FunctionSyntaxError::OpenBody { .. }) => {
                SqlState::SYNTAX_ERROR
            }
            Self::Syntax(FunctionSyntaxError::UnknownLanguage { .. }) => SqlState::UNDEFINED_OBJECT,
            Self::Syntax(FunctionSyntaxError::Unsupported { .. }) | Self::Unsupported { .. } | Self::Off => {
                SqlState::FEATURE_NOT_SUPPORTED
            }
            Self::Invalid(_) => SqlState::INVALID_FUNCTION_DEFINITION,
            Self::TooLarge { .. } => SqlState::PROGRAM_LIMIT_EXCEEDED,
            Self::NotAllowed => SqlState::INSUFFICIENT_PRIVILEGE,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Syntax(FunctionSyntaxError::Unsupported { hint, .. }) | Self::Unsupported { hint, .. } => hint,
            Self::Syntax(FunctionSyntaxError::UnknownLanguage { .. }) => {
                "Write LANGUAGE PYTHON_MAP or LANGUAGE PYTHON."
            }
            Self::Syntax(FunctionSyntaxError::OpenBody { .. }) => {
                "Write the body in dollar quotes: AS $$ … $$. Some clients cut a body in braces at its semicolons."
            }
            Self::Off => "Start the server with --udf.",
            Self::NotAllowed => "The operator gives this right with: colonnade user add NAME --functions",
            _ => return None,
        };
        Some(hint.to_owned())
    }

    fn position(&self) -> Option<usize> {
        match self {
            Self::Syntax(error) => Some(error.position()),
            _ => None,
        }
    }
}
