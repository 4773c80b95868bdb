//! Further connections of a connection: they are opened together and cancelled with it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::feed::{self, NoItem};
use crate::{Connection, ContinueCheck, Error, ErrorKind};

/// The most connections that are opened at the same time.
const AT_ONCE: usize = 16;

/// The siblings of a connection that are still open.
#[derive(Default)]
pub(crate) struct Siblings(Mutex<Vec<Weak<dyn Connection>>>);

impl Siblings {
    /// From now on, these are cancelled too.
    pub(crate) fn add(&self, siblings: &[Arc<dyn Connection>]) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|sibling| sibling.strong_count() > 0);
        known.extend(siblings.iter().map(Arc::downgrade));
    }

    /// Cancels all running queries of the siblings.
    ///
    /// # Errors
    /// A request could not be delivered. The others were delivered nevertheless.
    pub(crate) fn cancel(&self) -> Result<(), Error> {
        // The lock is not held meanwhile, because threads that open siblings need it.
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut done = Ok(());
        for sibling in known.iter().filter_map(Weak::upgrade) {
            done = done.and(sibling.canceller().cancel());
        }
        done
    }
}

/// Opens `count` connections, several at the same time.
///
/// # Errors
/// The first error of any connection, or an interruption. All connections are then closed.
pub(crate) fn open<C: Connection + 'static>(
    count: usize,
    keep: ContinueCheck<'_>,
    open: impl Fn(ContinueCheck<'_>) -> Result<C, Error> + Send + Sync + 'static,
) -> Result<Vec<Arc<C>>, Error> {
    let (begun, stop, open) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)), Arc::new(open));
    let (sender, opened) = sync_channel(AT_ONCE);
    let collected = (0..count.min(AT_ONCE)).try_for_each(|_| {
        let (begun, stop, open, sender) = (begun.clone(), stop.clone(), open.clone(), sender.clone());
        let work = move || {
            while begun.fetch_add(1, Ordering::Relaxed) < count && !stop.load(Ordering::Acquire) {
                let sibling = open(&mut || !stop.load(Ordering::Acquire));
                let failed = sibling.is_err();
                if sender.send(sibling).is_err() || failed {
                    return;
                }
            }
        };
        feed::spawn("colonnade-sibling", work).map(drop)
    });
    drop(sender);
    let collected = collected.and_then(|()| {
        let mut siblings = Vec::with_capacity(count);
        while siblings.len() < count {
            match feed::receive(&opened, keep) {
                Ok(sibling) => siblings.push(Arc::new(sibling?)),
                Err(NoItem::Interrupted) => return Err(Error::new(ErrorKind::Interrupted, "interrupted")),
                Err(NoItem::Gone) => return Err(Error::new(ErrorKind::ConnectionLost, "a connecting thread died")),
            }
        }
        Ok(siblings)
    });
    stop.store(true, Ordering::Release);
    // Connections that are not used are closed here.
    opened.iter().for_each(drop);
    collected
}
