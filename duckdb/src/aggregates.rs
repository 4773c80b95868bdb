//! Writes a call of DuckDB's dispatcher in the place of an aggregate's call with DISTINCT, ORDER BY or FILTER, which a macro cannot have.

use colonnade_server::functions::calls::{AggregateCall, aggregate_calls, may_call};
use colonnade_server::{EngineError, SqlState};
use colonnade_sql::edit::Edits;
use colonnade_sql::{Dialect, Statement, StatementKind, quote};

use crate::{LibraryConnection, Translated, TranslatingSession};

/// How a function's macro calls it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AggregateDispatch {
    /// The function's id.
    pub id: String,
    /// The DuckDB function that calls it.
    pub dispatcher: String,
    /// The types of the parameters, by DuckDB's names; `None` if it takes any arguments.
    pub types: Option<Vec<String>>,
    /// The constants for the last parameters, as they are written.
    pub defaults: Vec<String>,
}

impl<C: LibraryConnection> TranslatingSession<C> {
    /// Replaces such calls in a statement.
    pub(crate) fn with_aggregates(&mut self, statement: Translated) -> Result<Translated, EngineError> {
        let Some(names) = self.connection.aggregates() else { return Ok(statement) };
        if !may_call(&statement.text) {
            return Ok(statement);
        }
        let calls = aggregate_calls(&statement.text, Dialect::DuckDb, |name| names.contains(name));
        let mut edits = Edits::default();
        for call in calls {
            let dispatch = self.connection.aggregate(call.schema.as_deref(), &call.name, call.arguments.len())?;
            let Some(dispatch) = dispatch else { continue };
            if let StatementKind::Define { object, .. } = Statement::of(&statement.text, Dialect::DuckDb).kind
                && object != "TABLE"
            {
                return Err(not_in_definition(&object));
            }
            write(&call, &dispatch, &mut edits);
        }
        Ok(statement.edited(|_| edits))
    }
}

fn not_in_definition(object: &str) -> EngineError {
    let text = format!("an aggregate in Python with DISTINCT, ORDER BY or FILTER cannot stand in CREATE {object}");
    let hint = "Write a subquery that sorts or filters, and call the aggregate over it.";
    EngineError { hint: Some(hint.to_owned()), ..EngineError::new(SqlState::FEATURE_NOT_SUPPORTED, text) }
}

/// Writes the dispatcher's call. The comment is the name of the column (`column_names.py`).
fn write(call: &AggregateCall, dispatch: &AggregateDispatch, edits: &mut Edits) {
    let name = if call.name.contains(['*', '/']) { "" } else { &call.name };
    let distinct = if call.distinct.is_some() { "DISTINCT " } else { "" };
    let id = quote::string(&dispatch.id, Dialect::DuckDb);
    // In the schema of the engine's own functions, because macros with these names may be in others.
    let head =
        format!("system.main.{}(/*{name}*/ {distinct}{id}, system.main.colonnade_session()", dispatch.dispatcher);
    edits.replace(call.head.clone(), head);
    let Some(types) = &dispatch.types else {
        let mut before = call.head.end;
        for place in &call.arguments {
            edits.replace(before..place.start, ", ");
            before = place.end;
        }
        return;
    };
    let missing = types.len().saturating_sub(call.arguments.len());
    let skipped = dispatch.defaults.len().saturating_sub(missing);
    let constants = dispatch.defaults.iter().skip(skipped).zip(types.iter().skip(call.arguments.len()));
    let defaults: String = constants.map(|(text, type_)| format!(", CAST({text} AS {type_})")).collect();
    let mut before = call.head.end;
    for (at, (place, type_)) in call.arguments.iter().zip(types).enumerate() {
        // What stands before the first argument is DISTINCT.
        edits.replace(before..place.start, ", CAST(");
        let defaults = if at + 1 == call.arguments.len() { &defaults } else { "" };
        edits.insert(place.end, format!(" AS {type_}){defaults}"));
        before = place.end;
    }
    if call.arguments.is_empty() {
        edits.insert(call.end, defaults);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_of_the_dispatcher_takes_the_place() {
        let dispatch = AggregateDispatch {
            id: "00ff".to_owned(),
            dispatcher: "colonnade_aggregate".to_owned(),
            types: Some(["INTEGER", "DOUBLE", "DATE"].map(str::to_owned).to_vec()),
            defaults: ["1.5", "NULL"].map(str::to_owned).to_vec(),
        };
        let any = AggregateDispatch { types: None, defaults: Vec::new(), ..dispatch.clone() };
        let write_all = |sql: &str, dispatch: &AggregateDispatch| {
            let mut edits = Edits::default();
            for call in aggregate_calls(sql, Dialect::DuckDb, |name| name == "m") {
                write(&call, dispatch, &mut edits);
            }
            edits.apply(sql).text.into_owned()
        };
        let written = |sql: &str| write_all(sql, &dispatch);
        assert_eq!(
            write_all("select m(distinct x, 'a' , f(y) order by 1)", &any),
            "select system.main.colonnade_aggregate(/*m*/ DISTINCT '00ff', system.main.colonnade_session(), x, 'a', f(y) order by 1)"
        );
        assert_eq!(
            written("select s.m(DISTINCT x + 1 order by y) filter (where z), 1"),
            "select system.main.colonnade_aggregate(/*m*/ DISTINCT '00ff', system.main.colonnade_session(), CAST(x + 1 AS INTEGER), \
             CAST(1.5 AS DOUBLE), CAST(NULL AS DATE) order by y) filter (where z), 1"
        );
        assert_eq!(
            written("select m(1, 2) filter (where z)"),
            "select system.main.colonnade_aggregate(/*m*/ '00ff', system.main.colonnade_session(), CAST(1 AS INTEGER), CAST(2 AS DOUBLE), \
             CAST(NULL AS DATE)) filter (where z)"
        );
    }
}
