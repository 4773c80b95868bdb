//! What a statement takes and gives, before it runs: the types of its placeholders, and its columns.

use colonnade_server::parameter::ParameterValue;
use colonnade_server::value::types::{Type, TypeKind};
use colonnade_server::{Columns, Description, EngineError, Parameter, SqlState};
use colonnade_sql::Statement;

use crate::placeholder::Placeholders;
use crate::session::numbered_table;
use crate::{LibraryConnection, StatementTypes, Translated, TranslatingSession, catalog, numbered, types};

/// Types to try for a parameter that nothing gives a type: PostgreSQL would take a text first as well. It would then go by the
/// function around it, whose other arguments DuckDB does not tell.
const GUESSES: [&str; 5] = ["VARCHAR", "BIGINT", "DOUBLE", "INTERVAL", "TIMESTAMP"];
/// What a NUMERIC is taken for until its digits are known.
const SOME_DECIMAL: &str = "DECIMAL(38,10)";

/// A statement whose placeholders have types, or are to get them.
struct Open {
    statement: Translated,
    placeholders: Placeholders,
}

impl<C: LibraryConnection> TranslatingSession<C> {
    /// Describes a statement whose parameters have the types with PostgreSQL's numbers `oids`, 0 where one is open.
    pub(crate) fn description(&mut self, statement: &Statement<'_>, oids: &[u32]) -> Result<Description, EngineError> {
        let given = oids.iter().map(|oid| types::of_oid(*oid));
        if let Some(table) = numbered_table(statement) {
            table.numbered.iter().try_for_each(|column| numbered::sequence_options(column).map(drop))?;
            let parameters = given.map(|type_| type_.unwrap_or_else(text)).collect();
            return Ok(Description { parameters, ..Description::default() });
        }
        let statement = self.translated(statement.text);
        let types = match catalog::parameter_types(&statement.text) {
            [] => given.collect(),
            known => known.iter().map(|oid| types::of_oid(*oid)).collect(),
        };
        let open = Open { placeholders: Placeholders::find(&statement.text), statement };
        open.describe(&mut self.connection, types)
    }
}

impl Open {
    /// Finds the types that the client left open, and the columns.
    fn describe(
        &self,
        connection: &mut dyn LibraryConnection,
        mut types: Vec<Option<Type>>,
    ) -> Result<Description, EngineError> {
        types.resize(types.len().max(self.placeholders.count()), None);
        self.infer_lists(connection, &mut types)?;
        let described = connection.describe(&self.with_types(&types), &[])?;
        for (number, type_) in described.parameters {
            if let Some(open @ None) = types.get_mut(number.wrapping_sub(1)) {
                *open = (type_.kind != TypeKind::Unknown).then_some(type_);
            }
        }
        let mut columns = self.sampled(connection, described.columns, &types)?;
        if let Some(open) = (0..types.len()).find(|&at| types[at].is_none() && self.placeholders.has(at)) {
            let mut found = None;
            for name in GUESSES {
                let guess = |type_: &Option<Type>| Some(type_.clone().unwrap_or_else(|| types::named(name)));
                let guessed: Vec<_> = types.iter().map(guess).collect();
                let Some(described) = fitting(connection.describe(&self.with_types(&guessed), &[]))? else { continue };
                let columns = self.sampled(connection, described.columns, &guessed)?;
                // A type that leaves the columns open may be one that does not fit.
                let is_late = columns == Columns::Late;
                if found.is_none() || !is_late {
                    found = Some((columns, guessed));
                }
                if !is_late {
                    break;
                }
            }
            (columns, types) = found.ok_or_else(|| undetermined(open + 1))?;
        }
        let parameters = types.into_iter().map(|type_| type_.unwrap_or_else(text)).collect();
        Ok(Description { parameters, columns, ..Description::default() })
    }

    /// The columns, where DuckDB needs values to tell them: the arguments of a table function, say. Any will do.
    fn sampled(
        &self,
        connection: &mut dyn LibraryConnection,
        columns: Columns,
        types: &[Option<Type>],
    ) -> Result<Columns, EngineError> {
        if columns != Columns::Late || self.placeholders.count() == 0 {
            return Ok(columns);
        }
        let samples = types.iter().enumerate().filter(|(at, _)| self.placeholders.has(*at));
        let samples: Vec<_> = samples.map(|(at, type_)| sample(at + 1, type_.as_ref())).collect();
        let samples: Vec<_> = samples.iter().collect();
        let described = fitting(connection.describe(&self.with_types(types), &samples))?;
        Ok(described.map_or(Columns::Late, |found| found.columns))
    }

    /// Finds the types of the lists in `ANY($1)` that the client left open. Others are left to be guessed.
    fn infer_lists(
        &self,
        connection: &mut dyn LibraryConnection,
        types: &mut [Option<Type>],
    ) -> Result<(), EngineError> {
        let (text, mut lists) = self.placeholders.items(&self.statement.text);
        lists.retain(|at| types.get(*at).is_some_and(Option::is_none));
        if lists.is_empty() {
            return Ok(());
        }
        let items = Self { placeholders: Placeholders::find(&text), statement: Translated::of(&text) };
        let Some(described) = fitting(connection.describe(&items.with_types(types), &[]))? else { return Ok(()) };
        for (number, item) in described.parameters {
            let at = number.wrapping_sub(1);
            if lists.contains(&at) && item.kind != TypeKind::Unknown {
                types[at] = Some(Type::list_of(item));
            }
        }
        Ok(())
    }

    fn with_types(&self, types: &[Option<Type>]) -> Translated {
        let name = |type_: &Type| match type_.name == types::DECIMAL {
            true => SOME_DECIMAL.to_owned(),
            false => type_.name.clone(),
        };
        let names: Vec<_> = types.iter().map(|type_| type_.as_ref().map(name)).collect();
        self.statement.clone().edited(|_| self.placeholders.casts(&names))
    }
}

/// What a statement with guessed types or values gives; `None` if they do not fit.
///
/// # Errors
/// Those that say nothing about types: no memory, an interruption, a fatal error. They abort DuckDB's transaction, so the client
/// has to be told.
fn fitting(described: Result<StatementTypes, EngineError>) -> Result<Option<StatementTypes>, EngineError> {
    match described {
        Ok(described) => Ok(Some(described)),
        Err(error) if matches!(&error.code.as_str()[..2], "53" | "57" | "58") || error.ends_engine => Err(error),
        Err(_) => Ok(None),
    }
}

fn text() -> Type {
    types::named("VARCHAR")
}

fn sample(number: usize, type_: Option<&Type>) -> Parameter {
    let value = match type_.map(|type_| &type_.kind) {
        Some(
            TypeKind::Int2
            | TypeKind::Int4
            | TypeKind::Int8
            | TypeKind::Float4
            | TypeKind::Float8
            | TypeKind::Numeric(_),
        ) => ParameterValue::Text("1".to_owned()),
        _ => ParameterValue::Null,
    };
    Parameter { number, type_: type_.cloned().unwrap_or_else(text), value }
}

fn undetermined(number: usize) -> EngineError {
    let message = format!("could not determine data type of parameter ${number}");
    let hint = "Cast the parameter, as in $1::integer.".to_owned();
    EngineError { hint: Some(hint), ..EngineError::new(SqlState::INDETERMINATE_DATATYPE, message) }
}
