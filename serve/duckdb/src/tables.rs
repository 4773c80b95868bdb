//! Calls of functions in Python that get whole columns: of table functions, and of functions in LANGUAGE PYTHON that
//! give a column. Each one runs before the statement, and its result takes the place of the call, or of the SELECT that
//! has the call as an item.

mod block;

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use colonnade_server::functions::block::select_block;
use colonnade_server::functions::scope::{TableArgument, TableCall, table_call};
use colonnade_server::{EngineError, Parameter, SqlState};
use colonnade_sql::edit::Edits;
use colonnade_sql::{Dialect, Statement, StatementKind, quote};

use self::block::block_input;
use crate::errors::refused;
use crate::placeholder::Placeholders;
use crate::{LibraryConnection, Translated, TranslatingSession};

/// The most calls of table functions in one statement.
const MAX_CALLS: usize = 100;

/// A part of a call, in SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableInput {
    /// The value, or the query with the WITH clauses that it sees.
    pub text: String,
    /// Whether it is a query.
    pub is_query: bool,
    /// The numbers of the parameters in it, from 1.
    pub parameters: Vec<usize>,
}

/// What a name means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionUse {
    /// A function of another kind, or none.
    Other,
    /// A table function.
    Table,
    /// A function that gets whole columns and gives one.
    Column,
}

/// A SELECT with calls of functions that give columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockInput {
    /// The query: instead of each call it has a column with the name of `marks`, and the arguments of all calls are its
    /// last columns.
    pub query: TableInput,
    /// The calls: schema, name, the number of arguments, and the name of the column.
    pub calls: Vec<(Option<String>, String, usize, String)>,
    /// The names of the columns that stand for the calls.
    pub marks: Vec<String>,
    /// Whether the SELECT is the outermost one, whose columns have the names that clients see.
    pub is_outermost: bool,
    /// The names by which its columns are sorted after the calls, in lower case.
    pub sorted_by: Vec<String>,
}

/// The functions of a connection that get whole columns. Names are as they are written in the statement, folded.
pub trait TableFunctions {
    /// The names that may be those of table functions, in lower case; `None` if there are none.
    fn table_names(&self) -> Option<Arc<HashSet<String>>>;

    /// What a name means.
    ///
    /// # Errors
    /// DuckDB's error.
    fn function_use(&mut self, schema: Option<&str>, name: &str) -> Result<FunctionUse, EngineError>;

    /// A subquery with the columns of a call, its queries and its parameters, which is never run. `None` if the columns
    /// depend on the rows.
    ///
    /// # Errors
    /// If there is no function with these arguments.
    fn stand_in(
        &mut self,
        schema: Option<&str>,
        name: &str,
        inputs: &[TableInput],
        statement: &Translated,
    ) -> Result<Option<String>, EngineError>;

    /// Begins the calls of a statement, in the transaction in which it then runs.
    ///
    /// # Errors
    /// DuckDB's error.
    fn begin_calls(&mut self, statement: &Translated) -> Result<(), EngineError>;

    /// Calls a function. Returns a table expression that is valid until the next statement. On error, all calls have
    /// ended.
    ///
    /// # Errors
    /// The error of a query, or of the function.
    fn call_table(
        &mut self,
        schema: Option<&str>,
        name: &str,
        inputs: &[TableInput],
        statement: &Translated,
        values: &[&Parameter],
    ) -> Result<String, EngineError>;

    /// Runs the query of a SELECT, and calls its functions. Gives what follows SELECT in its place. If it fails, the
    /// calls have ended.
    ///
    /// # Errors
    /// The error of the query, or of a function.
    fn call_block(
        &mut self,
        block: &BlockInput,
        statement: &Translated,
        values: &[&Parameter],
    ) -> Result<String, EngineError>;

    /// Ends the calls of a statement that does not run.
    fn abandon_calls(&mut self);
}

/// What takes the place of a call.
enum Replacement {
    Text(String),
    /// That of the SELECT around it.
    Block(Range<usize>, String),
    /// The call stays, and this follows it. It has its macro's type, so that it can be described.
    Kept(String),
    /// Its columns are not known before it runs.
    Unknown,
}

/// Whether a text may have one of these names. It is decided without looking at its tokens.
fn may_have(text: &str, names: &HashSet<String>) -> bool {
    let text = text.to_ascii_lowercase();
    // Quotes are doubled in names with quotes, and letters beyond ASCII have other forms.
    names.iter().any(|name| !name.is_ascii() || name.contains('"') || text.contains(name))
}

/// Why a call cannot stand there.
impl<C: LibraryConnection> TranslatingSession<C> {
    /// Whether a statement may call table functions.
    pub(crate) fn may_call_tables(&mut self, statement: &str) -> bool {
        let Some(names) = self.connection.library().tables().and_then(|tables| tables.table_names()) else {
            return false;
        };
        may_have(statement, &names)
            && table_call(statement, Dialect::DuckDb, |_, name, _| names.contains(&name.to_lowercase())).is_some()
    }

    /// Calls the table functions of a statement, and puts the names of their results in their place. `values` are those
    /// of the statement's parameters.
    pub(crate) fn with_tables(
        &mut self,
        statement: Translated,
        values: &[&Parameter],
    ) -> Result<Translated, EngineError> {
        if !self.may_call_tables(&statement.text) {
            return Ok(statement);
        }
        let kind = Statement::of(&statement.text, Dialect::DuckDb).kind;
        let (described, count) = self.with_stand_ins(statement.clone())?;
        if count == 0 {
            return Ok(statement);
        }
        if matches!(kind, StatementKind::Explain { runs: false }) {
            return described.ok_or_else(|| {
                refused(
                    "EXPLAIN of a table function that returns TABLE(*)".to_owned(),
                    "Write EXPLAIN ANALYZE: the columns are known after the call.",
                )
            });
        }
        // An error of the outer statement is found before any function runs. With the calls' columns, DuckDB binds
        // queries that refer to other tables of FROM too; alone they cannot run.
        let is_described = described.is_some();
        if let Some(described) = described {
            self.connection.describe(&described, values)?;
        }
        let tables = self.connection.library().tables().ok_or_else(no_functions)?;
        tables.begin_calls(&statement)?;
        let called = replaced(tables, statement, |tables, call, use_, inputs, statement| {
            if use_ == FunctionUse::Column {
                let (block, input) = block_input(tables, call, statement)?;
                let list = tables.call_block(&input, statement, values)?;
                let quantifier = block.quantifier.map_or("", |place| &statement.text[place]);
                return Ok(Replacement::Block(block.place, format!("SELECT {quantifier} {list} ")));
            }
            let text = tables.call_table(call.schema.as_deref(), &call.name, inputs, statement, values);
            text.map(Replacement::Text)
        });
        match called {
            Ok((Some(statement), _)) => Ok(statement),
            Ok((None, _)) => Err(no_functions()),
            Err(error) => {
                tables.abandon_calls();
                let is_unknown_name = [SqlState::UNDEFINED_COLUMN, SqlState::UNDEFINED_TABLE].contains(&error.code);
                if is_described && is_unknown_name {
                    let hint = "Its arguments run before the statement, so they cannot refer to other tables of FROM.";
                    let text = format!("a correlated argument of a table function ({})", error.message);
                    return Err(EngineError { position: error.position, ..refused(text, hint) });
                }
                Err(error)
            }
        }
    }

    /// A statement with subqueries in the place of calls, to describe it, and the number of calls. `None` if the
    /// columns of one of them depend on its rows.
    pub(crate) fn with_stand_ins(&mut self, statement: Translated) -> Result<(Option<Translated>, usize), EngineError> {
        if !self.may_call_tables(&statement.text) {
            return Ok((Some(statement), 0));
        }
        let kind = Statement::of(&statement.text, Dialect::DuckDb).kind;
        let tables = self.connection.library().tables().ok_or_else(no_functions)?;
        replaced(tables, statement, |tables, call, use_, inputs, statement| {
            check_place(call, use_, &kind)?;
            if use_ == FunctionUse::Column {
                let (block, _) = block_input(tables, call, statement)?;
                let is_unnamed = block.items.iter().any(|item| item.value == call.place && item.alias.is_none());
                // DuckDB's plans show a column by its name. Without one they would show the macro's text.
                let name = match kind {
                    StatementKind::Explain { runs: false } if is_unnamed => {
                        let text = quote::identifier(&statement.text[call.place.clone()], Dialect::DuckDb);
                        format!(" AS {text}")
                    }
                    _ => String::new(),
                };
                return Ok(Replacement::Kept(name));
            }
            let text = tables.stand_in(call.schema.as_deref(), &call.name, inputs, statement)?;
            Ok(text.map_or(Replacement::Unknown, Replacement::Text))
        })
    }
}

fn no_functions() -> EngineError {
    EngineError::new(SqlState::INTERNAL_ERROR, "the session has no functions")
}

/// Refuses a call that cannot run before its statement.
fn check_place(call: &TableCall, use_: FunctionUse, kind: &StatementKind) -> Result<(), EngineError> {
    let name = &call.name;
    let what = if use_ == FunctionUse::Table { "table function" } else { "function in LANGUAGE PYTHON" };
    match kind {
        StatementKind::Define { object, .. } if object != "TABLE" => {
            let text = format!("{what} \"{name}\" in CREATE {object}");
            return Err(refused(text, "Write CREATE TABLE … AS, or call the function over a view."));
        }
        StatementKind::Prepare => {
            let text = format!("{what} \"{name}\" in PREPARE");
            return Err(refused(text, "Prepare the statement by the protocol, as drivers do."));
        }
        _ => {}
    }
    if call.is_recursive {
        let text = format!("{what} \"{name}\" in WITH RECURSIVE");
        return Err(refused(text, "Write the rows of the recursive query into a table first."));
    }
    if use_ == FunctionUse::Table && !call.is_in_from {
        let text = format!("table function \"{name}\" outside of FROM");
        return Err(refused(text, "Write SELECT … FROM the function."));
    }
    Ok(())
}

/// The call that is replaced next: the one that closes first. But a function that gives a column gets the rows of its
/// SELECT, so the calls within that SELECT come before it.
fn next_call(
    statement: &str,
    mut use_of: impl FnMut(Option<&str>, &str, usize) -> FunctionUse,
) -> Option<(TableCall, FunctionUse)> {
    let mut found = FunctionUse::Other;
    let mut call = table_call(statement, Dialect::DuckDb, |schema, name, start| {
        found = use_of(schema, name, start);
        found != FunctionUse::Other
    })?;
    while found == FunctionUse::Column
        && let Some(block) = select_block(statement, Dialect::DuckDb, &call.place)
    {
        let items: HashSet<_> = block.items.iter().map(|item| item.value.start).collect();
        let mut inner_use = FunctionUse::Other;
        let inner = table_call(statement, Dialect::DuckDb, |schema, name, start| {
            let is_within = block.place.contains(&start) && !items.contains(&start);
            inner_use = if is_within { use_of(schema, name, start) } else { FunctionUse::Other };
            inner_use != FunctionUse::Other
        });
        let Some(inner) = inner else { break };
        (call, found) = (inner, inner_use);
    }
    Some((call, found))
}

/// Replaces all calls, the innermost first. Gives the statement, unless a replacement is unknown, and the number of
/// calls.
fn replaced(
    tables: &mut dyn TableFunctions,
    mut statement: Translated,
    mut replace: impl FnMut(
        &mut dyn TableFunctions,
        &TableCall,
        FunctionUse,
        &[TableInput],
        &Translated,
    ) -> Result<Replacement, EngineError>,
) -> Result<(Option<Translated>, usize), EngineError> {
    let mut known: HashMap<(Option<String>, String), FunctionUse> = HashMap::new();
    let mut is_unknown = false;
    // Where calls begin that stay.
    let mut kept: Vec<usize> = Vec::new();
    for count in 0.. {
        let names = tables.table_names().unwrap_or_default();
        let mut failed = None;
        let call = next_call(&statement.text, |schema, name, start| {
            if !names.contains(&name.to_lowercase()) || kept.contains(&start) {
                return FunctionUse::Other;
            }
            let key = (schema.map(str::to_owned), name.to_owned());
            *known.entry(key).or_insert_with(|| {
                tables.function_use(schema, name).unwrap_or_else(|error| {
                    failed = Some(error);
                    FunctionUse::Other
                })
            })
        });
        if let Some(error) = failed {
            return Err(error);
        }
        let Some((call, found)) = call else { return Ok(((!is_unknown).then_some(statement), count)) };
        if count == MAX_CALLS {
            let text = format!("more than {MAX_CALLS} calls of table functions in one statement");
            return Err(EngineError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, text));
        }
        let inputs = inputs(&statement.text, &call);
        let alias = || match call.has_alias {
            true => String::new(),
            false => format!(" AS {}", quote::identifier(&call.name, Dialect::DuckDb)),
        };
        let (place, text) = match replace(tables, &call, found, &inputs, &statement)? {
            Replacement::Text(text) => (call.place.clone(), format!("{text}{}", alias())),
            Replacement::Block(place, text) => (place, text),
            Replacement::Unknown => {
                is_unknown = true;
                (call.place.clone(), format!("(SELECT NULL AS unknown){}", alias()))
            }
            Replacement::Kept(text) => {
                kept.iter_mut().filter(|start| **start >= call.place.end).for_each(|start| *start += text.len());
                kept.push(call.place.start);
                (call.place.end..call.place.end, text)
            }
        };
        // What stood within the place is gone, or stands elsewhere.
        if !place.is_empty() {
            kept.retain(|start| *start < place.start);
        }
        let mut edits = Edits::default();
        edits.replace(place, text);
        statement = statement.edited(edits);
    }
    Ok((None, 0))
}

/// The arguments of a call. A query gets the WITH clauses around it, nested as they are there.
fn inputs(statement: &str, call: &TableCall) -> Vec<TableInput> {
    let text = |place: &Range<usize>| &statement[place.clone()];
    let input = |TableArgument { place, is_query }: &TableArgument| {
        let scope: String = call.scopes.iter().map(|scope| format!("{} SELECT * FROM (", text(scope))).collect();
        let text = match (is_query, scope.is_empty()) {
            (true, true) => text(place).to_owned(),
            (true, false) => format!("{scope}{}{}", text(place), ")".repeat(call.scopes.len())),
            (false, true) => text(place).to_owned(),
            // A value may be a subquery within an expression.
            (false, false) => format!("({scope}SELECT {}{})", text(place), ")".repeat(call.scopes.len())),
        };
        let parameters = Placeholders::find(&text).into_numbers();
        TableInput { text, is_query: *is_query, parameters }
    };
    call.arguments.iter().map(input).collect()
}

#[cfg(test)]
mod tests;
