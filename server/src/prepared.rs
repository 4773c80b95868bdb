//! Prepared statements: what Parse makes of a query.

use crate::catalog;
use crate::engine::{Columns, Session as Engine};
use crate::error::Failure;
use crate::literal;
use crate::parameter::{Placeholders, Value, cast, from_binary, from_text};
use crate::query::{self, StatementKind};
use crate::settings::{self, Command, Settings};
use crate::types::{Kind, Type};

/// A statement that was parsed, and what is known of it before it runs.
#[derive(Clone, Debug)]
pub struct PreparedStatement {
    /// Its text; empty if the query had no statement.
    pub text: String,
    /// What it is.
    pub kind: StatementKind,
    placeholders: Placeholders,
    /// The type of each parameter.
    pub types: Vec<Type>,
    /// What it gives.
    pub columns: Columns,
}

/// A statement with values for its parameters, as the engine takes it.
#[derive(Clone, Debug)]
pub struct Bound {
    /// The text, whose placeholders are cast to their types.
    pub text: String,
    /// The values of those that occur in it, by number from 1.
    pub values: Vec<(usize, Value)>,
}

/// Types to try for a parameter that nothing gives a type: PostgreSQL would take a text first as well. It would then go
/// by the function around it, whose other arguments the engine does not tell.
const GUESSES: [&str; 5] = ["VARCHAR", "BIGINT", "DOUBLE", "INTERVAL", "TIMESTAMP"];
/// What a NUMERIC is taken for until its digits are known.
const SOME_DECIMAL: &str = "DECIMAL(38,10)";

impl PreparedStatement {
    /// Prepares the only statement of `query`. The client says the types of some parameters by PostgreSQL's numbers.
    ///
    /// # Errors
    /// If there are several statements, or the engine refuses this one.
    pub fn new(engine: &mut dyn Engine, query: &str, oids: &[u32]) -> Result<Self, Failure> {
        let statements = query::split(query);
        if statements.len() > 1 {
            return Err(Failure::SeveralStatements);
        }
        let text = statements.first().map_or("", |statement| statement.text).to_owned();
        let kind = query::kind(&text);
        let given = oids.iter().map(|oid| Type::of_oid(*oid));
        let mut prepared =
            Self { kind, placeholders: Placeholders::default(), types: Vec::new(), columns: Columns::None, text };
        let is_engines = matches!(kind, StatementKind::Other | StatementKind::Alone) && !prepared.text.is_empty();
        if is_engines {
            prepared.text = literal::translate(&catalog::plain(&prepared.text)).into_owned();
            if !query::is_preparation(&prepared.text) {
                prepared.placeholders = Placeholders::find(&prepared.text);
            }
            let mut types: Vec<_> = match catalog::parameter_types(&prepared.text) {
                [] => given.collect(),
                known => known.iter().map(|oid| Type::of_oid(*oid)).collect(),
            };
            types.resize(types.len().max(prepared.placeholders.count()), None);
            prepared.infer(engine, types)?;
        } else {
            let unknown = || Type::named("VARCHAR");
            let names = match settings::command(&prepared.text) {
                Some(Command::Show(setting)) => vec![Settings::name(setting)],
                Some(Command::ShowAll) => vec!["name", "setting", "description"],
                _ => Vec::new(),
            };
            if !names.is_empty() {
                let text = |name: &str| (name.to_owned(), Type::named("VARCHAR"));
                prepared.columns = Columns::Known(names.into_iter().map(text).collect());
            }
            prepared.types = given.map(|type_| type_.unwrap_or_else(unknown)).collect();
        }
        Ok(prepared)
    }

    /// Finds the types that the client left open, and the columns.
    fn infer(&mut self, engine: &mut dyn Engine, mut types: Vec<Option<Type>>) -> Result<(), Failure> {
        self.infer_lists(engine, &mut types);
        let mut description = engine.describe(&self.with_types(&types), &[])?;
        for (number, type_) in description.parameters {
            if let Some(open @ None) = types.get_mut(number.wrapping_sub(1)) {
                *open = (type_.kind != Kind::Unknown).then_some(type_);
            }
        }
        description.columns = self.sampled(engine, description.columns, &types);
        if let Some(open) = (0..types.len()).find(|&at| types[at].is_none() && self.placeholders.has(at)) {
            let mut guesses = GUESSES.iter().filter_map(|name| {
                let guess = |type_: &Option<Type>| Some(type_.clone().unwrap_or_else(|| Type::named(name)));
                let guessed: Vec<_> = types.iter().map(guess).collect();
                let columns = engine.describe(&self.with_types(&guessed), &[]).ok()?.columns;
                Some((self.sampled(engine, columns, &guessed), guessed))
            });
            let first = guesses.next().ok_or(Failure::UnknownParameter(open + 1))?;
            // A type that leaves the columns open may be one that does not fit.
            let is_late = first.0 == Columns::Late;
            let better = if is_late { guesses.find(|(columns, _)| *columns != Columns::Late) } else { None };
            (description.columns, types) = better.unwrap_or(first);
        }
        self.columns = description.columns;
        self.types = types.into_iter().map(|type_| type_.unwrap_or_else(|| Type::named("VARCHAR"))).collect();
        Ok(())
    }

    /// The columns, where the engine needs values to tell them: the arguments of a table function, say. Any will do.
    fn sampled(&self, engine: &mut dyn Engine, columns: Columns, types: &[Option<Type>]) -> Columns {
        if columns != Columns::Late || self.placeholders.count() == 0 {
            return columns;
        }
        let samples = types.iter().enumerate().filter(|(at, _)| self.placeholders.has(*at));
        let samples: Vec<_> = samples.map(|(at, type_)| (at + 1, sample(type_.as_ref()))).collect();
        engine.describe(&self.with_types(types), &samples).map_or(Columns::Late, |found| found.columns)
    }

    /// Finds the types of the lists in `ANY($1)` that the client left open. Others are left to be guessed.
    fn infer_lists(&self, engine: &mut dyn Engine, types: &mut [Option<Type>]) {
        let (text, mut lists) = self.placeholders.items(&self.text);
        lists.retain(|at| types.get(*at).is_some_and(Option::is_none));
        if lists.is_empty() {
            return;
        }
        let items = Self { placeholders: Placeholders::find(&text), text, ..self.clone() };
        let Ok(description) = engine.describe(&items.with_types(types), &[]) else { return };
        for (number, item) in description.parameters {
            let at = number.wrapping_sub(1);
            if lists.contains(&at) && item.kind != Kind::Unknown {
                types[at] = Some(Type { name: format!("{}[]", item.name), kind: Kind::List(Box::new(item)) });
            }
        }
    }

    fn with_types(&self, types: &[Option<Type>]) -> String {
        let name = |type_: &Type| match type_.is_decimal() && type_.name == "DECIMAL" {
            true => SOME_DECIMAL.to_owned(),
            false => type_.name.clone(),
        };
        let names: Vec<_> = types.iter().map(|type_| type_.as_ref().map(name)).collect();
        self.placeholders.cast(&self.text, &names)
    }

    /// Takes values for the parameters, in PostgreSQL's text (0) or binary (1) form.
    ///
    /// # Errors
    /// If their number is wrong, or one is not of its type.
    pub fn bind(&self, name: &str, formats: &[i16], values: &[Option<Vec<u8>>]) -> Result<Bound, Failure> {
        if values.len() != self.types.len() {
            let (given, wanted) = (values.len(), self.types.len());
            return Err(Failure::ParameterCount { name: name.to_owned(), given, wanted });
        }
        if formats.len() > 1 && formats.len() != values.len() {
            return Err(Failure::FormatCount { formats: formats.len(), values: values.len() });
        }
        let mut bound = Bound { text: String::new(), values: Vec::new() };
        let mut casts = vec![None; values.len()];
        for (at, (bytes, type_)) in values.iter().zip(&self.types).enumerate() {
            let format = if formats.len() == 1 { formats[0] } else { formats.get(at).copied().unwrap_or(0) };
            let value = match bytes {
                None => Value::Null,
                Some(bytes) if format == 1 => from_binary(type_, bytes)?,
                Some(bytes) => {
                    let text = std::str::from_utf8(bytes).map_err(|_| crate::parameter::InputError::Encoding)?;
                    from_text(type_, text)?
                }
            };
            if self.placeholders.has(at) {
                casts[at] = Some(cast(type_, &value)?);
                bound.values.push((at + 1, value));
            }
        }
        bound.text = self.placeholders.cast(&self.text, &casts);
        Ok(bound)
    }
}

fn sample(type_: Option<&Type>) -> Value {
    match type_.map(|type_| &type_.kind) {
        Some(Kind::Int2 | Kind::Int4 | Kind::Int8 | Kind::Float4 | Kind::Float8 | Kind::Numeric(_)) => {
            Value::Text("1".to_owned())
        }
        _ => Value::Null,
    }
}
