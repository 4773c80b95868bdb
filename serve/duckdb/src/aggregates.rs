//! Writes a call of DuckDB's dispatcher in the place of an aggregate's call with DISTINCT, ORDER BY or FILTER, which a
//! macro cannot have.

use colonnade_server::EngineError;
use colonnade_server::functions::calls::{AggregateCall, aggregate_calls, may_call};
use colonnade_sql::edit::Edits;
use colonnade_sql::{Dialect, Statement, StatementKind, quote};

use crate::errors::refused;
use crate::fence::Refusal;
use crate::{LibraryConnection, Translated, TranslatingSession};

/// Levels of such calls. Each may double the text, because the types of an argument are tested in addition to it.
const MAX_LEVELS: usize = 12;

/// The aggregates that a call with a number of arguments may mean. If there are several, they have as many parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AggregateDispatch {
    /// The DuckDB function that calls them.
    pub dispatcher: String,
    /// The aggregates.
    pub candidates: Vec<AggregateCandidate>,
}

/// An aggregate as its macro calls it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AggregateCandidate {
    /// The function's id.
    pub id: String,
    /// The name and the types of the parameters, for an error.
    pub signature: String,
    /// The types of the parameters, by DuckDB's names; `None` if it takes any arguments.
    pub types: Option<Vec<String>>,
    /// The constants for the last parameters, as they are written.
    pub defaults: Vec<String>,
}

/// Whether a statement is rewritten to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The types of arguments are checked.
    Run,
    /// The types of placeholders are not known yet, or calls are counted: an argument stands only once in the text.
    Describe,
}

impl<C: LibraryConnection> TranslatingSession<C> {
    /// Replaces such calls in a statement.
    pub(crate) fn with_aggregates(
        &mut self,
        mut statement: Translated,
        purpose: Purpose,
    ) -> Result<Translated, EngineError> {
        let Some(names) = self.connection.as_library().aggregates() else { return Ok(statement) };
        if !may_call(&statement.text) {
            return Ok(statement);
        }
        for _ in 0..=MAX_LEVELS {
            let mut calls = Vec::new();
            for call in aggregate_calls(&statement.text, Dialect::DuckDb, |name| names.contains(name)) {
                let dispatch =
                    self.connection.library().aggregate(call.schema.as_deref(), &call.name, call.arguments.len())?;
                calls.extend(dispatch.map(|dispatch| (call, dispatch)));
            }
            let Some(edits) = edits(&statement.text, &calls, purpose)? else { return Ok(statement) };
            statement = statement.edited(edits);
            self.connection.check_size(&statement.text)?;
        }
        Err(Refusal::Deep { what: "aggregates in Python within each other", limit: MAX_LEVELS }.into())
    }
}

/// Replaces the calls that have no other ones in their arguments; `None` if there are none.
fn edits(
    sql: &str,
    calls: &[(AggregateCall, AggregateDispatch)],
    purpose: Purpose,
) -> Result<Option<Edits>, EngineError> {
    let kind = (!calls.is_empty()).then(|| Statement::of(sql, Dialect::DuckDb).kind);
    let mut edits = None;
    for (at, (call, dispatch)) in calls.iter().enumerate() {
        if calls.get(at + 1).is_some_and(|(next, _)| next.head.start < call.end) {
            continue;
        }
        if let Some(StatementKind::Define { object, .. }) = &kind
            && object != "TABLE"
        {
            return Err(not_in_definition(object));
        }
        if call.has_names {
            let text = format!("an argument of \"{}\" by its name beside DISTINCT, ORDER BY or FILTER", call.name);
            return Err(refused(text, "Write the arguments in the order of the parameters."));
        }
        write(sql, call, dispatch, purpose, edits.get_or_insert_default());
    }
    Ok(edits)
}

fn not_in_definition(object: &str) -> EngineError {
    let text = format!("an aggregate in Python with DISTINCT, ORDER BY or FILTER cannot stand in CREATE {object}");
    refused(text, "Write a subquery that sorts or filters, and call the aggregate over it.")
}

/// Writes the dispatcher's call. The comment is the name of the column (`column_names.py`).
fn write(sql: &str, call: &AggregateCall, dispatch: &AggregateDispatch, purpose: Purpose, edits: &mut Edits) {
    let name = if call.name.contains(['*', '/']) { "" } else { &call.name };
    let distinct = if call.distinct.is_some() { "DISTINCT " } else { "" };
    let arguments: Vec<_> = call.arguments.iter().map(|place| &sql[place.clone()]).collect();
    let id = identity(&dispatch.candidates, &arguments, purpose);
    // In the schema of the engine's own functions, because macros with these names may be in others.
    let head =
        format!("system.main.{}(/*{name}*/ {distinct}{id}, system.main.colonnade_session()", dispatch.dispatcher);
    edits.replace(call.head.clone(), head);
    // The columns of a table and of a subquery have names before the statement's own are known.
    if let Some(at) = call.alias_at {
        edits.insert(at, format!(" AS {}", quote::identifier(&call.name, Dialect::DuckDb)));
    }
    // Of several, the one with exactly these types is called.
    let ([AggregateCandidate { types: Some(types), defaults, .. }], mut before) =
        (&dispatch.candidates[..], call.head.end)
    else {
        let mut before = call.head.end;
        for place in &call.arguments {
            edits.replace(before..place.start, ", ");
            before = place.end;
        }
        return;
    };
    let missing = types.len().saturating_sub(call.arguments.len());
    let skipped = defaults.len().saturating_sub(missing);
    let constants = defaults.iter().skip(skipped).zip(types.iter().skip(call.arguments.len()));
    let defaults: String = constants.map(|(text, type_)| format!(", CAST({text} AS {type_})")).collect();
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

/// The id of the aggregate, as an expression over the types of the arguments, which DuckDB computes when it binds the
/// call. A cast accepts more types than a macro does, and would round numbers: so arguments of other types than the
/// macro takes lead to no function. For several aggregates, types must be those of the parameters, because the casts
/// depend on the aggregate.
fn identity(candidates: &[AggregateCandidate], arguments: &[&str], purpose: Purpose) -> String {
    let text = |text: &str| quote::string(text, Dialect::DuckDb);
    let is_one = candidates.len() == 1;
    let cases = candidates.iter().map(|candidate| {
        let types = candidate.types.as_deref().unwrap_or_default();
        let tests = arguments.iter().zip(types).map(|(argument, type_)| match is_one {
            true => format!("system.main.can_cast_implicitly({argument}, CAST(NULL AS {type_}))"),
            false => format!("system.main.typeof({argument}) = {}", text(type_)),
        });
        (tests.collect::<Vec<_>>().join(" AND "), text(&candidate.id))
    });
    let cases: Vec<_> = cases.collect();
    if let [(tests, id)] = &cases[..]
        && (tests.is_empty() || purpose == Purpose::Describe)
    {
        return id.clone();
    }
    let cases: String = cases.iter().map(|(tests, id)| format!("WHEN {tests} THEN {id} ")).collect();
    let signatures: Vec<_> = candidates.iter().map(|candidate| candidate.signature.as_str()).collect();
    format!("CASE {cases}ELSE {} END", text(&signatures.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(sql: &str, candidates: &[AggregateCandidate], purpose: Purpose) -> String {
        let dispatch =
            AggregateDispatch { dispatcher: "colonnade_aggregate".to_owned(), candidates: candidates.to_vec() };
        let mut edits = Edits::default();
        for call in aggregate_calls(sql, Dialect::DuckDb, |name| name == "m") {
            write(sql, &call, &dispatch, purpose, &mut edits);
        }
        edits.apply(sql).text.into_owned()
    }

    #[test]
    fn a_call_of_the_dispatcher_takes_the_place() {
        let candidate = AggregateCandidate {
            id: "00ff".to_owned(),
            signature: "m(INTEGER, DOUBLE, DATE)".to_owned(),
            types: Some(["INTEGER", "DOUBLE", "DATE"].map(str::to_owned).to_vec()),
            defaults: ["1.5", "NULL"].map(str::to_owned).to_vec(),
        };
        let any = AggregateCandidate { types: None, defaults: Vec::new(), ..candidate.clone() };
        let write_all = |sql: &str, candidate: &AggregateCandidate| {
            written(sql, std::slice::from_ref(candidate), Purpose::Describe)
        };
        assert_eq!(
            write_all("select m(distinct x, 'a' , f(y) order by 1)", &any),
            "select system.main.colonnade_aggregate(/*m*/ DISTINCT '00ff', system.main.colonnade_session(), x, 'a', f(y) order by 1) \
             AS \"m\""
        );
        assert_eq!(
            write_all("select s.m(DISTINCT x + 1 order by y) filter (where z), 1", &candidate),
            "select system.main.colonnade_aggregate(/*m*/ DISTINCT '00ff', system.main.colonnade_session(), CAST(x + 1 AS INTEGER), \
             CAST(1.5 AS DOUBLE), CAST(NULL AS DATE) order by y) filter (where z) AS \"m\", 1"
        );
        assert_eq!(
            write_all("select m(1, 2) filter (where z)", &candidate),
            "select system.main.colonnade_aggregate(/*m*/ '00ff', system.main.colonnade_session(), CAST(1 AS INTEGER), CAST(2 AS DOUBLE), \
             CAST(NULL AS DATE)) filter (where z) AS \"m\""
        );
    }

    #[test]
    fn the_types_of_arguments_choose_the_aggregate() {
        let of = |id: &str, types: &[&str]| AggregateCandidate {
            id: id.to_owned(),
            signature: format!("m({})", types.join(", ")),
            types: Some(types.iter().map(|&type_| type_.to_owned()).collect()),
            defaults: Vec::new(),
        };
        let (one, other) = (of("01", &["INTEGER", "DATE"]), of("02", &["VARCHAR", "DATE"]));
        assert_eq!(
            written("select m(distinct x, y) from t", std::slice::from_ref(&one), Purpose::Run),
            "select system.main.colonnade_aggregate(/*m*/ DISTINCT \
             CASE WHEN system.main.can_cast_implicitly(x, CAST(NULL AS INTEGER)) AND \
             system.main.can_cast_implicitly(y, CAST(NULL AS DATE)) THEN '01' ELSE 'm(INTEGER, DATE)' END, \
             system.main.colonnade_session(), CAST(x AS INTEGER), CAST(y AS DATE)) AS \"m\" from t"
        );
        assert_eq!(
            written("select m(x, y order by z)", &[one, other], Purpose::Describe),
            "select system.main.colonnade_aggregate(/*m*/ \
             CASE WHEN system.main.typeof(x) = 'INTEGER' AND system.main.typeof(y) = 'DATE' THEN '01' \
             WHEN system.main.typeof(x) = 'VARCHAR' AND system.main.typeof(y) = 'DATE' THEN '02' \
             ELSE 'm(INTEGER, DATE), m(VARCHAR, DATE)' END, system.main.colonnade_session(), x, y order by z) AS \"m\""
        );
        assert_eq!(
            written("select m() filter (where z)", &[of("03", &[])], Purpose::Run),
            "select system.main.colonnade_aggregate(/*m*/ '03', system.main.colonnade_session()) filter (where z) AS \"m\""
        );
    }
}
