//! Connections that have not logged in. Their number is limited, in total and for each address.
//!
//! At the limit, a new connection evicts the oldest one. A login is short, so the oldest connection is the most likely
//! to occupy its place on purpose. An address at its own limit evicts only its own connections, so no address can take
//! all places. If the total is reached, the address with the most connections loses one.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Shutdown;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::connection::origin::Origin;
use crate::connection::socket::Socket;
use crate::limits::{LimitError, Limits};

/// All connections that have not logged in.
#[derive(Debug)]
pub(crate) struct PendingLogins {
    limit: usize,
    /// The limit for one address.
    address_limit: usize,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    /// The number of the latest one.
    last: u64,
    /// Those that may be evicted, in the order of their arrival.
    sockets: BTreeMap<u64, (Origin, Arc<Socket>)>,
    origins: BTreeMap<Origin, BTreeSet<u64>>,
    /// How many have logged in and have no session yet.
    logged_in: usize,
}

/// One of them. Its place is free once it is dropped.
#[derive(Debug)]
pub(crate) struct PendingLogin {
    all: Arc<PendingLogins>,
    number: u64,
    is_logged_in: bool,
}

/// The default limit for one address, unless more sessions are allowed.
const DEFAULT_ADDRESS_LIMIT: usize = 128;

impl PendingLogins {
    pub fn new(limits: &Limits) -> Arc<Self> {
        let ordinary = DEFAULT_ADDRESS_LIMIT.max(limits.connections);
        let address_limit = limits.address_logins.unwrap_or(ordinary).max(1);
        // The total leaves other addresses as much room as one address can take.
        let limit = ordinary.max(address_limit).saturating_mul(2);
        Arc::new(Self { limit, address_limit, waiting: Mutex::default() })
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Admits a connection to the login, and evicts another one if there is no place.
    ///
    /// # Errors
    /// If all places are taken by connections that have logged in.
    pub fn admit(self: &Arc<Self>, socket: &Arc<Socket>) -> Result<PendingLogin, LimitError> {
        let origin = Origin::of(socket.peer());
        let mut waiting = self.waiting();
        if waiting.count(origin) >= self.address_limit {
            waiting.evict_oldest(origin);
        } else if waiting.sockets.len() + waiting.logged_in >= self.limit {
            let largest = waiting.largest().ok_or(LimitError::Connections)?;
            waiting.evict_oldest(largest);
        }
        waiting.last += 1;
        let number = waiting.last;
        waiting.sockets.insert(number, (origin, Arc::clone(socket)));
        waiting.origins.entry(origin).or_default().insert(number);
        drop(waiting);
        Ok(PendingLogin { all: Arc::clone(self), number, is_logged_in: false })
    }
}

impl Waiting {
    fn count(&self, origin: Origin) -> usize {
        self.origins.get(&origin).map_or(0, BTreeSet::len)
    }

    fn largest(&self) -> Option<Origin> {
        self.origins.iter().max_by_key(|(_, numbers)| numbers.len()).map(|(origin, _)| *origin)
    }

    /// Evicts the oldest connection of an origin.
    fn evict_oldest(&mut self, origin: Origin) {
        let first = self.origins.get(&origin).and_then(|numbers| numbers.first().copied());
        if let Some((_, socket)) = first.and_then(|first| self.remove(first)) {
            // Its thread wakes up and tells the client the reason.
            socket.shutdown(Shutdown::Read);
        }
    }

    fn remove(&mut self, number: u64) -> Option<(Origin, Arc<Socket>)> {
        let removed = self.sockets.remove(&number)?;
        if let Some(numbers) = self.origins.get_mut(&removed.0) {
            numbers.remove(&number);
            if numbers.is_empty() {
                self.origins.remove(&removed.0);
            }
        }
        Some(removed)
    }
}

impl PendingLogin {
    /// Notes that the client has logged in. The connection is no longer evicted.
    ///
    /// # Errors
    /// If it was evicted before.
    pub fn mark_logged_in(&mut self) -> Result<(), LimitError> {
        let mut waiting = self.all.waiting();
        waiting.remove(self.number).ok_or(LimitError::AddressLogins)?;
        waiting.logged_in += 1;
        self.is_logged_in = true;
        Ok(())
    }

    pub fn was_evicted(&self) -> bool {
        !self.is_logged_in && !self.all.waiting().sockets.contains_key(&self.number)
    }
}

impl Drop for PendingLogin {
    fn drop(&mut self) {
        let mut waiting = self.all.waiting();
        if self.is_logged_in {
            waiting.logged_in -= 1;
        } else {
            waiting.remove(self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    fn limited(connections: usize, address_logins: Option<usize>) -> Arc<PendingLogins> {
        PendingLogins::new(&Limits { connections, address_logins, ..Limits::default() })
    }

    fn socket() -> Arc<Socket> {
        Arc::new(Socket::from(UnixStream::pair().unwrap().0))
    }

    /// Adds a connection from an IPv4 address. The pair of sockets itself has no address.
    fn arrive(all: &Arc<PendingLogins>, last: u8) -> PendingLogin {
        let pending = all.admit(&socket()).unwrap();
        let mut waiting = all.waiting();
        let (_, socket) = waiting.remove(pending.number).unwrap();
        let origin = Origin::of(Some([192, 0, 2, last].into()));
        waiting.sockets.insert(pending.number, (origin, socket));
        waiting.origins.entry(origin).or_default().insert(pending.number);
        drop(waiting);
        pending
    }

    #[test]
    fn the_oldest_connection_of_an_address_is_evicted() {
        let all = limited(1, Some(3));
        let mut arrived: Vec<_> = (0..5).map(|_| all.admit(&socket()).unwrap()).collect();
        let evicted: Vec<_> = arrived.iter().map(PendingLogin::was_evicted).collect();
        assert_eq!(evicted, [true, true, false, false, false]);
        assert_eq!(arrived[0].mark_logged_in(), Err(LimitError::AddressLogins));
        // A connection that has logged in is not evicted, and no longer counts for its address.
        arrived[2].mark_logged_in().unwrap();
        arrived.push(all.admit(&socket()).unwrap());
        assert!(arrived[2..].iter().all(|pending| !pending.was_evicted()));
        drop(arrived);
        let waiting = all.waiting();
        assert_eq!((waiting.sockets.len(), waiting.origins.len(), waiting.logged_in), (0, 0, 0));
    }

    #[test]
    fn at_the_total_limit_the_address_with_most_connections_loses_one() {
        let all = limited(128, Some(255));
        assert_eq!(all.limit, 510);
        let first_address: Vec<_> = (0..250).map(|_| arrive(&all, 1)).collect();
        let others: Vec<_> = (0..260).map(|at| arrive(&all, 2 + (at % 250) as u8)).collect();
        let late = arrive(&all, 255);
        assert!(first_address[0].was_evicted() && !first_address[1].was_evicted());
        assert!(!late.was_evicted() && !others.iter().any(PendingLogin::was_evicted));
    }

    #[test]
    fn one_address_can_take_half_of_the_total_at_most() {
        for (connections, address_logins) in [(1, None), (256, None), (1000, None), (10, Some(5000))] {
            let all = limited(connections, address_logins);
            assert!(all.limit >= 2 * all.address_limit && all.address_limit >= 1, "{connections}");
        }
    }
}
