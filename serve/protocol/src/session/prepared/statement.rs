//! Prepared statements, which Parse creates.

use std::sync::{Arc, Mutex, PoisonError};

use colonnade_sql::statement::{Argument, CursorStatement, SetConfig};
use colonnade_sql::{Dialect, Statement, StatementKind};

use crate::charset::ClientEncoding;
use crate::engine::{Columns, EngineError, EngineSession, Origins, Parameter};
use crate::error::Failure;
use crate::limits::Charge;
use crate::parameter::{self, InputError, ParameterValue, from_binary, from_text};
use crate::session::query;
use crate::session::settings::{self, Command, Settings};
use crate::session::spool::description;
use crate::value::types::{Type, TypeKind};

/// A statement that was parsed, with its description.
#[derive(Clone, Debug, Default)]
pub struct PreparedStatement {
    /// Its text; empty if the query had no statement.
    pub text: String,
    pub kind: StatementKind,
    /// The dialect of the source on which it runs. A source finds the placeholders itself.
    source: Option<Dialect>,
    /// PostgreSQL's numbers of the parameters' types from the client; 0 where it leaves one open.
    sent_types: Vec<u32>,
    /// The numbers from the source, if it is a PostgreSQL.
    source_types: Vec<u32>,
    pub types: Vec<Type>,
    /// Whether it may give rows of what it changes.
    pub may_return_changes: bool,
    /// The client's numbers of types that this server knows.
    given: Vec<Option<u32>>,
    pub columns: Columns,
    /// The origins of the columns. They may change without the columns.
    origins: Arc<Mutex<Origins>>,
}

impl PreparedStatement {
    /// Prepares a statement. `oids` are PostgreSQL's numbers of the parameters' types from the client.
    ///
    /// # Errors
    /// If the engine refuses it.
    pub fn new(engine: &mut dyn EngineSession, statement: &Statement<'_>, oids: &[u32]) -> Result<Self, Failure> {
        let (source, dialect) = (engine.source(), engine.dialect());
        let Statement { text, kind, .. } = statement;
        let given = oids.iter().map(|oid| Type::of_oid(*oid));
        let known = oids.iter().map(|oid| Type::of_oid(*oid).map(|_| *oid)).collect();
        let kind = kind.clone();
        if let Some(described) = description::of(&kind)? {
            // The server reads the values itself, also in front of a source.
            let given = given.map(|type_| type_.unwrap_or_else(Type::text));
            let types: Vec<_> = given.chain(std::iter::repeat_with(Type::text)).take(described.placeholders).collect();
            let columns = described.columns.map_or(Columns::None, Columns::Known);
            return Ok(Self {
                text: (*text).to_owned(),
                kind,
                sent_types: oids.to_vec(),
                given: known,
                types,
                columns,
                ..Self::default()
            });
        }
        let mut prepared = Self { kind, source, sent_types: oids.to_vec(), given: known, ..Self::default() };
        // The statement for the engine, and its first byte in the client's statement.
        let (mut query, mut start, mut is_declaration) = (statement, 0, false);
        let declared;
        let mut is_engines = query::runs_on_engine(&prepared.kind, source) && !text.is_empty();
        if !is_engines {
            match query::cursor_request(&statement.kind)? {
                Some(CursorStatement::Declare { query: place, .. }) => {
                    declared = Statement::of(&text[place.clone()], dialect);
                    (query, start, is_declaration, is_engines) = (&declared, place.start, true, true);
                }
                // FETCH gives the cursor's columns.
                Some(CursorStatement::Fetch { is_move: false, .. }) => prepared.columns = Columns::Deferred,
                _ => {}
            }
        }
        prepared.text = (*text).to_owned();
        prepared.may_return_changes = query::may_return_changes(&prepared.kind, query.text, dialect);
        if is_engines && source.is_some() {
            // The source describes the statement when the client requests a description, or when the statement runs.
            prepared.types = given.map(|type_| type_.unwrap_or_else(Type::unknown)).collect();
            prepared.columns = Columns::Deferred;
        } else if is_engines {
            let described = engine.describe(query, oids);
            let before = || text[..start].chars().count();
            let described = described.map_err(|error| Failure::from(error).with_offset(Some(before())))?;
            (prepared.types, prepared.columns) = (described.parameters, described.columns);
            prepared.origins = Arc::new(Mutex::new(described.origins));
        } else {
            let names = match settings::command(&statement.kind) {
                Some(Command::Show(setting)) => vec![Settings::name(setting)],
                Some(Command::ShowAll) => vec!["name", "setting", "description"],
                _ if matches!(statement.kind, StatementKind::SetConfig(_)) => vec!["set_config"],
                _ => Vec::new(),
            };
            if !names.is_empty() {
                prepared.columns =
                    Columns::Known(names.into_iter().map(|name| (name.to_owned(), Type::text())).collect());
            }
            prepared.types = given.map(|type_| type_.unwrap_or_else(Type::text)).collect();
            if let StatementKind::SetConfig(SetConfig { value: Argument::Parameter(number), .. }) = &statement.kind {
                prepared.types.resize_with((*number).max(prepared.types.len()), Type::text);
            }
        }
        if is_declaration {
            prepared.columns = Columns::None;
        }
        Ok(prepared)
    }

    pub fn statement(&self) -> Statement<'_> {
        Statement { text: &self.text, start: 0, kind: self.kind.clone() }
    }

    /// The memory that it occupies, in bytes.
    pub fn bytes(&self) -> usize {
        /// The memory of a parameter: its type's name, its number, and its positions in the text.
        const PARAMETER: usize = 128;
        let columns = match &self.columns {
            Columns::Known(columns) => columns.iter().map(|column| size_of_val(column) + column.0.len()).sum(),
            Columns::None | Columns::Deferred => 0,
        };
        self.text.len() + self.types.len() * PARAMETER + columns + size_of_val(&self.origins().columns[..])
    }

    /// An upper bound of the memory of these values, in bytes.
    pub fn max_bytes(&self, formats: &[i16], values: &[Option<Vec<u8>>]) -> usize {
        let unknown = Type::unknown();
        let types = self.types.iter().chain(std::iter::repeat(&unknown));
        let most = values.iter().zip(types).enumerate().map(|(at, (bytes, type_))| match bytes {
            Some(bytes) => parameter::max_bytes(type_, bytes, format(formats, at) == 1),
            None => 0,
        });
        most.sum()
    }

    /// Requests the unknown types and columns from the source.
    ///
    /// # Errors
    /// The source's error for an invalid statement.
    pub fn describe_by_source(&mut self, engine: &mut dyn EngineSession) -> Result<(), Failure> {
        let dialect = engine.dialect();
        let description = match &self.kind {
            StatementKind::Cursor(Ok(CursorStatement::Declare { query, .. })) => {
                engine.describe(&Statement::of(&self.text[query.clone()], dialect), &self.sent_types)?
            }
            _ => engine.describe(&self.statement(), &self.sent_types)?,
        };
        self.source_types = description.type_oids;
        let count = self.types.len().max(description.parameters.len());
        self.types.resize_with(count, Type::unknown);
        for (known, type_) in self.types.iter_mut().zip(description.parameters) {
            if known.kind == TypeKind::Unknown {
                *known = type_;
            }
        }
        self.columns = description.columns;
        Ok(())
    }

    /// The origins of the columns.
    pub fn origins(&self) -> Origins {
        self.origins.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Has the engine find the origins of the columns again. If the columns have changed, they have none.
    ///
    /// # Errors
    /// The engine's error.
    pub fn refresh_origins(&self, engine: &mut dyn EngineSession) -> Result<(), EngineError> {
        let described = engine.describe(&self.statement(), &self.sent_types)?;
        let found = if described.columns == self.columns { described.origins } else { Origins::default() };
        *self.origins.lock().unwrap_or_else(PoisonError::into_inner) = found;
        Ok(())
    }

    /// Whether the source has not described the statement yet.
    pub fn needs_description(&self) -> bool {
        self.source.is_some() && self.columns == Columns::Deferred
    }

    /// The statement of a declared cursor.
    pub fn of_cursor(text: &str) -> Self {
        Self { text: text.to_owned(), columns: Columns::Deferred, ..Self::default() }
    }

    /// PostgreSQL's number for the type of each parameter. If the client has given one, it is that number, because
    /// another number for a similar type could confuse the client.
    pub fn parameter_oids(&self) -> impl ExactSizeIterator<Item = u32> {
        let from_source = |at: usize| self.source_types.get(at).copied().filter(|oid| *oid > 0);
        let given = move |at: usize| from_source(at).or_else(|| self.given.get(at).copied().flatten());
        self.types.iter().enumerate().map(move |(at, type_)| given(at).unwrap_or_else(|| type_.parameter_oid()))
    }

    /// Reads values for the parameters, in PostgreSQL's text (0) or binary (1) form with texts in `encoding`, and charges
    /// their memory.
    ///
    /// # Errors
    /// If their number is wrong, or a value is not of its type.
    pub fn bind(
        &self,
        name: &str,
        formats: &[i16],
        values: &[Option<Vec<u8>>],
        encoding: ClientEncoding,
        charge: &mut Charge,
    ) -> Result<Vec<Parameter>, Failure> {
        let is_source = self.source.is_some();
        let is_known = values.len() == self.types.len() || is_source && values.len() > self.types.len();
        if !is_known {
            let (given, wanted) = (values.len(), self.types.len());
            return Err(Failure::ParameterCount { name: name.to_owned(), given, wanted });
        }
        if formats.len() > 1 && formats.len() != values.len() {
            return Err(Failure::FormatCount { formats: formats.len(), values: values.len() });
        }
        let mut bound = Vec::with_capacity(values.len());
        let unknown = Type::unknown();
        let types = self.types.iter().chain(std::iter::repeat(&unknown));
        let mut total = 0;
        for (at, (bytes, type_)) in values.iter().zip(types).enumerate() {
            let is_binary = format(formats, at) == 1;
            let type_oid = self.sent_types.get(at).copied().unwrap_or(0);
            let is_described = type_.parameter_oid() == type_oid;
            let is_unknown = type_oid > 0 && !is_described && Type::of_oid(type_oid).is_none();
            let decoded = match (encoding.charset(), bytes) {
                (Some(charset), Some(bytes)) => {
                    // PostgreSQL reads a binary value whose type nobody knows here.
                    let is_open = type_oid == 0 && is_source && type_.kind == TypeKind::Unknown;
                    let known = if type_oid > 0 || is_open { type_oid } else { type_.parameter_oid() };
                    Some(charset.decode_value(is_binary.then_some(known), bytes).map_err(InputError::from)?)
                }
                _ => None,
            };
            let bytes = decoded.as_ref().or(bytes.as_ref());
            let value = match bytes {
                // A PostgreSQL reads values in the form in which the client sent them.
                _ if self.source.is_some_and(Dialect::is_postgres) => {
                    ParameterValue::Sent { type_oid, is_binary, bytes: bytes.cloned() }
                }
                None => ParameterValue::Null,
                // Otherwise the unknown binary form would be read as text.
                Some(_) if is_binary && is_unknown => {
                    return Err(InputError::NoBinary(format!("number {type_oid}")).into());
                }
                Some(bytes) if is_binary => from_binary(type_, bytes)?,
                Some(bytes) => {
                    let text = std::str::from_utf8(bytes).map_err(|_| InputError::Encoding)?;
                    // A source has its own text forms of dates and times, and its clients use them.
                    let is_unchanged = is_source && type_.kind.is_temporal();
                    if is_unchanged { ParameterValue::Text(text.to_owned()) } else { from_text(type_, text)? }
                }
            };
            // A binary number of few bytes may have many digits as text.
            total += value.bytes();
            if total > charge.bytes() {
                charge.set(total)?;
            }
            bound.push(Parameter { number: at + 1, type_: type_.clone(), value });
        }
        Ok(bound)
    }
}

/// The format of the parameter with number `at`, from 0. There is one format for all, or one for each.
fn format(formats: &[i16], at: usize) -> i16 {
    let code = if formats.len() == 1 { formats.first() } else { formats.get(at) };
    code.copied().unwrap_or(0)
}
