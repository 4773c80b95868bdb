//! SET, RESET and SHOW in a session.

use crate::engine::Dialect;
use crate::error::{Failure, SqlState};
use crate::message::backend::{self, Report};
use crate::message::frontend::Target;
use crate::oid::{self, TypeInfo};
use crate::query::{self, StatementKind};
use crate::session::Session;
use crate::settings::{self, Command, Settings};
use crate::source;

impl Session {
    /// Runs a statement about settings. `target` is the portal's if it was described before.
    pub fn configure(&mut self, text: &str, command: Command, target: Option<Target>) -> Result<(), Failure> {
        let rows = match command {
            Command::Set { setting, value, is_local } => {
                self.set(setting, value.as_deref(), is_local && self.is_in_transaction())?;
                None
            }
            Command::ResetAll => {
                self.reset_settings()?;
                None
            }
            Command::Transaction(modes) if modes.read_only || modes.serializable => {
                return Err(settings::SettingError::Transaction.into());
            }
            Command::Transaction(_) => None,
            Command::Show(setting) => {
                let value = self.settings.value(setting).to_owned();
                Some((vec![Settings::name(setting)], vec![vec![value]]))
            }
            Command::ShowAll => {
                let rows =
                    self.settings.all().map(|(name, value)| vec![name.to_owned(), value.to_owned(), String::new()]);
                Some((vec!["name", "setting", "description"], rows.collect()))
            }
        };
        let out = self.output.buffer();
        if let Some((names, rows)) = rows {
            if target.is_none() {
                let info = TypeInfo { oid: oid::TEXT, size: -1, modifier: -1 };
                backend::row_description(out, names.into_iter().map(|name| (name, info, 0)));
            }
            rows.iter().for_each(|row| backend::text_row(out, row));
        }
        backend::command_complete(out, &query::tag(text, None, None));
        Ok(())
    }

    /// Sets what the client's start-up names. The session begins with these values, and RESET brings them back.
    pub fn set_given(&mut self, given: &[(String, String)]) -> Result<(), Failure> {
        for (name, value) in given {
            let text = format!("SET \"{}\" = '{}'", name.replace('"', "\"\""), value.replace('\'', "''"));
            let is_passed = source::kind(&text, self.engine.dialect()) == StatementKind::Other;
            match settings::command(&text) {
                Some(Command::Set { setting, value, .. }) if !is_passed || self.engine.dialect() == Dialect::DuckDb => {
                    self.set(setting, value.as_deref(), false)?;
                }
                _ => {
                    let _running = self.start()?;
                    self.run_plain(&text)?;
                }
            }
        }
        self.settings.settle();
        Ok(())
    }

    /// Gives all settings the values that they had when the session began.
    pub fn reset_settings(&mut self) -> Result<(), Failure> {
        self.settings.changed().into_iter().try_for_each(|setting| self.set(setting, None, false))
    }

    fn set(&mut self, setting: usize, value: Option<&str>, is_local: bool) -> Result<(), Failure> {
        let change = self.settings.plan(setting, value)?;
        if let Some(statement) = change.engine {
            let _running = self.start()?;
            self.run_plain(&statement)?;
        }
        if let Some((time, own)) = change.time {
            self.control.shorten(time, own);
        }
        if let Some((name, value)) = self.settings.set(setting, value, is_local) {
            backend::parameter_status(self.output.buffer(), name, &value);
        }
        if change.is_idle {
            let message = format!("{} has no effect here; the server's own limits hold", Settings::name(setting));
            let code = SqlState::FEATURE_NOT_SUPPORTED;
            let report = Report { severity: "WARNING", code: code.as_str(), message: &message, ..Report::default() };
            backend::notice_response(self.output.buffer(), &report);
        }
        Ok(())
    }

    /// Gives back what SET LOCAL changed.
    pub fn end_local_settings(&mut self) {
        for (setting, value) in self.settings.take_local() {
            // What was valid before is valid again; the client has nobody to ask if it is not.
            let _ = self.set(setting, Some(&value), false);
        }
    }
}
