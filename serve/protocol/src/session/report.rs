//! Errors and warnings to the client.

use crate::error::{Failure, SqlState};
use crate::message::backend::{self, Report};
use crate::session::state::Session;

impl Session {
    /// Sends the error of a statement, and notes that the transaction has failed.
    pub fn fail(&mut self, failure: &Failure, place: Option<(&str, usize)>) {
        self.send_notices();
        self.report(failure, "ERROR", place);
        self.transaction.fail();
    }

    /// Sends an error. `place` is the query string and the first byte of the statement in it.
    pub fn report(&mut self, failure: &Failure, severity: &str, place: Option<(&str, usize)>) {
        self.control.count_error(failure);
        let (code, message, detail, hint) = (failure.code(), failure.to_string(), failure.detail(), failure.hint());
        let position = failure.position().zip(place).map(|(position, (sql, start))| {
            // From 1, in characters of the whole query string.
            sql[..start].chars().count() + position + 1
        });
        let function = failure.function();
        let object = failure.object().cloned().unwrap_or_default();
        let report = Report {
            severity,
            code: code.as_str(),
            message: &message,
            detail: detail.as_deref(),
            hint: hint.as_deref(),
            position,
            context: function.map(|place| place.context.as_str()),
            // Without a place in it, a body would only make the message long.
            internal_query: function.filter(|place| place.position.is_some()).map(|place| place.body.as_str()),
            internal_position: function.and_then(|place| place.position).map(|position| position + 1),
            schema: object.schema.as_deref(),
            table: object.table.as_deref(),
            column: object.column.as_deref(),
            constraint: object.constraint.as_deref(),
            // pgjdbc and asyncpg recognize the error by this name, and can prepare the statement again.
            routine: matches!(failure, Failure::ResultChanged).then_some("RevalidateCachedQuery"),
        };
        backend::error_response(self.output.buffer(), &report);
    }

    /// Sends what functions have printed, and that the statement is done.
    pub fn finish(&mut self, tag: &str) {
        self.send_notices();
        backend::command_complete(self.output.buffer(), tag);
    }

    fn send_notices(&mut self) {
        for line in self.caller.take_warnings() {
            self.warn(SqlState::WARNING, &line);
        }
        for line in self.engine.take_notices() {
            // PostgreSQL's class of a successful completion.
            let report = Report { severity: "NOTICE", code: "00000", message: &line, ..Report::default() };
            backend::notice_response(self.output.buffer(), &report);
        }
    }

    pub fn warn(&mut self, code: SqlState, message: &str) {
        let report = Report { severity: "WARNING", code: code.as_str(), message, ..Report::default() };
        backend::notice_response(self.output.buffer(), &report);
    }
}
