//! SET, RESET and SHOW in a session.

use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use colonnade_sql::statement::Modes;
use colonnade_sql::{Statement, StatementKind, quote};

use crate::engine::{EngineAnswer, EngineError};
use crate::error::{Failure, SqlState};
use crate::message::backend;
use crate::rows;
use crate::session::execute::BATCH;
use crate::session::listing::Listing;
use crate::session::query;
use crate::session::settings::modes::{Mode, TransactionModes};
use crate::session::settings::{self, Change, Command, FormerValues, Settings};
use crate::session::state::Session;
use crate::value::oid::{self, ColumnOrigin, TypeInfo};

/// Gives the search path with the clients' names of schemas (`catalog_settings.sql`).
const SEARCH_PATH: &str = "SELECT pg_catalog.current_setting('search_path')";

impl Session {
    /// Runs a statement about settings. With `is_described`, the client already has the description of the columns.
    pub fn configure(&mut self, kind: &StatementKind, command: Command, is_described: bool) -> Result<(), Failure> {
        let rows = match command {
            Command::Set { setting, value, is_local } => {
                self.set(setting, value.as_deref(), is_local)?;
                if is_local && !self.transaction.is_any() {
                    let message = "SET LOCAL can only be used in transaction blocks";
                    self.warn(SqlState::NO_ACTIVE_SQL_TRANSACTION, message);
                }
                // The function gives the value.
                let is_function = matches!(kind, StatementKind::SetConfig(_));
                is_function.then(|| self.show(setting).map(|value| Listing::of("set_config", value))).transpose()?
            }
            Command::ResetAll => {
                self.reset_settings()?;
                None
            }
            Command::Transaction(modes) => {
                if self.transaction.is_any() {
                    self.change_modes(modes)?;
                } else {
                    let message = "SET TRANSACTION can only be used in transaction blocks";
                    self.warn(SqlState::NO_ACTIVE_SQL_TRANSACTION, message);
                }
                None
            }
            Command::TransactionDefaults(modes) => {
                self.set_transaction_defaults(modes)?;
                None
            }
            Command::Show(_) | Command::ShowAll => self.listing(&command)?,
        };
        let out = self.output.buffer();
        if let Some(Listing { names, rows }) = rows {
            if !is_described {
                let info = TypeInfo { oid: oid::TEXT, size: -1, modifier: -1 };
                backend::row_description(out, names.into_iter().map(|name| (name, ColumnOrigin::default(), info, 0)))?;
            }
            rows.iter().try_for_each(|row| backend::text_row(out, row))?;
        }
        let sent = matches!(kind, StatementKind::SetConfig(_)).then_some(1);
        self.finish(&query::tag(kind, sent, None));
        Ok(())
    }

    /// SET SESSION CHARACTERISTICS.
    fn set_transaction_defaults(&mut self, modes: Modes) -> Result<(), Failure> {
        let named = TransactionModes::default().with(modes);
        let given = [
            (Mode::Isolation, modes.isolation.is_some()),
            (Mode::ReadOnly, modes.read_only.is_some()),
            (Mode::Deferrable, modes.deferrable.is_some()),
        ];
        for (mode, _) in given.into_iter().filter(|(_, is_given)| *is_given) {
            if let Some(setting) = Settings::of_default(mode) {
                self.set(setting, Some(named.value(mode)), false)?;
            }
        }
        Ok(())
    }

    /// Sets a mode of the present transaction. Outside of one, it would be that of this statement alone.
    fn set_mode(&mut self, setting: usize, mode: Mode, value: Option<&str>) -> Result<(), Failure> {
        let initial = self.settings.transaction_defaults().value(mode);
        let modes = mode.parse(Settings::name(setting), value.unwrap_or(initial))?;
        if self.transaction.is_any() { self.change_modes(modes) } else { Ok(()) }
    }

    /// SET CONSTRAINTS. The engine checks all constraints at once, so that ALL changes nothing: none is deferrable.
    pub fn set_constraints(&mut self, kind: &StatementKind, are_all: bool) -> Result<(), Failure> {
        if !are_all {
            return Err(Failure::NotSupported("SET CONSTRAINTS with the name of a constraint"));
        }
        if !self.transaction.is_any() {
            let message = "SET CONSTRAINTS can only be used in transaction blocks";
            self.warn(SqlState::NO_ACTIVE_SQL_TRANSACTION, message);
        }
        self.complete(kind);
        Ok(())
    }

    /// The result of SHOW; `None` for other commands.
    pub fn listing(&mut self, command: &Command) -> Result<Option<Listing>, Failure> {
        Ok(match command {
            Command::Show(setting) => {
                Some(Listing { names: vec![Settings::name(*setting)], rows: vec![vec![self.show(*setting)?]] })
            }
            Command::ShowAll => {
                let row = |setting| Ok(vec![Settings::name(setting).to_owned(), self.show(setting)?, String::new()]);
                let rows = Settings::indices().map(row).collect::<Result<_, Failure>>()?;
                Some(Listing { names: vec!["name", "setting", "description"], rows })
            }
            _ => None,
        })
    }

    /// A setting's value for SHOW. Only the engine has the present search path, because USE and SET schema also change
    /// it. In front of a source, the value is the session's own: a source may have no search path, and otherwise
    /// answers SHOW itself.
    fn show(&mut self, setting: usize) -> Result<String, Failure> {
        if let Some(mode) = Settings::transaction_mode(setting) {
            return Ok(self.modes().value(mode).to_owned());
        }
        if !Settings::is_search_path(setting) || self.engine.source().is_some() {
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

    /// Applies the settings of the start-up message. RESET restores these values.
    pub fn set_startup_settings(&mut self) -> Result<(), Failure> {
        self.run_startup_settings(true)?;
        self.settings.use_present_as_defaults();
        Ok(())
    }

    /// Sets the start-up message's settings of the engine, and with `are_all` those that the session knows too.
    fn run_startup_settings(&mut self, are_all: bool) -> Result<(), Failure> {
        for (name, value) in Arc::clone(&self.startup_settings).iter() {
            let source = self.engine.source();
            let dialect = source.unwrap_or_else(|| self.engine.dialect());
            let text = format!("SET {} = {}", quote::identifier(name, dialect), quote::string(value, dialect));
            match settings::session_command(&Statement::of(&text, dialect).kind, source) {
                Some(Command::Set { setting, value, .. }) if are_all => self.set(setting, value.as_deref(), false)?,
                Some(Command::Set { .. }) => {}
                _ => {
                    let _running = self.start()?;
                    self.run_own_statement(&text)?;
                }
            }
        }
        Ok(())
    }

    /// RESET ALL: restores the values that all settings had when the session began, also those that only the engine
    /// knows.
    pub fn reset_settings(&mut self) -> Result<(), Failure> {
        if self.engine.source().is_some() {
            return self.settings.changed().into_iter().try_for_each(|setting| self.set(setting, None, false));
        }
        let running = self.start()?;
        self.run_own_statement("RESET ALL")?;
        drop(running);
        self.restore_settings()
    }

    /// Restores the values that settings had when the session began. The engine has its own initial values, and may
    /// have any search path.
    pub fn restore_settings(&mut self) -> Result<(), Failure> {
        self.run_startup_settings(false)?;
        let changed = self.settings.changed();
        let is_restored = |setting: &usize| changed.contains(setting) || Settings::is_engines(*setting);
        Settings::indices().filter(is_restored).try_for_each(|setting| self.set(setting, None, false))
    }

    fn set(&mut self, setting: usize, value: Option<&str>, is_local: bool) -> Result<(), Failure> {
        if let Some(mode) = Settings::transaction_mode(setting) {
            return self.set_mode(setting, mode, value);
        }
        let change = self.settings.plan(setting, value)?;
        if self.engine.source().is_some() {
            Settings::check_style_of_source(setting, &change)?;
        }
        // If the charge failed after the engine's change, the engine and the session would have different values.
        let charge = self.control.budget.charge(self.settings.bytes(setting, &change.value))?;
        let _running = change.engine.as_ref().or(change.variable.as_ref()).map(|_| self.start()).transpose()?;
        self.apply(&change)?;
        let changed = self.settings.set(setting, change.value, is_local, charge);
        self.report_setting(changed);
        if change.is_ignored {
            let message = format!("{} has no effect; the server's own limits apply", Settings::name(setting));
            self.warn(SqlState::FEATURE_NOT_SUPPORTED, &message);
        }
        Ok(())
    }

    fn apply(&mut self, change: &Change) -> Result<(), Failure> {
        let variable = change.variable.as_ref().filter(|_| self.engine.source().is_none());
        for statement in change.engine.iter().chain(variable) {
            self.run_own_statement(statement)?;
        }
        if let Some((time, own)) = change.time {
            self.control.set_timeout(time, own);
        }
        Ok(())
    }

    /// Reports a change to the client. Messages after a change of the client's encoding have the new one.
    fn report_setting(&mut self, changed: Option<(&'static str, String)>) {
        let encoding = self.settings.client_encoding();
        (self.input.encoding, self.output.buffer().encoding) = (encoding, encoding);
        if let Some((name, value)) = changed {
            backend::parameter_status(self.output.buffer(), name, &value);
        }
    }

    /// Removes the values of SET LOCAL after a commit of any transaction.
    pub fn commit_settings(&mut self) {
        let former = self.settings.commit();
        self.restore(former);
    }

    /// Restores the values from before `mark` after a rollback.
    pub fn roll_back_settings(&mut self, mark: usize) {
        let former = self.settings.roll_back(mark);
        self.restore(former);
    }

    fn restore(&mut self, former: FormerValues) {
        for (setting, value) in former {
            // The former value was valid, so no error is expected. If one occurs, there is no statement for which to
            // report it.
            let planned = self.settings.plan(setting, Some(&value));
            if planned.is_ok_and(|change| self.apply(&change).is_ok()) {
                let changed = self.settings.restore(setting, value);
                self.report_setting(changed);
            }
        }
    }
}
