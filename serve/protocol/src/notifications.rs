//! Notifications: texts that sessions send to all sessions that listen on a channel (LISTEN and NOTIFY).
//! <https://www.postgresql.org/docs/15/sql-notify.html>
//!
//! A transaction's notifications are sent when it commits, in the order of the commits. Each listening session has an
//! inbox, which it sends to its client between transactions. All notifications that wait, for a commit or in an inbox,
//! share one quota.

mod channels;
mod order;

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::hash::{Hash, Hasher};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

pub(crate) use channels::ChannelChange;
use order::{CommitOrder, Turn};
use rustix::event::{EventfdFlags, eventfd};

use crate::error::ClientError;
use crate::sqlstate::SqlState;

/// The longest name of a channel, in bytes, as PostgreSQL's names (`NAMEDATALEN`).
pub const MAX_CHANNEL_BYTES: usize = 63;
/// The longest payload, in bytes (`NOTIFY_PAYLOAD_MAX_LENGTH`).
const MAX_PAYLOAD_BYTES: usize = 7999;
/// The memory of all notifications that wait.
const QUEUE_BYTES: usize = 64 << 20;
/// The most channels of a session.
const MAX_CHANNELS: usize = 10_000;
/// The most changes of channels in a transaction, which a savepoint may undo. It limits their memory.
const MAX_CHANGES: usize = 10 * MAX_CHANNELS;

type QueueBudget = colonnade_budget::Budget<NotificationError>;

/// Why a notification is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotificationError {
    /// A channel without a name.
    #[error("channel name cannot be empty: name the channel on which sessions listen")]
    EmptyChannel,
    /// The channel's name is too long.
    #[error("channel name too long: at most {MAX_CHANNEL_BYTES} bytes are possible")]
    LongChannel,
    /// The text is too long.
    #[error("payload string too long: at most {MAX_PAYLOAD_BYTES} bytes are possible")]
    LongPayload,
    /// The quota of those that wait.
    #[error("too many notifications: those that wait for sessions would take more than {0} bytes")]
    QueueFull(usize),
    /// The session listens on very many channels.
    #[error("too many channels: a session can listen on at most {MAX_CHANNELS}")]
    TooManyChannels,
    /// A transaction has begun and ended listening very often.
    #[error("too many changes of channels: a transaction can make at most {MAX_CHANGES}; commit before more of them")]
    TooManyChanges,
    /// The operating system has no descriptor for the inbox.
    #[error("the session cannot wait for notifications: {0}")]
    NoInbox(#[from] rustix::io::Errno),
}

impl ClientError for NotificationError {
    fn code(&self) -> SqlState {
        match self {
            Self::EmptyChannel | Self::LongChannel | Self::LongPayload => SqlState::INVALID_PARAMETER_VALUE,
            Self::QueueFull(_) | Self::TooManyChannels | Self::TooManyChanges => SqlState::PROGRAM_LIMIT_EXCEEDED,
            Self::NoInbox(_) => SqlState::new("53000"),
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = "Commit more often. If that does not help, a listening session is in a long transaction or its \
                    client does not read: end that session.";
        matches!(self, Self::QueueFull(_)).then(|| hint.to_owned())
    }
}

/// A text on a channel, and the number of the session that has sent it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Notification {
    pub process: i32,
    pub channel: String,
    pub payload: String,
}

/// A notification with its part of the quota, which is released once nobody waits for it.
type Queued = Arc<colonnade_budget::Charged<Notification, NotificationError>>;

/// A queued notification in a set of different ones.
struct Distinct(Queued);

impl Borrow<Notification> for Distinct {
    fn borrow(&self) -> &Notification {
        &self.0
    }
}

impl Hash for Distinct {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Notification::hash(&self.0, state);
    }
}

impl PartialEq for Distinct {
    fn eq(&self, other: &Self) -> bool {
        **self.0 == **other.0
    }
}

impl Eq for Distinct {}

/// The notifications of all sessions.
#[derive(Debug)]
pub(crate) struct Notifications {
    /// The inboxes of each channel, by the numbers of their sessions.
    listeners: Mutex<HashMap<String, BTreeMap<i32, Arc<Inbox>>>>,
    /// Held from before a COMMIT until its notifications are in the inboxes, so that they have the order of the commits.
    order: CommitOrder,
    queue: Arc<QueueBudget>,
}

impl Default for Notifications {
    fn default() -> Self {
        Self::with_quota(QUEUE_BYTES)
    }
}

/// What a listening session has received and not sent to its client.
#[derive(Debug)]
struct Inbox {
    queue: Mutex<VecDeque<Queued>>,
    /// Readable when the queue has become non-empty. A waiting session waits for this and for its socket.
    arrival: OwnedFd,
}

/// The notifications of one session: the channels on which it listens, and what its transaction sends.
pub struct SessionNotifications {
    all: Arc<Notifications>,
    process: i32,
    inbox: OnceLock<Arc<Inbox>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    channels: BTreeSet<String>,
    /// What its transaction sends, each once.
    pending: Vec<Queued>,
    distinct: HashSet<Distinct>,
    /// What its transaction changes of the channels.
    changes: Vec<ChannelChange>,
    /// The channels after the changes.
    changed: BTreeSet<String>,
}

/// A point in a transaction, to which it can go back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NotificationMark {
    pending: usize,
    changes: usize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Notifications {
    fn with_quota(bytes: usize) -> Self {
        let queue = QueueBudget::new(Some(bytes), NotificationError::QueueFull);
        Self { listeners: Mutex::default(), order: CommitOrder::default(), queue }
    }

    /// The session with this number.
    pub fn session(self: &Arc<Self>, process: i32) -> SessionNotifications {
        let (inbox, state) = (OnceLock::new(), Mutex::default());
        SessionNotifications { all: Arc::clone(self), process, inbox, state }
    }
}

impl Inbox {
    fn new() -> rustix::io::Result<Self> {
        let arrival = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { queue: Mutex::default(), arrival })
    }

    /// Adds the notifications of a transaction, which the session gets together.
    fn put(&self, notifications: Vec<Queued>) {
        let mut queue = lock(&self.queue);
        let was_empty = queue.is_empty();
        queue.extend(notifications);
        if was_empty {
            // It fails only if the counter is at its end, and then the file is readable.
            let _ = rustix::io::write(&self.arrival, &1u64.to_ne_bytes());
        }
    }

    fn take(&self) -> VecDeque<Queued> {
        let mut queue = lock(&self.queue);
        if !queue.is_empty() {
            let _ = rustix::io::read(&self.arrival, &mut [0; 8]);
        }
        std::mem::take(&mut *queue)
    }
}

impl SessionNotifications {
    /// Sends a text to the sessions that listen on the channel when the transaction commits.
    ///
    /// # Errors
    /// A name or a text is too long, or too many notifications wait.
    pub fn notify(&self, channel: &str, payload: &str) -> Result<(), NotificationError> {
        if channel.is_empty() {
            return Err(NotificationError::EmptyChannel);
        } else if channel.len() > MAX_CHANNEL_BYTES {
            return Err(NotificationError::LongChannel);
        } else if payload.len() > MAX_PAYLOAD_BYTES {
            return Err(NotificationError::LongPayload);
        }
        let (process, channel, payload) = (self.process, channel.to_owned(), payload.to_owned());
        let notification = Notification { process, channel, payload };
        let mut state = lock(&self.state);
        if state.distinct.contains(&notification) {
            return Ok(());
        }
        let bytes = size_of::<Notification>() + notification.channel.len() + notification.payload.len();
        let queued = Arc::new(self.all.queue.keep(notification, bytes)?);
        state.distinct.insert(Distinct(Arc::clone(&queued)));
        state.pending.push(queued);
        Ok(())
    }

    /// Changes the channels when the transaction commits.
    ///
    /// # Errors
    /// The session has too many channels, or the operating system has no descriptor for the inbox.
    pub(crate) fn change(&self, change: ChannelChange) -> Result<(), NotificationError> {
        if matches!(change, ChannelChange::Listen(_)) && self.inbox.get().is_none() {
            // Only the session's thread makes it.
            let _ = self.inbox.set(Arc::new(Inbox::new()?));
        }
        let mut state = lock(&self.state);
        let is_new = matches!(&change, ChannelChange::Listen(channel) if !state.changed.contains(channel));
        if is_new && state.changed.len() >= MAX_CHANNELS {
            return Err(NotificationError::TooManyChannels);
        } else if state.changes.len() >= MAX_CHANGES {
            return Err(NotificationError::TooManyChanges);
        }
        if change.apply(&mut state.changed) {
            state.changes.push(change);
        }
        Ok(())
    }

    /// The channels on which the session listens.
    pub fn channels(&self) -> Vec<String> {
        lock(&self.state).channels.iter().cloned().collect()
    }

    /// The present point of the transaction.
    pub(crate) fn mark(&self) -> NotificationMark {
        let state = lock(&self.state);
        NotificationMark { pending: state.pending.len(), changes: state.changes.len() }
    }

    /// Forgets what was to be sent and changed after this point of the transaction.
    pub(crate) fn roll_back(&self, mark: NotificationMark) {
        let mut state = lock(&self.state);
        let state = &mut *state;
        for dropped in state.pending.drain(mark.pending.min(state.pending.len())..) {
            state.distinct.remove::<Notification>(&dropped);
        }
        if state.changes.len() > mark.changes {
            state.changes.truncate(mark.changes);
            state.changed.clone_from(&state.channels);
            for change in &state.changes {
                change.apply(&mut state.changed);
            }
        }
    }

    /// Whether a commit would send or change something.
    pub(crate) fn has_changes(&self) -> bool {
        let state = lock(&self.state);
        !state.pending.is_empty() || !state.changes.is_empty()
    }

    /// Runs a COMMIT. If it succeeds, changes the channels and sends the notifications of the transaction. `run` must
    /// only commit, because other sessions wait for it.
    ///
    /// # Errors
    /// If it fails, or `check` fails while the session waits for the commits of others.
    pub(crate) fn commit<E>(
        &self,
        check: impl Fn() -> Result<(), E>,
        run: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        let _turn = self.turn(check)?;
        run()?;
        self.send();
        Ok(())
    }

    /// Waits until the session may commit, if it sends something.
    ///
    /// # Errors
    /// If `check` fails while it waits.
    pub(crate) fn turn<E>(&self, check: impl Fn() -> Result<(), E>) -> Result<Option<Turn<'_>>, E> {
        let sends = !lock(&self.state).pending.is_empty();
        sends.then(|| self.all.order.turn(check)).transpose()
    }

    /// Changes the channels and sends the notifications of a transaction that has committed.
    pub(crate) fn send(&self) {
        let (pending, changes) = {
            let mut state = lock(&self.state);
            state.distinct = HashSet::new();
            (std::mem::take(&mut state.pending), std::mem::take(&mut state.changes))
        };
        if pending.is_empty() && changes.is_empty() {
            return;
        }
        changes.iter().for_each(|change| self.apply(change));
        let listeners = lock(&self.all.listeners);
        let mut sent: BTreeMap<i32, (&Inbox, Vec<Queued>)> = BTreeMap::new();
        for notification in &pending {
            for (process, inbox) in listeners.get(&notification.channel).into_iter().flatten() {
                sent.entry(*process).or_insert((inbox, Vec::new())).1.push(Arc::clone(notification));
            }
        }
        sent.into_values().for_each(|(inbox, notifications)| inbox.put(notifications));
    }

    fn apply(&self, change: &ChannelChange) {
        match change {
            ChannelChange::Listen(channel) => {
                let Some(inbox) = self.inbox.get() else { return };
                lock(&self.state).channels.insert(channel.clone());
                let mut listeners = lock(&self.all.listeners);
                listeners.entry(channel.clone()).or_default().insert(self.process, Arc::clone(inbox));
            }
            ChannelChange::Unlisten(channel) => self.unlisten(channel),
            ChannelChange::UnlistenAll => self.channels().iter().for_each(|channel| self.unlisten(channel)),
        }
    }

    fn unlisten(&self, channel: &str) {
        lock(&self.state).channels.remove(channel);
        let mut listeners = lock(&self.all.listeners);
        if let Some(inboxes) = listeners.get_mut(channel) {
            inboxes.remove(&self.process);
            if inboxes.is_empty() {
                listeners.remove(channel);
            }
        }
    }

    /// The notifications that have arrived on the channels on which the session listens.
    pub(crate) fn take(&self) -> impl Iterator<Item = Queued> + use<'_> {
        let arrived = self.inbox.get().map(|inbox| inbox.take()).unwrap_or_default();
        arrived.into_iter().filter(|notification| lock(&self.state).channels.contains(&notification.channel))
    }

    /// A file that is readable when notifications have arrived; `None` if the session does not listen.
    pub(crate) fn arrival(&self) -> Option<BorrowedFd<'_>> {
        let is_listening = !lock(&self.state).channels.is_empty();
        self.inbox.get().filter(|_| is_listening).map(|inbox| inbox.arrival.as_fd())
    }

    /// Ends what the session has of notifications.
    pub(crate) fn discard(&self) {
        self.roll_back(NotificationMark::default());
        self.apply(&ChannelChange::UnlistenAll);
        lock(&self.state).changed.clear();
        drop(self.inbox.get().map(|inbox| inbox.take()));
    }
}

impl Drop for SessionNotifications {
    fn drop(&mut self) {
        self.discard();
    }
}

#[cfg(test)]
#[path = "notifications/tests.rs"]
mod tests;
