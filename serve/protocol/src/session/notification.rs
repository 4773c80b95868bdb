//! LISTEN, NOTIFY and UNLISTEN, and the notifications that the client gets.

use colonnade_sql::StatementKind;
use colonnade_sql::statement::NotificationStatement;

use crate::error::Failure;
use crate::message::backend::{self, Report, TransactionStatus};
use crate::message::frontend::Phase;
use crate::notifications::{ChannelChange, MAX_CHANNEL_BYTES, NotificationMark};
use crate::session::request::Request;
use crate::session::state::Session;

impl Session {
    pub fn notification(&mut self, kind: &StatementKind, statement: &NotificationStatement) -> Result<(), Failure> {
        let notifications = &self.caller.notifications;
        match statement {
            NotificationStatement::Listen(name) => {
                notifications.change(ChannelChange::Listen(channel(name).to_owned()))?
            }
            NotificationStatement::Unlisten(Some(name)) => {
                notifications.change(ChannelChange::Unlisten(channel(name).to_owned()))?
            }
            NotificationStatement::Unlisten(None) => notifications.change(ChannelChange::UnlistenAll)?,
            NotificationStatement::Notify { channel: name, payload } => notifications.notify(channel(name), payload)?,
        }
        if !self.transaction.is_any() {
            self.commit_notifications()?;
        }
        self.complete(kind);
        Ok(())
    }

    /// Commits a statement about notifications that has no transaction.
    fn commit_notifications(&mut self) -> Result<(), Failure> {
        let running = self.start()?;
        let notifications = &self.caller.notifications;
        let committed = notifications.commit(|| self.control.check(), || Ok(()));
        drop(running);
        committed.inspect_err(|_| notifications.roll_back(NotificationMark::default()))
    }

    /// Sends the notifications of a statement that had its own transaction.
    pub fn send_statement_notifications(&self) {
        if !self.transaction.is_any() && self.caller.notifications.has_changes() {
            let _running = self.control.start();
            // The statement has committed. If it is stopped now, its notifications are sent out of their order.
            let _turn = self.caller.notifications.turn(|| self.control.check());
            self.caller.notifications.send();
        }
    }

    /// Waits for the client's next message. A session that is ready for it sends notifications as they arrive.
    pub fn next_request(&mut self, is_ready: bool) -> Result<Option<Request>, Failure> {
        while is_ready
            && self.transaction.status == TransactionStatus::Idle
            && let Some(arrival) = self.caller.notifications.arrival()
            && self.input.wait(Phase::Ready, arrival)?
        {
            self.write_notifications()?;
            self.output.flush()?;
            self.output.socket().note_ready_for_query();
        }
        self.input.message(Phase::Ready, Request::from_message)
    }

    /// Writes the notifications that have arrived.
    pub fn write_notifications(&mut self) -> Result<(), Failure> {
        for notification in self.caller.notifications.take() {
            let (process, channel, payload) = (notification.process, &notification.channel, &notification.payload);
            let written = backend::notification_response(self.output.buffer(), process, channel, payload);
            if let Err(error) = written {
                let (code, message) = (error.code(), format!("a notification was not delivered: {error}"));
                let report =
                    Report { severity: "WARNING", code: code.as_str(), message: &message, ..Report::default() };
                backend::notice_response(self.output.buffer(), &report);
            }
            self.output.flush_if_full()?;
        }
        Ok(())
    }
}

/// A name as PostgreSQL keeps it: its first bytes.
fn channel(name: &str) -> &str {
    &name[..name.floor_char_boundary(MAX_CHANNEL_BYTES)]
}
