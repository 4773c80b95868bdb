//! A limit on password guessing: a number of failed logins, which grows back over time.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::connection::origin::Origin;

/// Attempts for one user from one address: the number, and the time until another one is allowed.
const USER: Allowance = Allowance { burst: 5.0, pause: Duration::from_secs(5) };
/// The same for all users from one address.
const ADDRESS: Allowance = Allowance { burst: 50.0, pause: Duration::from_secs(1) };
/// The number of remembered addresses and users. Those with the fewest failures are forgotten first.
const REMEMBERED: usize = 10_000;

#[derive(Clone, Copy)]
struct Allowance {
    burst: f64,
    pause: Duration,
}

/// Counts attempts by address, and by address and user. An attempt that succeeds does not count.
#[derive(Default)]
pub(crate) struct Throttle {
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    addresses: HashMap<Origin, Spent>,
    users: HashMap<(Origin, String), Spent>,
}

/// The attempts, minus those that have grown back.
#[derive(Clone, Copy)]
struct Spent {
    count: f64,
    at: Instant,
}

impl Throttle {
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts an attempt before it is checked, so that concurrent ones count.
    ///
    /// # Errors
    /// The time until another attempt is allowed.
    pub fn attempt(&self, origin: Origin, user: &str, now: Instant) -> Result<(), Duration> {
        let mut counts = self.counts();
        let user = (origin, user.to_owned());
        let (of_origin, of_user) =
            (spent(&counts.addresses, &origin, ADDRESS, now), spent(&counts.users, &user, USER, now));
        let wait = ADDRESS.wait(of_origin).max(USER.wait(of_user));
        if wait > Duration::ZERO {
            return Err(wait);
        }
        remember(&mut counts.addresses, origin, Spent { count: of_origin + 1.0, at: now }, ADDRESS);
        remember(&mut counts.users, user, Spent { count: of_user + 1.0, at: now }, USER);
        Ok(())
    }

    /// The attempt has succeeded. It does not count, nor do the user's earlier ones from this address.
    pub fn succeeded(&self, origin: Origin, user: &str) {
        let mut counts = self.counts();
        counts.users.remove(&(origin, user.to_owned()));
        if let Some(spent) = counts.addresses.get_mut(&origin) {
            spent.count = (spent.count - 1.0).max(0.0);
        }
    }
}

impl Allowance {
    fn wait(self, spent: f64) -> Duration {
        self.pause.mul_f64((spent + 1.0 - self.burst).max(0.0))
    }

    fn left(self, spent: Spent, now: Instant) -> f64 {
        let back = now.saturating_duration_since(spent.at).div_duration_f64(self.pause);
        (spent.count - back).max(0.0)
    }
}

fn spent<K: Hash + Eq>(counts: &HashMap<K, Spent>, key: &K, allowance: Allowance, now: Instant) -> f64 {
    counts.get(key).map_or(0.0, |spent| allowance.left(*spent, now))
}

fn remember<K: Hash + Eq>(counts: &mut HashMap<K, Spent>, key: K, spent: Spent, allowance: Allowance) {
    if counts.len() >= REMEMBERED && !counts.contains_key(&key) {
        let now = spent.at;
        counts.retain(|_, old| allowance.left(*old, now) >= 1.0);
        if counts.len() >= REMEMBERED {
            // All remembered ones have failed.
            let mut rest: Vec<_> = counts.values().map(|old| allowance.left(*old, now)).collect();
            let middle = rest.len() / 2;
            let (_, median, _) = rest.select_nth_unstable_by(middle, f64::total_cmp);
            let median = *median;
            counts.retain(|_, old| allowance.left(*old, now) > median);
        }
    }
    counts.insert(key, spent);
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    fn at(last: u8) -> Origin {
        Origin::of(Some(IpAddr::from([192, 0, 2, last])))
    }

    #[test]
    fn after_some_failures_each_takes_time() {
        let (throttle, now) = (Throttle::default(), Instant::now());
        for _ in 0..5 {
            assert_eq!(throttle.attempt(at(1), "alice", now), Ok(()));
        }
        assert_eq!(throttle.attempt(at(1), "alice", now), Err(USER.pause));
        assert_eq!(throttle.attempt(at(1), "bob", now), Ok(()));
        assert_eq!(throttle.attempt(at(2), "alice", now), Ok(()));
        assert_eq!(throttle.attempt(at(1), "alice", now + USER.pause), Ok(()));
        assert!(throttle.attempt(at(1), "alice", now + USER.pause).is_err());
    }

    #[test]
    fn a_success_does_not_count() {
        let (throttle, now) = (Throttle::default(), Instant::now());
        for _ in 0..1000 {
            assert_eq!(throttle.attempt(Origin::of(None), "alice", now), Ok(()));
            throttle.succeeded(Origin::of(None), "alice");
        }
    }

    #[test]
    fn many_names_from_one_address_are_one_guesser() {
        let (throttle, now) = (Throttle::default(), Instant::now());
        let allowed = (0..200).filter(|user| throttle.attempt(at(1), &user.to_string(), now).is_ok()).count();
        assert_eq!(allowed, 50);
    }

    #[test]
    fn one_ipv6_network_is_one_address() {
        let (throttle, now) = (Throttle::default(), Instant::now());
        let address = |last: u16| Origin::of(Some(IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, last])));
        let allowed = (0..20).filter(|last| throttle.attempt(address(*last), "alice", now).is_ok()).count();
        assert_eq!(allowed, 5);
    }

    #[test]
    fn memory_is_bounded() {
        let (throttle, now) = (Throttle::default(), Instant::now());
        for client in 0..3 * REMEMBERED as u32 {
            let _ = throttle.attempt(Origin::of(Some(IpAddr::from((client + 1).to_be_bytes()))), "alice", now);
        }
        let counts = throttle.counts();
        assert!(counts.addresses.len() <= REMEMBERED && counts.users.len() <= REMEMBERED);
    }
}
