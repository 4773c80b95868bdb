//! Prepared statements: what Parse makes of a query.

use colonnade_sql::edit::Edited;
use colonnade_sql::statement::Cursor as Request;
use colonnade_sql::{Dialect, Statement, StatementKind};

use crate::duckdb;
use crate::duckdb::cast::cast;
use crate::duckdb::catalog;
use crate::duckdb::placeholder::Placeholders;
use crate::engine::{Columns, Parameter, Session as Engine};
use crate::error::Failure;
use crate::limits::budget::Charge;
use crate::parameter::{self, InputError, Value, from_binary, from_text};
use crate::session::cursors;
use crate::session::query;
use crate::session::settings::{self, Command, Settings};
use crate::value::types::{Kind, Type};

/// A statement that was parsed, and what is known of it before it runs.
#[derive(Clone, Debug, Default)]
pub struct PreparedStatement {
    /// Its text; empty if the query had no statement.
    pub text: String,
    /// What it is.
    pub kind: StatementKind,
    placeholders: Placeholders,
    /// The source that it goes to, which finds its own placeholders.
    source: Option<Dialect>,
    /// The types of its parameters by PostgreSQL's numbers, as far as the client has given them, 0 where it left one open.
    sent_types: Vec<u32>,
    /// The same as the source has told them, if it is a PostgreSQL.
    told_types: Vec<u32>,
    /// The type of each parameter.
    pub types: Vec<Type>,
    /// PostgreSQL's numbers for those that the client gave a type that is known here.
    given: Vec<Option<u32>>,
    /// What it gives.
    pub columns: Columns,
}

/// A statement with values for its parameters, as the engine takes it.
#[derive(Clone, Debug)]
pub struct Bound {
    /// The text, whose placeholders are cast to their types.
    pub text: String,
    /// The values of those that occur in it.
    pub values: Vec<Parameter>,
}

impl Bound {
    /// What it holds, in bytes.
    pub fn bytes(&self) -> usize {
        let values = self.values.iter().map(|value| size_of_val(value) + value.value.bytes());
        self.text.len() + values.sum::<usize>()
    }
}

/// Types to try for a parameter that nothing gives a type: PostgreSQL would take a text first as well. It would then go
/// by the function around it, whose other arguments the engine does not tell.
const GUESSES: [&str; 5] = ["VARCHAR", "BIGINT", "DOUBLE", "INTERVAL", "TIMESTAMP"];
/// What a NUMERIC is taken for until its digits are known.
const SOME_DECIMAL: &str = "DECIMAL(38,10)";

impl PreparedStatement {
    /// Prepares a statement. The client says the types of some parameters by PostgreSQL's numbers.
    ///
    /// # Errors
    /// If the engine refuses it.
    pub fn new(engine: &mut dyn Engine, statement: &Statement<'_>, oids: &[u32]) -> Result<Self, Failure> {
        let dialect = engine.dialect();
        let source = Some(dialect).filter(|dialect| *dialect != Dialect::DuckDb);
        let given = oids.iter().map(|oid| Type::of_oid(*oid));
        let known = oids.iter().map(|oid| Type::of_oid(*oid).map(|_| *oid)).collect();
        let (text, kind) = (statement.text.to_owned(), statement.kind.clone());
        let mut prepared = Self { text, kind, source, given: known, sent_types: oids.to_vec(), ..Self::default() };
        let mut query = Edited::of(statement.text);
        let mut is_engines = query::is_engines(&statement.kind, dialect) && !statement.text.is_empty();
        let mut is_declaration = false;
        if !is_engines {
            match cursors::request(&statement.kind)? {
                Some(Request::Declare { query: place, .. }) => {
                    query = Edited::part(statement.text, place.clone());
                    (is_engines, is_declaration) = (true, true);
                }
                // The cursor's columns.
                Some(Request::Fetch { is_move: false, .. }) => prepared.columns = Columns::Late,
                _ => {}
            }
        }
        if is_engines && source.is_some() {
            // The source is asked when the client asks, or when it runs.
            prepared.text = query.text.into_owned();
            prepared.types = given.map(|type_| type_.unwrap_or_else(unknown)).collect();
            prepared.columns = Columns::Late;
        } else if is_engines {
            let Edited { text, map } = duckdb::statement(query);
            prepared.text = text.into_owned();
            // Those of PREPARE are not the client's.
            if statement.kind != StatementKind::Prepare {
                prepared.placeholders = Placeholders::find(&prepared.text);
            }
            let mut types: Vec<_> = match catalog::parameter_types(&prepared.text) {
                [] => given.collect(),
                known => known.iter().map(|oid| Type::of_oid(*oid)).collect(),
            };
            types.resize(types.len().max(prepared.placeholders.count()), None);
            prepared.infer(engine, types).map_err(|failure| failure.placed(|position| map.old(position)))?;
        } else {
            let text = || Type::named("VARCHAR");
            let names = match settings::command(&statement.kind) {
                Some(Command::Show(setting)) => vec![Settings::name(setting)],
                Some(Command::ShowAll) => vec!["name", "setting", "description"],
                _ => Vec::new(),
            };
            if !names.is_empty() {
                prepared.columns = Columns::Known(names.into_iter().map(|name| (name.to_owned(), text())).collect());
            }
            prepared.types = given.map(|type_| type_.unwrap_or_else(text)).collect();
        }
        if is_declaration {
            prepared.columns = Columns::None;
        }
        Ok(prepared)
    }

    /// What it holds, in bytes.
    pub fn bytes(&self) -> usize {
        /// Of a parameter: its type's name, its number, and its places in the text.
        const PARAMETER: usize = 128;
        let columns = match &self.columns {
            Columns::Known(columns) => columns.iter().map(|column| size_of_val(column) + column.0.len()).sum(),
            Columns::None | Columns::Late => 0,
        };
        self.text.len() + self.types.len() * PARAMETER + columns
    }

    /// What values for it may come to at most.
    pub fn most_bytes(&self, formats: &[i16], values: &[Option<Vec<u8>>]) -> usize {
        let open = unknown();
        let types = self.types.iter().chain(std::iter::repeat(&open));
        let most = values.iter().zip(types).enumerate().map(|(at, (bytes, type_))| match bytes {
            Some(bytes) => parameter::most_bytes(type_, bytes, format(formats, at) == 1),
            None => 0,
        });
        self.text.len() + most.sum::<usize>()
    }

    /// Asks the source what the statement takes and gives, as far as that is open.
    ///
    /// # Errors
    /// What the source says of a wrong statement.
    pub fn look(&mut self, engine: &mut dyn Engine) -> Result<(), Failure> {
        let types = self.types.iter().enumerate().filter(|(_, type_)| type_.kind != Kind::Unknown);
        let given = types.map(|(at, type_)| Parameter { number: at + 1, type_: type_.clone(), value: Value::Null });
        let given: Vec<_> = match self.source {
            Some(Dialect::Postgres { .. }) => {
                (0..self.sent_types.len()).map(|at| self.sent(at, false, None, &unknown())).collect()
            }
            _ => given.collect(),
        };
        let description = engine.describe(&self.text, &given)?;
        self.told_types = description.type_oids;
        for (number, type_) in description.parameters {
            self.types.resize_with(self.types.len().max(number), unknown);
            if let Some(open) = self.types.get_mut(number.wrapping_sub(1)).filter(|type_| type_.kind == Kind::Unknown) {
                *open = type_;
            }
        }
        self.columns = description.columns;
        Ok(())
    }

    /// Whether a source is to be asked for its columns.
    pub fn is_open(&self) -> bool {
        self.source.is_some() && self.columns == Columns::Late
    }

    /// The query of a cursor that has been declared.
    pub fn running(query: &str) -> Self {
        Self { text: query.to_owned(), columns: Columns::Late, ..Self::default() }
    }

    /// Finds the types that the client left open, and the columns.
    fn infer(&mut self, engine: &mut dyn Engine, mut types: Vec<Option<Type>>) -> Result<(), Failure> {
        self.infer_lists(engine, &mut types);
        let typed = self.with_types(&types);
        let mut description = engine.describe(&typed.text, &[]).map_err(|error| error.led_back(&typed.map))?;
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
                let columns = engine.describe(&self.with_types(&guessed).text, &[]).ok()?.columns;
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
        let samples: Vec<_> = samples.map(|(at, type_)| sample(at + 1, type_.as_ref())).collect();
        engine.describe(&self.with_types(types).text, &samples).map_or(Columns::Late, |found| found.columns)
    }

    /// Finds the types of the lists in `ANY($1)` that the client left open. Others are left to be guessed.
    fn infer_lists(&self, engine: &mut dyn Engine, types: &mut [Option<Type>]) {
        let (text, mut lists) = self.placeholders.items(&self.text);
        lists.retain(|at| types.get(*at).is_some_and(Option::is_none));
        if lists.is_empty() {
            return;
        }
        let items = Self { placeholders: Placeholders::find(&text), text, ..self.clone() };
        let Ok(description) = engine.describe(&items.with_types(types).text, &[]) else { return };
        for (number, item) in description.parameters {
            let at = number.wrapping_sub(1);
            if lists.contains(&at) && item.kind != Kind::Unknown {
                types[at] = Some(Type { name: format!("{}[]", item.name), kind: Kind::List(Box::new(item)) });
            }
        }
    }

    /// PostgreSQL's number for the type of each parameter: the client's own where it gave one, since it may have another
    /// name for the same type, and count on it.
    pub fn parameter_oids(&self) -> impl ExactSizeIterator<Item = u32> {
        let told = |at: usize| self.told_types.get(at).copied().filter(|oid| *oid > 0);
        let given = move |at: usize| told(at).or_else(|| self.given.get(at).copied().flatten());
        self.types.iter().enumerate().map(move |(at, type_)| given(at).unwrap_or_else(|| type_.parameter_oid()))
    }

    fn with_types(&self, types: &[Option<Type>]) -> Edited<'_> {
        let name = |type_: &Type| match type_.is_decimal() && type_.name == "DECIMAL" {
            true => SOME_DECIMAL.to_owned(),
            false => type_.name.clone(),
        };
        let names: Vec<_> = types.iter().map(|type_| type_.as_ref().map(name)).collect();
        self.placeholders.casts(&names).apply(&self.text)
    }

    /// A value as it has come, for a PostgreSQL.
    fn sent(&self, at: usize, is_binary: bool, bytes: Option<Vec<u8>>, type_: &Type) -> Parameter {
        let type_oid = self.sent_types.get(at).copied().unwrap_or(0);
        let value = Value::Sent { type_oid, is_binary, bytes };
        Parameter { number: at + 1, type_: type_.clone(), value }
    }

    /// Takes values for the parameters, in PostgreSQL's text (0) or binary (1) form, and charges them.
    ///
    /// # Errors
    /// If their number is wrong, or one is not of its type.
    pub fn bind(
        &self,
        name: &str,
        formats: &[i16],
        values: &[Option<Vec<u8>>],
        charge: &mut Charge,
    ) -> Result<Bound, Failure> {
        let is_passed = self.source.is_some();
        let is_known = values.len() == self.types.len() || is_passed && values.len() > self.types.len();
        if !is_known {
            let (given, wanted) = (values.len(), self.types.len());
            return Err(Failure::ParameterCount { name: name.to_owned(), given, wanted });
        }
        if formats.len() > 1 && formats.len() != values.len() {
            return Err(Failure::FormatCount { formats: formats.len(), values: values.len() });
        }
        let mut bound = Bound { text: String::new(), values: Vec::new() };
        let mut casts = vec![None; values.len()];
        let open = unknown();
        let types = self.types.iter().chain(std::iter::repeat(&open));
        let mut total = self.text.len();
        for (at, (bytes, type_)) in values.iter().zip(types).enumerate() {
            let is_binary = format(formats, at) == 1;
            if self.source.is_some_and(Dialect::is_postgres) {
                let sent = self.sent(at, is_binary, bytes.clone(), type_);
                total += sent.value.bytes();
                if total > charge.bytes() {
                    charge.set(total)?;
                }
                bound.values.push(sent);
                continue;
            }
            let is_strange = self.sent_types.get(at).is_some_and(|oid| *oid > 0 && Type::of_oid(*oid).is_none());
            let value = match bytes {
                None => Value::Null,
                // Bytes in a form that is not known here would be taken for text.
                Some(_) if is_binary && is_strange => {
                    let number = self.sent_types.get(at).copied().unwrap_or_default();
                    return Err(InputError::NoBinary(format!("number {number}")).into());
                }
                Some(bytes) if is_binary => from_binary(type_, bytes)?,
                Some(bytes) => {
                    let text = std::str::from_utf8(bytes).map_err(|_| InputError::Encoding)?;
                    // A source has forms of its own for these, and its clients know them.
                    let is_left = is_passed && type_.kind.is_temporal();
                    if is_left { Value::Text(text.to_owned()) } else { from_text(type_, text)? }
                }
            };
            // A number of few bytes may have many digits.
            total += value.bytes();
            if total > charge.bytes() {
                charge.set(total)?;
            }
            let parameter = |value| Parameter { number: at + 1, type_: type_.clone(), value };
            if is_passed {
                bound.values.push(parameter(value));
            } else if self.placeholders.has(at) {
                casts[at] = Some(cast(type_, &value)?);
                bound.values.push(parameter(value));
            }
        }
        bound.text = self.placeholders.casts(&casts).apply(&self.text).text.into_owned();
        Ok(bound)
    }
}

/// The format of a parameter, by its number from 0: one for all, or one each.
fn format(formats: &[i16], at: usize) -> i16 {
    let code = if formats.len() == 1 { formats.first() } else { formats.get(at) };
    code.copied().unwrap_or(0)
}

fn unknown() -> Type {
    Type::named("UNKNOWN")
}

fn sample(number: usize, type_: Option<&Type>) -> Parameter {
    let value = match type_.map(|type_| &type_.kind) {
        Some(Kind::Int2 | Kind::Int4 | Kind::Int8 | Kind::Float4 | Kind::Float8 | Kind::Numeric(_)) => {
            Value::Text("1".to_owned())
        }
        _ => Value::Null,
    };
    Parameter { number, type_: type_.cloned().unwrap_or_else(unknown), value }
}
