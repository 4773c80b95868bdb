//! Results in parts, by ticket (PROTOCOL §11): `colonnade_spool`, `colonnade_release`, and COPY of `colonnade_part`.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use colonnade_sql::StatementKind;
use colonnade_sql::statement::{Argument, CopySource, CopyStatement, PartSource, SpoolStatement};
use colonnade_wire::Config;
use colonnade_wire::arrow::schema_from_arrow;

use crate::copy::options::{Format, OptionError};
use crate::copy::{self, Context, CopyOut};
use crate::engine::{EngineAnswer, EngineError, Parameter, Rows};
use crate::error::{Failure, SqlState};
use crate::message::backend;
use crate::parameter::ParameterValue;
use crate::rows::tickets::{self, CHUNK, PartReader, SpoolSettings, SpoolingRows};
use crate::session::query;
use crate::session::state::Session;
use crate::value::types::{Type, TypeKind};

/// The default of the option `bytes`.
const PART_BYTES: u64 = 64 << 20;
/// The largest value of the option `bytes`.
const MAX_PART_BYTES: u64 = 1 << 40;

/// How chunks are kept by default. For lineitem this takes less CPU time than plain chunks, also on the server's machine, because fewer bytes
/// are written and sent (bench/plans.py).
const KEPT: Config = Config::LIGHT;

/// The columns of the statement's result.
fn columns(statement: &SpoolStatement) -> Vec<(String, Type)> {
    let (text, int4, int8) = (Type::text(), Type::new("integer", TypeKind::Int4), Type::new("bigint", TypeKind::Int8));
    let columns = match statement {
        SpoolStatement::Spool { .. } => vec![
            ("ticket", text),
            ("part", int4),
            ("rows", int8.clone()),
            ("plain_bytes", int8.clone()),
            ("encoded_bytes", int8),
        ],
        SpoolStatement::Release { .. } => vec![("released", Type::new("boolean", TypeKind::Bool))],
    };
    columns.into_iter().map(|(name, type_)| (name.to_owned(), type_)).collect()
}

impl Session {
    /// Runs a statement about spooled results. A spool's query runs while the caller reads the rows.
    pub fn spool_rows(&mut self, statement: &SpoolStatement, values: &[Parameter]) -> Result<Box<dyn Rows>, Failure> {
        match statement {
            SpoolStatement::Spool { query, options } => {
                let settings = self.spool_settings(options, values)?;
                let query = text(query, values)?;
                let rows = self.spooled_query(query)?;
                Ok(Box::new(SpoolingRows::begin(rows, &self.control, settings)?))
            }
            SpoolStatement::Release { ticket } => {
                self.control.tickets.release(text(ticket, values)?, &self.control.user)?;
                Ok(Box::new(Released::new()?))
            }
        }
    }

    fn spool_settings(&self, options: &[(String, Argument)], values: &[Parameter]) -> Result<SpoolSettings, Failure> {
        let mut settings = SpoolSettings { part_bytes: PART_BYTES, ttl: None, config: KEPT };
        for (at, (name, value)) in options.iter().enumerate() {
            if options[..at].iter().any(|(earlier, _)| earlier == name) {
                return Err(OptionError::Redundant(name.clone()).into());
            }
            let value = text(value, values)?;
            let odd = |expected: String| {
                Failure::from(OptionError::Value { name: name.clone(), value: value.to_owned(), expected })
            };
            match name.as_str() {
                "bytes" => {
                    let bytes = value.parse().ok().filter(|bytes| (1..=MAX_PART_BYTES).contains(bytes));
                    settings.part_bytes =
                        bytes.ok_or_else(|| odd(format!("a whole number from 1 to {MAX_PART_BYTES}")))?;
                }
                "ttl" => {
                    let most = self.control.limits.ticket_ttl.map_or(u64::from(u32::MAX), |ttl| ttl.as_secs());
                    let seconds = value.parse().ok().filter(|seconds| (1..=most).contains(seconds));
                    let seconds = seconds.ok_or_else(|| odd(format!("a whole number of seconds from 1 to {most}")))?;
                    settings.ttl = Some(Duration::from_secs(seconds));
                }
                "compression" if value == "auto" => {}
                "compression" => {
                    settings.config =
                        value.parse().map_err(|error: colonnade_wire::UnknownName| odd(error.to_string()))?;
                }
                _ => {
                    let hint = Some("The options are bytes, ttl and compression.".to_owned());
                    let message = format!("option \"{name}\" of colonnade_spool is not recognized");
                    let error = EngineError::new(SqlState::INVALID_PARAMETER_VALUE, message);
                    return Err(EngineError { hint, ..error }.into());
                }
            }
        }
        Ok(settings)
    }

    /// Runs the query of a spool with all checks of a query that the client sends alone.
    fn spooled_query(&mut self, query: &str) -> Result<Box<dyn Rows>, Failure> {
        let statements = query::statements(query, self.engine.as_ref())?;
        let [statement] = &statements[..] else {
            let message = format!("colonnade_spool takes one statement, and this text has {}", statements.len());
            return Err(EngineError::new(SqlState::SYNTAX_ERROR, message).into());
        };
        if !may_give_rows(&statement.kind) || !query::runs_on_engine(&statement.kind, self.engine.source()) {
            let message = "colonnade_spool takes a query that gives rows, not another statement; nothing has run";
            return Err(EngineError::new(SqlState::FEATURE_NOT_SUPPORTED, message).into());
        }
        // The text within the string has other positions than the client's statement.
        let without_position = |failure: Failure| failure.with_offset(None);
        let check = Box::new(|rows: &dyn Rows| {
            let schema = schema_from_arrow(&rows.schema());
            schema.map(drop).map_err(|error| Failure::from(error).into())
        });
        let answer = self.run_on_engine(statement, |engine| engine.query_checked(statement, CHUNK, check));
        match answer.map_err(without_position)? {
            EngineAnswer::Rows(rows) => Ok(rows),
            EngineAnswer::Done { .. } => Err(EngineError::no_rows().into()),
        }
    }

    /// Sends a part of a spooled result. The engine runs nothing.
    pub fn copy_part(&mut self, source: &PartSource, copy: &CopyOut, values: &[Parameter]) -> Result<(), Failure> {
        let _running = self.start()?;
        let tickets = Arc::clone(&self.control.tickets);
        let spooled = tickets.find(text(&source.ticket, values)?, &self.control.user)?;
        let number = text(&source.part, values)?;
        let number = number.parse().map_err(|_| {
            let message = format!("the number of a part is a whole number, not \"{number}\"");
            EngineError::new(SqlState::INVALID_PARAMETER_VALUE, message)
        })?;
        let (part, _reading) = spooled.part(number)?;
        tickets.count_part();
        let options = &copy.options;
        let form = spooled.form().filter(|form| {
            options.format == Format::Colonnade && form.suits(&part, &options.colonnade, self.output.socket().link())
        });
        let rows = match form {
            Some(form) => {
                backend::copy_out_response(self.output.buffer(), true, form.columns);
                tickets::send(&mut self.output, &self.control, &spooled.file, &part)?;
                backend::copy_done(self.output.buffer());
                part.rows
            }
            None => {
                let context = Context {
                    output: &mut self.output,
                    control: &self.control,
                    encode_cpu: self.encode_cpu,
                    link_estimate: &mut self.link_estimate,
                    rows: Box::new(PartReader::new(&spooled, &part)?),
                };
                copy::copy_out(context, options)?
            }
        };
        backend::command_complete(self.output.buffer(), &format!("COPY {rows}"));
        Ok(())
    }
}

/// Whether a statement of this kind may give rows, apart from the session's own statements.
fn may_give_rows(kind: &StatementKind) -> bool {
    matches!(
        kind,
        StatementKind::Query { .. }
            | StatementKind::Insert
            | StatementKind::Update
            | StatementKind::Delete
            | StatementKind::Merge
            | StatementKind::Explain { .. }
            | StatementKind::ExplainInputs(_)
            | StatementKind::Show(_)
            | StatementKind::Other(_)
    )
}

/// The text of an argument.
fn text<'a>(argument: &'a Argument, values: &'a [Parameter]) -> Result<&'a str, Failure> {
    let number = match argument {
        Argument::Literal(text) => return Ok(text),
        Argument::Parameter(number) => *number,
    };
    match values.iter().find(|value| value.number == number).map(|value| &value.value) {
        Some(ParameterValue::Text(text)) => Ok(text),
        Some(_) => {
            let message = format!("${number} must be a text or a whole number, and not NULL");
            Err(EngineError::new(SqlState::INVALID_PARAMETER_VALUE, message).into())
        }
        None => {
            let message = format!("there is no parameter ${number}");
            Err(EngineError::new(SqlState::UNDEFINED_PARAMETER, message).into())
        }
    }
}

/// The result of colonnade_release.
struct Released {
    schema: SchemaRef,
    batch: Option<RecordBatch>,
}

impl Released {
    fn new() -> Result<Self, Failure> {
        let schema = Arc::new(Schema::new(vec![Field::new("released", DataType::Boolean, false)]));
        let batch = RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(BooleanArray::from(vec![true]))])?;
        Ok(Self { schema, batch: Some(batch) })
    }
}

impl Rows for Released {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn next(&mut self) -> Result<Option<RecordBatch>, EngineError> {
        Ok(self.batch.take())
    }
}

/// What the protocol describes of a statement about spooled results.
pub struct SpoolDescription {
    /// The number of placeholders.
    pub placeholders: usize,
    /// The columns of its rows; COPY has none.
    pub columns: Option<Vec<(String, Type)>>,
}

/// The description of a statement; `None` if it is not about spooled results.
///
/// # Errors
/// If the statement is invalid.
pub fn description(kind: &StatementKind) -> Result<Option<SpoolDescription>, Failure> {
    Ok(match kind {
        StatementKind::Spool(statement) => {
            let statement = statement.as_ref().map_err(Clone::clone)?;
            Some(SpoolDescription { placeholders: statement.placeholders(), columns: Some(columns(statement)) })
        }
        StatementKind::Copy(Ok(CopyStatement::ToStdout(CopySource::Part(part), _))) => {
            Some(SpoolDescription { placeholders: part.placeholders(), columns: None })
        }
        _ => None,
    })
}
