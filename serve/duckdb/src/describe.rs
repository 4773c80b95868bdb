//! Describes a statement before it runs: the types of its placeholders, and its columns.
//!
//! The types that a client leaves open, and those of literals in PostgreSQL's text form, come from their places:
//! `open_places.py` finds what decides each one, and DuckDB's binder gives its type.

use colonnade_server::parameter::ParameterValue;
use colonnade_server::value::oid;
use colonnade_server::value::types::{Type, TypeKind};
use colonnade_server::{Columns, Description, EngineError, Origins, Parameter, SqlState};
use colonnade_sql::Statement;

use crate::aggregates::Purpose;
use crate::fenced::FencedConnection;
use crate::nested_limits::NestedLimits;
use crate::outline::Outline;
use crate::placeholder::Placeholders;
use crate::{
    LibraryConnection, StatementTypes, Translated, TranslatingSession, catalog, definitions, numbered, truncate, types,
};

/// The type of a NUMERIC whose digits are not known yet.
const DEFAULT_DECIMAL: &str = "DECIMAL(38,10)";

/// A statement whose placeholders may have no types yet.
struct OpenStatement {
    statement: Translated,
    placeholders: Placeholders,
}

impl<C: LibraryConnection> TranslatingSession<C> {
    /// Describes a statement whose parameters have the types with PostgreSQL's numbers `oids`, 0 where one is open.
    pub(crate) fn description(&mut self, statement: &Statement<'_>, oids: &[u32]) -> Result<Description, EngineError> {
        let given = self.types_of(oids)?.into_iter();
        if let Some(table) = numbered::table(statement) {
            table.numbered.iter().try_for_each(|column| numbered::sequence_options(column).map(drop))?;
            let parameters = given.map(|type_| type_.unwrap_or_else(text)).collect();
            return Ok(Description { parameters, ..Description::default() });
        }
        if truncate::read(statement.text).is_some() || definitions::read(statement.text).is_some() {
            let parameters = given.map(|type_| type_.unwrap_or_else(text)).collect();
            return Ok(Description { parameters, ..Description::default() });
        }
        let statement = self.translated(statement.text)?;
        let statement = self.with_aggregates(statement, Purpose::Describe)?;
        let count = Placeholders::find(&statement.text).count();
        let (Some(statement), _) = self.with_stand_ins(statement)? else {
            let mut parameters: Vec<_> = given.map(|type_| type_.unwrap_or_else(text)).collect();
            parameters.resize_with(parameters.len().max(count), text);
            return Ok(Description { parameters, columns: Columns::Deferred, ..Description::default() });
        };
        let mut types: Vec<_> = match catalog::parameter_types(&statement.text) {
            [] => given.collect(),
            known => known.iter().map(|oid| types::of_oid(*oid)).collect(),
        };
        let limits = NestedLimits::find(&statement.text);
        let written = Placeholders::find(&statement.text);
        // A text that is cast to an array has an array's form.
        for (at, type_) in types.iter_mut().enumerate() {
            if written.has(at)
                && written.is_cast(at)
                && type_.as_ref().is_some_and(|type_| type_.kind == TypeKind::Text)
            {
                *type_ = None;
            }
        }
        types.resize(types.len().max(count), None);
        let statement = statement.edited(limits.samples());
        let placeholders = Placeholders::find(&statement.text);
        for number in limits.numbers().filter(|number| !placeholders.has(number - 1)) {
            types[number - 1].get_or_insert_with(|| types::named("BIGINT"));
        }
        let open = OpenStatement { placeholders, statement };
        open.describe(&mut self.connection, types)
    }
}

impl<C: LibraryConnection> TranslatingSession<C> {
    /// DuckDB's types for PostgreSQL's numbers.
    fn types_of(&mut self, oids: &[u32]) -> Result<Vec<Option<Type>>, EngineError> {
        oids.iter()
            .map(|&oid| match oid::item_of(oid) {
                Some(item) if oid::is_users(item) => Ok(self.user_type(item)?.map(Type::list_of)),
                _ if oid::is_users(oid) => self.user_type(oid),
                _ => Ok(types::of_oid(oid)),
            })
            .collect()
    }

    /// The user's type with this number.
    fn user_type(&mut self, oid: u32) -> Result<Option<Type>, EngineError> {
        let query = format!(
            "SELECT colonnade_catalog.pg.quote_ident(schema) || '.' || colonnade_catalog.pg.quote_ident(name) \
             FROM colonnade_catalog.pg.user_types WHERE oid = {oid}"
        );
        let rows = self.own_rows(&Translated::of(&query), &[])?;
        let Some(name) = rows.into_iter().next().and_then(|row| row.into_iter().next().flatten()) else {
            return Ok(None);
        };
        if !oid::is_composite(oid) {
            return Ok(Some(Type::new(name, TypeKind::Enum(oid))));
        }
        // Another type of the same attributes may have the number that the description gives.
        Ok(type_called(&mut self.connection, &name)?.map(|type_| match type_.kind {
            TypeKind::Composite { fields, .. } => Type::new(name, TypeKind::Composite { number: oid, fields }),
            kind => Type::new(name, kind),
        }))
    }
}

impl OpenStatement {
    /// Finds the types that the client left open, and the columns.
    fn describe(
        &self,
        connection: &mut FencedConnection<impl LibraryConnection>,
        mut types: Vec<Option<Type>>,
    ) -> Result<Description, EngineError> {
        types.resize(types.len().max(self.placeholders.count()), None);
        let was_open = (0..types.len()).any(|at| types[at].is_none() && self.placeholders.has(at));
        let typed = self.with_types(&types);
        let outline = if was_open { outlined(connection, &typed.text)? } else { None };
        let mut described = match outline {
            Some(found) => found,
            None => connection.describe(&typed, &[])?,
        };
        for (number, type_) in std::mem::take(&mut described.parameters) {
            match types.get_mut(number.wrapping_sub(1)) {
                Some(None) if type_.kind == TypeKind::Unknown => return Err(self.undetermined(number - 1)),
                Some(open @ None) => *open = Some(type_),
                _ => {}
            }
        }
        if was_open && (described.columns == Columns::Deferred || self.placeholders.has_repeated()) {
            // Without the types, DuckDB knew no columns, or took a later place of a parameter for one of any type.
            described = connection.describe(&self.with_types(&types), &[])?;
        }
        let (columns, origins) = self.columns_with_samples(connection, described, &types)?;
        let parameters = types.into_iter().map(|type_| type_.unwrap_or_else(text)).collect();
        Ok(Description { parameters, columns, origins, ..Description::default() })
    }

    /// The columns and their origins. Sometimes DuckDB needs values to find them, for example the arguments of a table function. Any
    /// values are suitable.
    fn columns_with_samples(
        &self,
        connection: &mut FencedConnection<impl LibraryConnection>,
        described: StatementTypes,
        types: &[Option<Type>],
    ) -> Result<(Columns, Origins), EngineError> {
        if described.columns != Columns::Deferred || self.placeholders.count() == 0 {
            return Ok((described.columns, described.origins));
        }
        let samples = types.iter().enumerate().filter(|(at, _)| self.placeholders.has(*at));
        let samples: Vec<_> = samples.map(|(at, type_)| sample(at + 1, type_.as_ref())).collect();
        let samples: Vec<_> = samples.iter().collect();
        let described = if_types_fit(connection.describe(&self.with_types(types), &samples))?;
        Ok(described.map_or((Columns::Deferred, Origins::default()), |found| (found.columns, found.origins)))
    }

    /// PostgreSQL's error for a parameter, by number from 0, whose type nothing decides.
    fn undetermined(&self, index: usize) -> EngineError {
        let number = index + 1;
        let message = format!("could not determine data type of parameter ${number}");
        let hint = Some(format!("Cast the parameter, as in ${number}::integer."));
        let characters = |start: usize| self.statement.text[..start].chars().count();
        let position = self.placeholders.start(index).map(|start| self.statement.position(characters(start)));
        EngineError { hint, position, ..EngineError::new(SqlState::INDETERMINATE_DATATYPE, message) }
    }

    fn with_types(&self, types: &[Option<Type>]) -> Translated {
        let name = |type_: &Type| match type_.name == types::DECIMAL {
            true => DEFAULT_DECIMAL.to_owned(),
            false => type_.name.clone(),
        };
        let names: Vec<_> = types.iter().map(|type_| type_.as_ref().map(name)).collect();
        self.statement.clone().edited(self.placeholders.casts(&names))
    }
}

/// The type with a name in SQL. `None` if there is none.
pub(crate) fn type_called(
    connection: &mut FencedConnection<impl LibraryConnection>,
    name: &str,
) -> Result<Option<Type>, EngineError> {
    let described = if_types_fit(connection.describe(&Translated::of(&format!("SELECT NULL::{name}")), &[]))?;
    Ok(match described.map(|found| found.columns) {
        Some(Columns::Known(columns)) => columns.into_iter().next().map(|(_, type_)| type_),
        _ => None,
    })
}

/// The types that the places of a statement give its open placeholders, by number from 1, as far as they do.
pub(crate) fn parameter_types(
    connection: &mut FencedConnection<impl LibraryConnection>,
    statement: &Translated,
) -> Result<Vec<(usize, Type)>, EngineError> {
    let described = match outlined(connection, &statement.text)? {
        Some(found) => Some(found),
        None => if_types_fit(connection.describe(statement, &[]))?,
    };
    Ok(described.map_or_else(Vec::new, |found| found.parameters))
}

/// What the outline of a long statement says of it; `None` if it has none, or says nothing: the positions of its errors
/// are not the statement's.
fn outlined(
    connection: &mut FencedConnection<impl LibraryConnection>,
    statement: &str,
) -> Result<Option<StatementTypes>, EngineError> {
    let Some(outline) = Outline::of(statement) else { return Ok(None) };
    let found = if_types_fit(connection.describe(&Translated::of(&outline.text), &[]))?;
    Ok(found.map(|found| StatementTypes { parameters: outline.parameter_types(found.parameters), ..found }))
}

/// The description of a statement with sample values; `None` if they do not fit.
///
/// # Errors
/// Errors that do not depend on types: a limit, a lack of memory, an interrupt, a fatal error. Most of them abort
/// DuckDB's transaction, and another error would not say the reason, so the client must get them.
fn if_types_fit(described: Result<StatementTypes, EngineError>) -> Result<Option<StatementTypes>, EngineError> {
    match described {
        Ok(described) => Ok(Some(described)),
        Err(error) if matches!(&error.code.as_str()[..2], "53" | "54" | "57" | "58") || error.ends_engine => Err(error),
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

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Arc;

    use arrow_array::RecordBatch;
    use colonnade_server::{BatchSize, ColumnCheck, EngineAnswer, EngineSession as _, Interrupt};
    use colonnade_sql::Dialect;

    use super::*;
    use crate::fence::{Fence, Rights};
    use crate::{AllowedStatement, ServedDatabase, UserFence};

    /// A connection that answers requests to describe a statement with these results, in order. It runs no statement.
    struct Answering(VecDeque<Result<StatementTypes, EngineError>>);

    impl LibraryConnection for Answering {
        fn execute(
            &mut self,
            _: &AllowedStatement<'_>,
            _: &[&Parameter],
            _: BatchSize,
            _: bool,
        ) -> Result<EngineAnswer, EngineError> {
            panic!("a description runs nothing");
        }

        fn discard(&mut self, _: &str) -> Result<(), EngineError> {
            panic!("a description runs nothing");
        }

        fn read(&mut self, _: &AllowedStatement<'_>, _: BatchSize) -> Result<EngineAnswer, EngineError> {
            panic!("a description runs nothing");
        }

        fn query_checked(
            &mut self,
            _: &AllowedStatement<'_>,
            _: BatchSize,
            _: ColumnCheck,
        ) -> Result<EngineAnswer, EngineError> {
            panic!("a description runs nothing");
        }

        fn describe(&mut self, _: &AllowedStatement<'_>, _: &[&Parameter]) -> Result<StatementTypes, EngineError> {
            self.0.pop_front().expect("more descriptions are requested than there are answers")
        }

        fn insert(&mut self, _: &AllowedStatement<'_>, _: &str, _: Vec<RecordBatch>) -> Result<u64, EngineError> {
            panic!("a description runs nothing");
        }

        fn interrupt_handle(&self) -> Arc<dyn Interrupt> {
            panic!("nothing runs");
        }
    }

    fn deferred_columns() -> StatementTypes {
        StatementTypes { columns: Columns::Deferred, ..StatementTypes::default() }
    }

    fn known() -> Result<StatementTypes, EngineError> {
        Ok(StatementTypes { columns: Columns::Known(vec![("x".to_owned(), text())]), ..StatementTypes::default() })
    }

    /// A parameter's type. The columns depend on it.
    fn found(type_name: &str) -> Result<StatementTypes, EngineError> {
        Ok(StatementTypes { parameters: vec![(1, types::named(type_name))], ..deferred_columns() })
    }

    fn deferred() -> Result<StatementTypes, EngineError> {
        Ok(deferred_columns())
    }

    fn failed(code: SqlState) -> Result<StatementTypes, EngineError> {
        Err(EngineError::new(code, "failed"))
    }

    /// Describes a statement. Checks that all answers are used.
    fn described<const N: usize>(
        sql: &str,
        answers: [Result<StatementTypes, EngineError>; N],
    ) -> Result<Description, EngineError> {
        let served = ServedDatabase { database: "shop".to_owned(), ..ServedDatabase::default() };
        let fence = Arc::new(Fence::new([], usize::MAX).unwrap());
        let fence = UserFence { fence, rights: Rights { writes: true, files: false } };
        let mut session = TranslatingSession::new(Answering(answers.into()), served, fence);
        let description = session.describe(&Statement::of(sql, Dialect::DuckDb), &[]);
        let answers = &session.connection.as_library().0;
        assert!(answers.is_empty(), "{sql}: {} answers are left", answers.len());
        description
    }

    /// Such an error aborts DuckDB's transaction at each step.
    #[test]
    fn an_error_that_is_not_about_types_is_reported() {
        for code in [SqlState::OUT_OF_MEMORY, SqlState::QUERY_CANCELED, SqlState::IO_ERROR] {
            for description in [
                described("select $1", [failed(code)]),
                described("select * from f($1)", [found("VARCHAR"), failed(code)]),
                described("select * from f($1)", [found("VARCHAR"), deferred(), failed(code)]),
            ] {
                assert_eq!(description.unwrap_err().code, code);
            }
        }
        let fatal = EngineError { ends_engine: true, ..EngineError::new(SqlState::INTERNAL_ERROR, "failed") };
        assert!(described("select $1", [found("VARCHAR"), Err(fatal)]).unwrap_err().ends_engine);
    }

    #[test]
    fn a_type_that_nothing_decides_is_an_error_with_its_place() {
        let types = |description: Result<Description, EngineError>| description.unwrap().parameters;
        assert_eq!(types(described("select 1 + $1", [found("INTEGER"), known()])), [types::named("INTEGER")]);
        let error = described("select é, $1 is null", [found("UNKNOWN")]).unwrap_err();
        assert_eq!((error.code, error.position), (SqlState::INDETERMINATE_DATATYPE, Some(10)));
    }
}
