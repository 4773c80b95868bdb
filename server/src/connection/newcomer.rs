//! Connections that have not logged in. Their number is limited, in total and for each address.
//!
//! A new connection evicts the oldest one, because a login takes a moment and the oldest is the most likely to hold its place on purpose.
//! An address at its own limit evicts only its own connections, so no address can take all places. If the total is reached, the address
//! with the most connections loses one.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Shutdown;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::connection::place::Place;
use crate::connection::socket::Socket;
use crate::limits::{LimitError, Limits};

/// All connections that have not logged in.
#[derive(Debug)]
pub(crate) struct Newcomers {
    most: usize,
    /// The limit for one address.
    most_of_place: usize,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    /// The number of the latest one.
    last: u64,
    /// Those that may be evicted, in the order of their arrival.
    sockets: BTreeMap<u64, (Place, Arc<Socket>)>,
    places: BTreeMap<Place, BTreeSet<u64>>,
    /// How many have logged in and have no session yet.
    known: usize,
}

/// One of them. Its place is free once it is dropped.
#[derive(Debug)]
pub(crate) struct Newcomer {
    all: Arc<Newcomers>,
    number: u64,
    is_known: bool,
}

/// The default limit for one address, unless more sessions are allowed.
const OF_PLACE: usize = 128;

impl Newcomers {
    pub fn new(limits: &Limits) -> Arc<Self> {
        let ordinary = OF_PLACE.max(limits.connections);
        let most_of_place = limits.address_logins.unwrap_or(ordinary).max(1);
        // The total leaves other addresses as much room as one address can take.
        let most = ordinary.max(most_of_place).saturating_mul(2);
        Arc::new(Self { most, most_of_place, waiting: Mutex::default() })
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Admits a connection to the login, and evicts another one if there is no place.
    ///
    /// # Errors
    /// If all places are taken by connections that have logged in.
    pub fn admit(self: &Arc<Self>, socket: &Arc<Socket>) -> Result<Newcomer, LimitError> {
        let place = Place::of(socket.peer());
        let mut waiting = self.waiting();
        if waiting.count(place) >= self.most_of_place {
            waiting.drive_out(place);
        } else if waiting.sockets.len() + waiting.known >= self.most {
            let largest = waiting.largest().ok_or(LimitError::Connections)?;
            waiting.drive_out(largest);
        }
        waiting.last += 1;
        let number = waiting.last;
        waiting.sockets.insert(number, (place, Arc::clone(socket)));
        waiting.places.entry(place).or_default().insert(number);
        drop(waiting);
        Ok(Newcomer { all: Arc::clone(self), number, is_known: false })
    }
}

impl Waiting {
    fn count(&self, place: Place) -> usize {
        self.places.get(&place).map_or(0, BTreeSet::len)
    }

    fn largest(&self) -> Option<Place> {
        self.places.iter().max_by_key(|(_, numbers)| numbers.len()).map(|(place, _)| *place)
    }

    /// Evicts the oldest one of a place.
    fn drive_out(&mut self, place: Place) {
        let first = self.places.get(&place).and_then(|numbers| numbers.first().copied());
        if let Some((_, socket)) = first.and_then(|first| self.remove(first)) {
            // Its thread wakes up and tells the client the reason.
            socket.shutdown(Shutdown::Read);
        }
    }

    fn remove(&mut self, number: u64) -> Option<(Place, Arc<Socket>)> {
        let removed = self.sockets.remove(&number)?;
        if let Some(numbers) = self.places.get_mut(&removed.0) {
            numbers.remove(&number);
            if numbers.is_empty() {
                self.places.remove(&removed.0);
            }
        }
        Some(removed)
    }
}

impl Newcomer {
    /// The client has logged in, and is no longer evicted.
    ///
    /// # Errors
    /// If it was evicted before.
    pub fn is_known(&mut self) -> Result<(), LimitError> {
        let mut waiting = self.all.waiting();
        waiting.remove(self.number).ok_or(LimitError::AddressLogins)?;
        waiting.known += 1;
        self.is_known = true;
        Ok(())
    }

    pub fn was_driven_out(&self) -> bool {
        !self.is_known && !self.all.waiting().sockets.contains_key(&self.number)
    }
}

impl Drop for Newcomer {
    fn drop(&mut self) {
        let mut waiting = self.all.waiting();
        if self.is_known {
            waiting.known -= 1;
        } else {
            waiting.remove(self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    fn limited(connections: usize, address_logins: Option<usize>) -> Arc<Newcomers> {
        Newcomers::new(&Limits { connections, address_logins, ..Limits::default() })
    }

    fn socket() -> Arc<Socket> {
        Arc::new(Socket::from(UnixStream::pair().unwrap().0))
    }

    /// Comes from an address, which a pair of sockets has not.
    fn come(all: &Arc<Newcomers>, last: u8) -> Newcomer {
        let newcomer = all.admit(&socket()).unwrap();
        let mut waiting = all.waiting();
        let (_, socket) = waiting.remove(newcomer.number).unwrap();
        let place = Place::of(Some([192, 0, 2, last].into()));
        waiting.sockets.insert(newcomer.number, (place, socket));
        waiting.places.entry(place).or_default().insert(newcomer.number);
        drop(waiting);
        newcomer
    }

    #[test]
    fn the_oldest_of_an_address_makes_room() {
        let all = limited(1, Some(3));
        let mut came: Vec<_> = (0..5).map(|_| all.admit(&socket()).unwrap()).collect();
        let driven_out: Vec<_> = came.iter().map(Newcomer::was_driven_out).collect();
        assert_eq!(driven_out, [true, true, false, false, false]);
        assert_eq!(came[0].is_known(), Err(LimitError::AddressLogins));
        // A connection that has logged in stays, and makes room for another one.
        came[2].is_known().unwrap();
        came.push(all.admit(&socket()).unwrap());
        assert!(came[2..].iter().all(|newcomer| !newcomer.was_driven_out()));
        drop(came);
        let waiting = all.waiting();
        assert_eq!((waiting.sockets.len(), waiting.places.len(), waiting.known), (0, 0, 0));
    }

    #[test]
    fn where_all_places_are_taken_the_address_with_most_gives_one() {
        let all = limited(128, Some(255));
        assert_eq!(all.most, 510);
        let crowd: Vec<_> = (0..250).map(|_| come(&all, 1)).collect();
        let others: Vec<_> = (0..260).map(|at| come(&all, 2 + (at % 250) as u8)).collect();
        let late = come(&all, 255);
        assert!(crowd[0].was_driven_out() && !crowd[1].was_driven_out());
        assert!(!late.was_driven_out() && !others.iter().any(Newcomer::was_driven_out));
    }

    #[test]
    fn one_address_leaves_half_of_the_places() {
        for (connections, address_logins) in [(1, None), (256, None), (1000, None), (10, Some(5000))] {
            let all = limited(connections, address_logins);
            assert!(all.most >= 2 * all.most_of_place && all.most_of_place >= 1, "{connections}");
        }
    }
}
