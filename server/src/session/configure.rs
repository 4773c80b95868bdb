//! SET, RESET and SHOW in a session.

use arrow_array::cast::AsArray as _;
use colonnade_sql::{Statement, StatementKind, quote};

use crate::engine::{EngineAnswer, EngineError};
use crate::error::{Failure, SqlState};
use crate::message::backend;
use crate::rows;
use crate::session::execute::BATCH;
use crate::session::listing::Listing;
use crate::session::settings::{self, Change, Command, Former, Settings};
use crate::session::state::Session;
use crate::value::oid::{self, TypeInfo};

/// The search path as clients name its schemas (`catalog_functions.sql`).
const SEARCH_PATH: &str = "SELECT current_setting('search_path')";

impl Session {
    /// Runs a statement about settings. The client knows the columns if it `is_described`.
    pub fn configure(&mut self, kind: &StatementKind, command: Command, is_described: bool) -> Result<(), Failure> {
        let rows = match command {
            Command::Set { setting, value, is_local } => {
                self.set(setting, value.as_deref(), is_local)?;
                if is_local && !self.transaction.is_any() {
                    let message = "SET LOCAL can only be used in transaction blocks";
                    self.warn(SqlState::NO_ACTIVE_SQL_TRANSACTION, message);
                }
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
            Command::Show(_) | Command::ShowAll => self.listing(&command)?,
        };
        let out = self.output.buffer();
        if let Some(Listing { names, rows }) = rows {
            if !is_described {
                let info = TypeInfo { oid: oid::TEXT, size: -1, modifier: -1 };
                backend::row_description(out, names.into_iter().map(|name| (name, info, 0)));
            }
            rows.iter().for_each(|row| backend::text_row(out, row));
        }
        self.complete(kind);
        Ok(())
    }

    /// What SHOW gives; `None` for other commands.
    pub fn listing(&mut self, command: &Command) -> Result<Option<Listing>, Failure> {
        Ok(match command {
            Command::Show(setting) => {
                Some(Listing { names: vec![Settings::name(*setting)], rows: vec![vec![self.shown(*setting)?]] })
            }
            Command::ShowAll => {
                let row = |setting| Ok(vec![Settings::name(setting).to_owned(), self.shown(setting)?, String::new()]);
                let rows = Settings::places().map(row).collect::<Result<_, Failure>>()?;
                Some(Listing { names: vec!["name", "setting", "description"], rows })
            }
            _ => None,
        })
    }

    /// A setting's value for SHOW. USE and SET schema change the embedded engine's search path too, so only the engine knows it. In
    /// front of a database the settings are the gateway's: that one may have no search path, and its own is shown by itself.
    fn shown(&mut self, setting: usize) -> Result<String, Failure> {
        if !Settings::is_path(setting) || self.engine.source().is_some() {
            return Ok(self.settings.value(setting).to_owned());
        }
        let _running = self.start()?;
        let path = Statement::of(SEARCH_PATH, self.engine.dialect());
        let EngineAnswer::Rows(mut rows) = self.engine()?.execute(&path, &[], BATCH)? else {
            return Err(EngineError::no_rows().into());
        };
        let batch = rows.next().map_err(|error| rows::interrupted(&self.control, error))?;
        let path = batch.and_then(|batch| Some(batch.column(0).as_string_opt::<i32>()?.value(0).to_owned()));
        path.ok_or_else(|| EngineError::no_rows().into())
    }

    /// Sets what the client's start-up names. The session begins with these values, and RESET brings them back.
    pub fn set_given(&mut self, given: &[(String, String)]) -> Result<(), Failure> {
        for (name, value) in given {
            let source = self.engine.source();
            let dialect = source.unwrap_or_else(|| self.engine.dialect());
            let text = format!("SET {} = {}", quote::identifier(name, dialect), quote::string(value, dialect));
            match settings::kept(&Statement::of(&text, dialect).kind, source) {
                Some(Command::Set { setting, value, .. }) => self.set(setting, value.as_deref(), false)?,
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
        // Charged first, so that the engine and the session have the same value.
        let charge = self.control.budget.charge(self.settings.bytes(setting, &change.value))?;
        let _running = change.engine.as_ref().map(|_| self.start()).transpose()?;
        self.apply(&change)?;
        let told = self.settings.set(setting, change.value, is_local, charge);
        self.tell(told);
        if change.is_idle {
            let message = format!("{} has no effect here; the server's own limits hold", Settings::name(setting));
            self.warn(SqlState::FEATURE_NOT_SUPPORTED, &message);
        }
        Ok(())
    }

    fn apply(&mut self, change: &Change) -> Result<(), Failure> {
        if let Some(statement) = &change.engine {
            self.run_plain(statement)?;
        }
        if let Some((time, own)) = change.time {
            self.control.set_timeout(time, own);
        }
        Ok(())
    }

    fn tell(&mut self, told: Option<(&'static str, String)>) {
        if let Some((name, value)) = told {
            backend::parameter_status(self.output.buffer(), name, &value);
        }
    }

    /// After a commit of any transaction: values of SET LOCAL end.
    pub fn keep_settings(&mut self) {
        let former = self.settings.commit();
        self.give_back(former);
    }

    /// After a rollback to `mark`: values that were set since are undone.
    pub fn undo_settings(&mut self, mark: usize) {
        let former = self.settings.roll_back(mark);
        self.give_back(former);
    }

    fn give_back(&mut self, former: Former) {
        for (setting, value) in former {
            // The former value was valid, so an error is not expected, and there is no statement to report it for.
            let planned = self.settings.plan(setting, Some(&value));
            if planned.is_ok_and(|change| self.apply(&change).is_ok()) {
                let told = self.settings.give_back(setting, value);
                self.tell(told);
            }
        }
    }
}
