//! A limit on password guessing: a token bucket of failed logins for each address and user.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::connection::origin::Origin;

/// Attempts for one user from one address.
const USER_ALLOWANCE: Allowance = Allowance { burst: 5.0, interval: Duration::from_secs(5) };
/// Attempts for all users from one address.
const ADDRESS_ALLOWANCE: Allowance = Allowance { burst: 50.0, interval: Duration::from_secs(1) };
/// The maximum number of remembered addresses, and of users. Entries with the fewest failures are removed first.
const MAX_REMEMBERED: usize = 10_000;

#[derive(Clone, Copy)]
struct Allowance {
    /// The number of failed attempts that are allowed at once.
    burst: f64,
    /// The time after which one more attempt is allowed.
    interval: Duration,
}

/// Counts attempts by address, and by address and user. An attempt that succeeds does not count.
#[derive(Default)]
pub(crate) struct Throttle {
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    addresses: HashMap<Origin, Attempts>,
    users: HashMap<(Origin, String), Attempts>,
}

/// The failed attempts at a time, less one for each interval that has passed.
#[derive(Clone, Copy)]
struct Attempts {
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
        let (of_origin, of_user) = (
            counted_attempts(&counts.addresses, &origin, ADDRESS_ALLOWANCE, now),
            counted_attempts(&counts.users, &user, USER_ALLOWANCE, now),
        );
        let wait = ADDRESS_ALLOWANCE.wait(of_origin).max(USER_ALLOWANCE.wait(of_user));
        if wait > Duration::ZERO {
            return Err(wait);
        }
        store(&mut counts.addresses, origin, Attempts { count: of_origin + 1.0, at: now }, ADDRESS_ALLOWANCE);
        store(&mut counts.users, user, Attempts { count: of_user + 1.0, at: now }, USER_ALLOWANCE);
        Ok(())
    }

    /// Removes a successful attempt, and the user's earlier attempts from this address.
    pub fn succeeded(&self, origin: Origin, user: &str) {
        let mut counts = self.counts();
        counts.users.remove(&(origin, user.to_owned()));
        if let Some(attempts) = counts.addresses.get_mut(&origin) {
            attempts.count = (attempts.count - 1.0).max(0.0);
        }
    }
}

impl Allowance {
    fn wait(self, attempts: f64) -> Duration {
        self.interval.mul_f64((attempts + 1.0 - self.burst).max(0.0))
    }

    fn still_counted(self, attempts: Attempts, now: Instant) -> f64 {
        let expired = now.saturating_duration_since(attempts.at).div_duration_f64(self.interval);
        (attempts.count - expired).max(0.0)
    }
}

fn counted_attempts<K: Hash + Eq>(counts: &HashMap<K, Attempts>, key: &K, allowance: Allowance, now: Instant) -> f64 {
    counts.get(key).map_or(0.0, |attempts| allowance.still_counted(*attempts, now))
}

fn store<K: Hash + Eq>(counts: &mut HashMap<K, Attempts>, key: K, attempts: Attempts, allowance: Allowance) {
    if counts.len() >= MAX_REMEMBERED && !counts.contains_key(&key) {
        let now = attempts.at;
        counts.retain(|_, old| allowance.still_counted(*old, now) >= 1.0);
        if counts.len() >= MAX_REMEMBERED {
            // No entry has expired, so the half with the fewest failures is removed.
            let mut rest: Vec<_> = counts.values().map(|old| allowance.still_counted(*old, now)).collect();
            let middle = rest.len() / 2;
            let (_, median, _) = rest.select_nth_unstable_by(middle, f64::total_cmp);
            let median = *median;
            counts.retain(|_, old| allowance.still_counted(*old, now) > median);
        }
    }
    counts.insert(key, attempts);
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    fn at(last: u8) -> Origin {
        Origin::of(Some(IpAddr::from([192, 0, 2, last])))
    }

    #[test]
    fn after_the_burst_each_attempt_waits() {
        let (throttle, now) = (Throttle::default(), Instant::now());
        for _ in 0..5 {
            assert_eq!(throttle.attempt(at(1), "alice", now), Ok(()));
        }
        assert_eq!(throttle.attempt(at(1), "alice", now), Err(USER_ALLOWANCE.interval));
        assert_eq!(throttle.attempt(at(1), "bob", now), Ok(()));
        assert_eq!(throttle.attempt(at(2), "alice", now), Ok(()));
        assert_eq!(throttle.attempt(at(1), "alice", now + USER_ALLOWANCE.interval), Ok(()));
        assert!(throttle.attempt(at(1), "alice", now + USER_ALLOWANCE.interval).is_err());
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
    fn one_address_has_one_limit_for_all_names() {
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
        for client in 0..3 * MAX_REMEMBERED as u32 {
            let _ = throttle.attempt(Origin::of(Some(IpAddr::from((client + 1).to_be_bytes()))), "alice", now);
        }
        let counts = throttle.counts();
        assert!(counts.addresses.len() <= MAX_REMEMBERED && counts.users.len() <= MAX_REMEMBERED);
    }
}
