//! Changes of the channels on which a session listens.

use std::collections::BTreeSet;

/// A change of the channels on which a session listens.
#[derive(Debug)]
pub(crate) enum ChannelChange {
    Listen(String),
    Unlisten(String),
    UnlistenAll,
}

impl ChannelChange {
    /// Changes the channels. Gives whether they are others than before.
    pub(super) fn apply(&self, channels: &mut BTreeSet<String>) -> bool {
        match self {
            Self::Listen(channel) => channels.insert(channel.clone()),
            Self::Unlisten(channel) => channels.remove(channel),
            Self::UnlistenAll => !std::mem::take(channels).is_empty(),
        }
    }
}
