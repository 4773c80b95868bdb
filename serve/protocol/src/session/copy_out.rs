//! COPY … TO STDOUT.

use colonnade_sql::{Statement, StatementKind};

use crate::copy::options::Format;
use crate::copy::{self, Context, CopyOut};
use crate::engine::{BatchSize, EngineAnswer, EngineError, Rows};
use crate::error::Failure;
use crate::message::backend::{self, MAX_COPY_COLUMNS};
use crate::session::execute::BATCH;
use crate::session::settings;
use crate::session::state::Session;

impl Session {
    pub fn copy(&mut self, text: &str, copy: &CopyOut) -> Result<(), Failure> {
        if let Some(part) = copy.part() {
            return self.copy_part(part, copy, &[]);
        }
        let (query, start) = copy.query(text);
        let query = Statement::of(&query, self.engine.dialect());
        // The engine does not have the session's own settings, so the session answers COPY (SHOW …) itself.
        let listing = match settings::session_command(&query.kind, self.engine.source()) {
            Some(command) => self.listing(&command)?,
            None => None,
        };
        let _running = self.start()?;
        // If the engine keeps to this size, each batch becomes one chunk.
        let options = &copy.options.colonnade;
        let size = match copy.options.format {
            Format::Colonnade => BatchSize {
                rows: options.chunk_rows,
                bytes: options.chunk_bytes,
                columns: MAX_COPY_COLUMNS,
                may_be_encoded: options.may_be_encoded(),
                has_origins: false,
            },
            Format::Arrow => BatchSize { columns: MAX_COPY_COLUMNS, ..BATCH },
            _ => BATCH,
        };
        let before = || start.map(|start| text[..start].chars().count());
        let placed = |failure: Failure| failure.with_offset(before());
        let rows = match listing {
            Some(listing) => listing.into_rows()?,
            None => self.checked_rows(&query, copy, size).map_err(placed)?,
        };
        self.control.count_result(rows.is_gathered());
        // A gateway's rows are another database's.
        if copy.options.format == Format::Colonnade && self.engine.source().is_none() {
            let way = if rows.is_gathered() { "vectors" } else { "stream" };
            backend::parameter_status(self.output.buffer(), "colonnade.rows", way);
        }
        let context = Context {
            output: &mut self.output,
            control: &self.control,
            encode_cpu: self.encode_cpu,
            text_style: self.settings.text_style(),
            link_estimate: &mut self.link_estimate,
            rows,
        };
        let rows = copy::copy_out(context, &copy.options).map_err(placed)?;
        self.finish(&format!("COPY {rows}"));
        Ok(())
    }

    /// Runs COPY's query, unless the format cannot carry its columns.
    fn checked_rows(
        &mut self,
        query: &Statement<'_>,
        copy: &CopyOut,
        size: BatchSize,
    ) -> Result<Box<dyn Rows>, Failure> {
        if let StatementKind::Spool(spool) = &query.kind {
            let rows = self.spool_rows(spool.as_ref().map_err(Clone::clone)?, &[])?;
            copy::check(rows.as_ref(), &copy.options)?;
            return Ok(rows);
        }
        let options = copy.options.clone();
        let check = Box::new(move |columns: &dyn Rows| copy::check(columns, &options).map_err(EngineError::from));
        match self.run_on_engine(query, |engine| engine.query_checked(query, size, check))? {
            EngineAnswer::Rows(rows) => Ok(rows),
            EngineAnswer::Done { .. } => Err(EngineError::no_rows().into()),
        }
    }
}
