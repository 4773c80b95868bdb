//! CREATE, DROP and COMMENT ON of functions in Python.

use colonnade_sql::Statement;
use colonnade_sql::statement::{CommentOnFunction, CreateFunction, DropFunction, FunctionSyntaxError};

use crate::engine::EngineError;
use crate::error::Failure;
use crate::functions::{DefinitionError, FunctionDefinition, Functions};
use crate::session::state::Session;

impl Session {
    /// Creates a function or an aggregate.
    pub fn create_function(
        &mut self,
        statement: &Statement<'_>,
        function: Result<&CreateFunction, &FunctionSyntaxError>,
    ) -> Result<(), Failure> {
        let function = function.map_err(|error| DefinitionError::from(error.clone()))?;
        if self.engine.functions().is_none() {
            return Err(DefinitionError::Off.into());
        }
        self.check_right()?;
        let definition = FunctionDefinition::new(function)?;
        self.with_functions(statement, |functions| {
            functions.create(&definition).map_err(|error| {
                let position = error.position.map(|at| function.body.position(statement.text, at));
                EngineError { position, ..error }
            })
        })?;
        self.complete(&statement.kind);
        Ok(())
    }

    /// Drops functions. A macro in SQL is dropped by the engine.
    pub fn drop_function(
        &mut self,
        statement: &Statement<'_>,
        functions: Result<&DropFunction, &FunctionSyntaxError>,
    ) -> Result<(), Failure> {
        let functions = functions.map_err(|error| DefinitionError::from(error.clone()))?;
        if self.engine.functions().is_none() {
            // Macros in SQL are dropped one at a time, by the name alone.
            let is_macro = matches!(&functions.functions[..], [one] if one.types.is_none()) && !functions.is_aggregate;
            return if is_macro { self.execute(statement) } else { Err(DefinitionError::Off.into()) };
        }
        let may = self.check_right();
        // Nothing is dropped without the right, but a macro is no function in Python, and needs none.
        let dropped = self.with_functions(statement, |engine| match may {
            Ok(()) => engine.drop(functions),
            Err(error) => {
                engine.has(functions).and_then(|has| if has { Err(Failure::from(error).into()) } else { Ok(false) })
            }
        })?;
        if !dropped {
            return self.execute(statement);
        }
        self.complete(&statement.kind);
        Ok(())
    }

    /// Comments on a function. A comment on a macro in SQL is the engine's matter.
    pub fn comment_on_function(
        &mut self,
        statement: &Statement<'_>,
        comment: &CommentOnFunction,
    ) -> Result<(), Failure> {
        let has_functions = self.engine.functions().is_some();
        if !has_functions && (comment.function.types.is_some() || comment.is_aggregate) {
            return Err(DefinitionError::Off.into());
        }
        let is_done = has_functions && self.with_functions(statement, |functions| functions.comment(comment))?;
        if !is_done {
            return self.execute(statement);
        }
        self.complete(&statement.kind);
        Ok(())
    }

    fn check_right(&self) -> Result<(), DefinitionError> {
        if self.control.user.functions { Ok(()) } else { Err(DefinitionError::NotAllowed) }
    }

    /// Does work with the engine's functions, in one transaction.
    fn with_functions<T>(
        &mut self,
        statement: &Statement<'_>,
        work: impl FnOnce(&mut dyn Functions) -> Result<T, EngineError>,
    ) -> Result<T, Failure> {
        let _running = self.start()?;
        self.in_transaction(|session| {
            session.run_on_engine(statement, |engine| match engine.functions() {
                Some(functions) => work(functions),
                None => Err(Failure::from(DefinitionError::Off).into()),
            })
        })
    }
}
