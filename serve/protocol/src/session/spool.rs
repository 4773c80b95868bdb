//! Results in parts, by ticket (PROTOCOL §11): `colonnade_spool`, `colonnade_release`, and COPY of `colonnade_part`.

pub(crate) mod description;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use colonnade_sql::StatementKind;
use colonnade_sql::statement::{Argument, PartSource, SpoolStatement};
use colonnade_wire::Config;
use colonnade_wire::arrow::schema_from_arrow;

use crate::copy::options::{Format, OptionError};
use crate::copy::{self, Context, CopyOut};
use crate::engine::{EngineAnswer, EngineError, Parameter, Rows};
use crate::error::{Failure, SqlState};
use crate::message::backend;
use crate::parameter::ParameterValue;
use crate::rows::tickets::{self, CHUNK, PartReader, Selection, SpoolSettings, SpoolingRows};
use crate::session::query;
use crate::session::state::Session;

/// The default of the option `bytes`.
const PART_BYTES: u64 = 64 << 20;
/// The largest value of the option `bytes`.
const MAX_PART_BYTES: u64 = 1 << 40;
/// The largest value of the option `parts`.
const MAX_PARTS: u64 = 10_000;

/// How chunks are kept by default. For lineitem this takes less CPU time than plain chunks, also on the server's
/// machine, because fewer bytes are written and sent (bench/plans.py).
const KEPT: Config = Config::LIGHT;

impl Session {
    /// Runs a statement about spooled results. A spool's query runs while the caller reads the rows.
    pub fn spool_rows(&mut self, statement: &SpoolStatement, values: &[Parameter]) -> Result<Box<dyn Rows>, Failure> {
        match statement {
            SpoolStatement::Spool { query, options } => {
                let settings = self.spool_settings(options, values)?;
                let query = text(query, values)?;
                let rows = self.spooled_query(query)?;
                Ok(Box::new(SpoolingRows::begin(rows, &self.control, &self.tickets, settings)?))
            }
            SpoolStatement::Release { ticket } => {
                self.tickets.release(text(ticket, values)?, &self.control.user)?;
                Ok(Box::new(Released::new()?))
            }
        }
    }

    fn spool_settings(&self, options: &[(String, Argument)], values: &[Parameter]) -> Result<SpoolSettings, Failure> {
        let mut settings = SpoolSettings { part_bytes: PART_BYTES, parts: None, ttl: None, config: KEPT };
        for option in given(options, values)? {
            match option.name {
                "bytes" => settings.part_bytes = option.number(1, MAX_PART_BYTES)?,
                "parts" => settings.parts = Some(option.number(1, MAX_PARTS)?),
                "ttl" => {
                    let most = self.control.limits.ticket_ttl.map_or(u64::from(u32::MAX), |ttl| ttl.as_secs());
                    settings.ttl = Some(Duration::from_secs(option.number(1, most)?));
                }
                "compression" if option.value == "auto" => {}
                "compression" => {
                    let config = option.value.parse();
                    settings.config =
                        config.map_err(|error: colonnade_wire::UnknownName| option.odd(error.to_string()))?;
                }
                _ => return Err(option.unknown("colonnade_spool", "bytes, parts, ttl and compression")),
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

    /// Sends parts of a spooled result. The engine runs nothing.
    pub fn copy_part(&mut self, source: &PartSource, copy: &CopyOut, values: &[Parameter]) -> Result<(), Failure> {
        let _running = self.start()?;
        let tickets = Arc::clone(&self.tickets);
        let spooled = tickets.find(text(&source.ticket, values)?, &self.control.user)?;
        let first = part_number(text(&source.part, values)?)?;
        let (last, selection) = part_options(&source.options, values)?;
        let (parts, _reading) = spooled.parts(first, last.unwrap_or(first))?;
        tickets.count_parts(parts.len());
        let (options, link) = (&copy.options, self.output.socket().link());
        let form = spooled.form().filter(|form| {
            let suits = |part| form.suits(part, &options.colonnade, link);
            options.format == Format::Colonnade && selection.is_all() && parts.iter().all(suits)
        });
        let rows = match form {
            Some(form) => {
                backend::copy_out_response(self.output.buffer(), true, form.columns);
                for part in &parts {
                    tickets::send(&mut self.output, &self.control, &spooled.file, part)?;
                }
                backend::copy_done(self.output.buffer());
                parts.iter().map(|part| part.rows).sum()
            }
            None => {
                let context = Context {
                    output: &mut self.output,
                    control: &self.control,
                    encode_cpu: self.encode_cpu,
                    text_style: self.settings.text_style(),
                    link_estimate: &mut self.link_estimate,
                    rows: Box::new(PartReader::new(&spooled, parts, selection)?),
                };
                copy::copy_out(context, options)?
            }
        };
        backend::command_complete(self.output.buffer(), &format!("COPY {rows}"));
        Ok(())
    }
}

fn part_number(value: &str) -> Result<i64, Failure> {
    value.parse().map_err(|_| {
        let message = format!("the number of a part is a whole number, not \"{value}\"");
        EngineError::new(SqlState::INVALID_PARAMETER_VALUE, message).into()
    })
}

/// The options of `colonnade_part`: the number of the last part, and what is sent of the parts.
fn part_options(options: &[(String, Argument)], values: &[Parameter]) -> Result<(Option<i64>, Selection), Failure> {
    let (mut last, mut selection) = (None, Selection::default());
    for option in given(options, values)? {
        match option.name {
            "last" => last = Some(part_number(option.value)?),
            "limit" => selection.limit = Some(option.number(0, i64::MAX as u64)?),
            "columns" => selection.columns = Some(option.columns()?),
            _ => return Err(option.unknown("colonnade_part", "last, columns and limit")),
        }
    }
    Ok((last, selection))
}

/// An option of a statement about spooled results.
struct GivenOption<'a> {
    name: &'a str,
    value: &'a str,
}

/// The options with their values. Refuses one that is given twice.
fn given<'a>(options: &'a [(String, Argument)], values: &'a [Parameter]) -> Result<Vec<GivenOption<'a>>, Failure> {
    let is_repeated = |at: usize, name: &String| options[..at].iter().any(|(earlier, _)| earlier == name);
    let given = options.iter().enumerate().map(|(at, (name, value))| {
        if is_repeated(at, name) {
            return Err(OptionError::Redundant(name.clone()).into());
        }
        Ok(GivenOption { name, value: text(value, values)? })
    });
    given.collect()
}

impl GivenOption<'_> {
    fn odd(&self, expected: String) -> Failure {
        OptionError::Value { name: self.name.to_owned(), value: self.value.to_owned(), expected }.into()
    }

    fn unknown(&self, statement: &str, known: &str) -> Failure {
        let message = format!("option \"{}\" of {statement} is not recognized", self.name);
        let hint = Some(format!("The options are {known}."));
        EngineError { hint, ..EngineError::new(SqlState::INVALID_PARAMETER_VALUE, message) }.into()
    }

    fn number(&self, least: u64, most: u64) -> Result<u64, Failure> {
        let number = self.value.parse().ok().filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| self.odd(format!("a whole number from {least} to {most}")))
    }

    /// The numbers of columns, which count from 0; those of the statement count from 1.
    fn columns(&self) -> Result<Vec<usize>, Failure> {
        let index = |word: &str| word.trim().parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let columns = self.value.split(',').map(index).collect::<Option<Vec<_>>>();
        let mut seen = HashSet::new();
        let columns = columns.filter(|columns| columns.iter().all(|column| seen.insert(*column)));
        columns.ok_or_else(|| self.odd("different numbers of columns from 1, separated by commas".to_owned()))
    }
}

/// Whether a statement of this kind may give rows, apart from the session's own statements.
fn may_give_rows(kind: &StatementKind) -> bool {
    matches!(
        kind,
        StatementKind::Query { .. }
            | StatementKind::SetConfig(_)
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
pub fn text<'a>(argument: &'a Argument, values: &'a [Parameter]) -> Result<&'a str, Failure> {
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
