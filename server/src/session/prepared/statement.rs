//! Prepared statements: what Parse makes of a query.

use colonnade_sql::statement::CursorStatement;
use colonnade_sql::{Dialect, Statement, StatementKind};

use crate::engine::{Columns, EngineSession, Parameter};
use crate::error::Failure;
use crate::limits::budget::Charge;
use crate::parameter::{self, InputError, ParameterValue, from_binary, from_text};
use crate::session::query;
use crate::session::settings::{self, Command, Settings};
use crate::value::types::{Type, TypeKind};

/// A statement that was parsed, and what is known of it before it runs.
#[derive(Clone, Debug, Default)]
pub struct PreparedStatement {
    /// Its text; empty if the query had no statement.
    pub text: String,
    pub kind: StatementKind,
    /// The dialect of the source that it goes to. A source finds its own placeholders.
    source: Option<Dialect>,
    /// The types of its parameters by PostgreSQL's numbers, as far as the client has given them, 0 where it left one open.
    sent_types: Vec<u32>,
    /// The same as the source has told them, if it is a PostgreSQL.
    told_types: Vec<u32>,
    pub types: Vec<Type>,
    /// PostgreSQL's numbers for those that the client gave a type that is known here.
    given: Vec<Option<u32>>,
    pub columns: Columns,
}

impl PreparedStatement {
    /// Prepares a statement. The client says the types of some parameters by PostgreSQL's numbers.
    ///
    /// # Errors
    /// If the engine refuses it.
    pub fn new(engine: &mut dyn EngineSession, statement: &Statement<'_>, oids: &[u32]) -> Result<Self, Failure> {
        let (source, dialect) = (engine.source(), engine.dialect());
        let Statement { text, kind, .. } = statement;
        let given = oids.iter().map(|oid| Type::of_oid(*oid));
        let known = oids.iter().map(|oid| Type::of_oid(*oid).map(|_| *oid)).collect();
        let kind = kind.clone();
        let mut prepared = Self { kind, source, sent_types: oids.to_vec(), given: known, ..Self::default() };
        // What the engine is to run, and where it begins in the statement.
        let (mut query, mut start, mut is_declaration) = (statement, 0, false);
        let declared;
        let mut is_engines = query::is_engines(&prepared.kind, source) && !text.is_empty();
        if !is_engines {
            match query::cursor(&statement.kind)? {
                Some(CursorStatement::Declare { query: place, .. }) => {
                    declared = Statement::of(&text[place.clone()], dialect);
                    (query, start, is_declaration, is_engines) = (&declared, place.start, true, true);
                }
                // The cursor's columns.
                Some(CursorStatement::Fetch { is_move: false, .. }) => prepared.columns = Columns::Deferred,
                _ => {}
            }
        }
        prepared.text = query.text.to_owned();
        if is_engines && source.is_some() {
            // The source is asked when the client asks, or when it runs.
            prepared.types = given.map(|type_| type_.unwrap_or_else(Type::unknown)).collect();
            prepared.columns = Columns::Deferred;
        } else if is_engines {
            let described = engine.describe(query, oids);
            let before = || text[..start].chars().count();
            let described = described.map_err(|error| Failure::from(error).with_offset(Some(before())))?;
            (prepared.types, prepared.columns) = (described.parameters, described.columns);
        } else {
            let names = match settings::command(&statement.kind) {
                Some(Command::Show(setting)) => vec![Settings::name(setting)],
                Some(Command::ShowAll) => vec!["name", "setting", "description"],
                _ => Vec::new(),
            };
            if !names.is_empty() {
                prepared.columns =
                    Columns::Known(names.into_iter().map(|name| (name.to_owned(), Type::text())).collect());
            }
            prepared.types = given.map(|type_| type_.unwrap_or_else(Type::text)).collect();
        }
        if is_declaration {
            prepared.columns = Columns::None;
        }
        Ok(prepared)
    }

    pub fn statement(&self) -> Statement<'_> {
        Statement { text: &self.text, start: 0, kind: self.kind.clone() }
    }

    /// What it holds, in bytes.
    pub fn bytes(&self) -> usize {
        /// Of a parameter: its type's name, its number, and its places in the text.
        const PARAMETER: usize = 128;
        let columns = match &self.columns {
            Columns::Known(columns) => columns.iter().map(|column| size_of_val(column) + column.0.len()).sum(),
            Columns::None | Columns::Deferred => 0,
        };
        self.text.len() + self.types.len() * PARAMETER + columns
    }

    /// The maximum number of bytes that values for it take.
    pub fn max_bytes(&self, formats: &[i16], values: &[Option<Vec<u8>>]) -> usize {
        let open = Type::unknown();
        let types = self.types.iter().chain(std::iter::repeat(&open));
        let most = values.iter().zip(types).enumerate().map(|(at, (bytes, type_))| match bytes {
            Some(bytes) => parameter::max_bytes(type_, bytes, format(formats, at) == 1),
            None => 0,
        });
        most.sum()
    }

    /// Asks the source what the statement takes and gives, as far as that is open.
    ///
    /// # Errors
    /// What the source says of a wrong statement.
    pub fn look(&mut self, engine: &mut dyn EngineSession) -> Result<(), Failure> {
        let description = engine.describe(&self.statement(), &self.sent_types)?;
        self.told_types = description.type_oids;
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

    /// Whether a source is to be asked for its columns.
    pub fn is_open(&self) -> bool {
        self.source.is_some() && self.columns == Columns::Deferred
    }

    /// The query of a cursor that has been declared.
    pub fn running(query: &str) -> Self {
        Self { text: query.to_owned(), columns: Columns::Deferred, ..Self::default() }
    }

    /// PostgreSQL's number for the type of each parameter: the client's own where it gave one, since it may have another
    /// name for the same type, and count on it.
    pub fn parameter_oids(&self) -> impl ExactSizeIterator<Item = u32> {
        let told = |at: usize| self.told_types.get(at).copied().filter(|oid| *oid > 0);
        let given = move |at: usize| told(at).or_else(|| self.given.get(at).copied().flatten());
        self.types.iter().enumerate().map(move |(at, type_)| given(at).unwrap_or_else(|| type_.parameter_oid()))
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
    ) -> Result<Vec<Parameter>, Failure> {
        let is_passed = self.source.is_some();
        let is_known = values.len() == self.types.len() || is_passed && values.len() > self.types.len();
        if !is_known {
            let (given, wanted) = (values.len(), self.types.len());
            return Err(Failure::ParameterCount { name: name.to_owned(), given, wanted });
        }
        if formats.len() > 1 && formats.len() != values.len() {
            return Err(Failure::FormatCount { formats: formats.len(), values: values.len() });
        }
        let mut bound = Vec::with_capacity(values.len());
        let open = Type::unknown();
        let types = self.types.iter().chain(std::iter::repeat(&open));
        let mut total = 0;
        for (at, (bytes, type_)) in values.iter().zip(types).enumerate() {
            let is_binary = format(formats, at) == 1;
            let type_oid = self.sent_types.get(at).copied().unwrap_or(0);
            let is_strange = type_oid > 0 && Type::of_oid(type_oid).is_none();
            let value = match bytes {
                // A PostgreSQL reads values in the form in which the client sent them.
                _ if self.source.is_some_and(Dialect::is_postgres) => {
                    ParameterValue::Sent { type_oid, is_binary, bytes: bytes.clone() }
                }
                None => ParameterValue::Null,
                // Bytes in a form that is not known here would be taken for text.
                Some(_) if is_binary && is_strange => {
                    return Err(InputError::NoBinary(format!("number {type_oid}")).into());
                }
                Some(bytes) if is_binary => from_binary(type_, bytes)?,
                Some(bytes) => {
                    let text = std::str::from_utf8(bytes).map_err(|_| InputError::Encoding)?;
                    // A source has forms of its own for these, and its clients know them.
                    let is_left = is_passed && type_.kind.is_temporal();
                    if is_left { ParameterValue::Text(text.to_owned()) } else { from_text(type_, text)? }
                }
            };
            // A number of few bytes may have many digits.
            total += value.bytes();
            if total > charge.bytes() {
                charge.set(total)?;
            }
            bound.push(Parameter { number: at + 1, type_: type_.clone(), value });
        }
        Ok(bound)
    }
}

/// The format of a parameter, by its number from 0: one for all, or one each.
fn format(formats: &[i16], at: usize) -> i16 {
    let code = if formats.len() == 1 { formats.first() } else { formats.get(at) };
    code.copied().unwrap_or(0)
}
