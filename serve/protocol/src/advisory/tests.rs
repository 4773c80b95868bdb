use std::sync::atomic::AtomicBool;
use std::thread;

use super::*;

const KEY: LockKey = LockKey::One(7);

fn sessions<const N: usize>() -> [Arc<LockHolder>; N] {
    let locks = Arc::new(AdvisoryLocks::default());
    std::array::from_fn(|_| locks.holder(|| false))
}

fn waiting(holder: &LockHolder) -> usize {
    holder.locks.state().requests.len()
}

/// Waits until so many requests wait.
fn until_waiting(holder: &LockHolder, count: usize) {
    while waiting(holder) != count {
        thread::yield_now();
    }
}

#[test]
fn a_lock_is_one_sessions_or_shared() {
    let [a, b, c] = sessions();
    assert!(a.try_lock(KEY, LockMode::Exclusive, LockSpan::Session).unwrap());
    assert!(
        !b.try_lock(KEY, LockMode::Exclusive, LockSpan::Session).unwrap()
            && !b.try_lock(KEY, LockMode::Shared, LockSpan::Session).unwrap()
    );
    // The numbers 0 and 7 are another lock.
    assert!(b.try_lock(LockKey::Two(0, 7), LockMode::Exclusive, LockSpan::Session).unwrap());
    assert!(a.unlock(KEY, LockMode::Exclusive) && !a.unlock(KEY, LockMode::Exclusive));
    assert!(
        b.try_lock(KEY, LockMode::Shared, LockSpan::Session).unwrap()
            && c.try_lock(KEY, LockMode::Shared, LockSpan::Session).unwrap()
    );
    assert!(!a.try_lock(KEY, LockMode::Exclusive, LockSpan::Session).unwrap());
    assert!(!b.try_lock(KEY, LockMode::Exclusive, LockSpan::Session).unwrap());
    c.unlock_all();
    assert!(b.try_lock(KEY, LockMode::Exclusive, LockSpan::Session).unwrap());
}

#[test]
fn a_lock_is_given_back_as_often_as_it_was_taken() {
    let [a, b] = sessions();
    for _ in 0..2 {
        assert_eq!(a.lock(KEY, LockMode::Exclusive, LockSpan::Session), Ok(()));
    }
    assert!(a.unlock(KEY, LockMode::Exclusive));
    assert!(!b.try_lock(KEY, LockMode::Exclusive, LockSpan::Session).unwrap());
    assert!(a.unlock(KEY, LockMode::Exclusive));
    assert!(b.try_lock(KEY, LockMode::Exclusive, LockSpan::Session).unwrap());
}

#[test]
fn a_transactions_lock_ends_with_it_and_not_before() {
    let [a, b] = sessions();
    assert!(a.try_lock(KEY, LockMode::Exclusive, LockSpan::Transaction).unwrap());
    assert!(!a.unlock(KEY, LockMode::Exclusive));
    a.unlock_all();
    assert!(!b.try_lock(KEY, LockMode::Exclusive, LockSpan::Session).unwrap());
    a.end_transaction();
    assert!(b.try_lock(KEY, LockMode::Exclusive, LockSpan::Session).unwrap());
    b.end_transaction();
    assert!(!a.try_lock(KEY, LockMode::Shared, LockSpan::Session).unwrap());
}

#[test]
fn locks_end_with_the_session() {
    let [a, b] = sessions();
    assert!(a.try_lock(KEY, LockMode::Exclusive, LockSpan::Session).unwrap());
    a.end();
    assert!(b.try_lock(KEY, LockMode::Exclusive, LockSpan::Session).unwrap());
    drop(b);
    assert!(a.try_lock(KEY, LockMode::Exclusive, LockSpan::Session).unwrap());
}

#[test]
fn requests_are_served_in_their_order() {
    let [a, b, c, d] = sessions();
    assert!(a.try_lock(KEY, LockMode::Shared, LockSpan::Session).unwrap());
    let writer = thread::spawn(move || {
        b.lock(KEY, LockMode::Exclusive, LockSpan::Session).unwrap();
        assert!(b.unlock(KEY, LockMode::Exclusive));
    });
    until_waiting(&a, 1);
    // Who shares the lock goes on; others come after the one that waits.
    assert!(a.try_lock(KEY, LockMode::Shared, LockSpan::Session).unwrap());
    assert!(!c.try_lock(KEY, LockMode::Shared, LockSpan::Session).unwrap());
    let readers = [c, d].map(|reader| thread::spawn(move || reader.lock(KEY, LockMode::Shared, LockSpan::Session)));
    until_waiting(&a, 3);
    a.unlock_all();
    writer.join().unwrap();
    for reader in readers {
        assert_eq!(reader.join().unwrap(), Ok(()));
    }
    assert_eq!(waiting(&a), 0);
}

#[test]
fn the_last_of_those_that_wait_for_each_other_is_refused() {
    let [a, b, c] = sessions();
    let keys = [LockKey::One(1), LockKey::One(2), LockKey::One(3)];
    for (session, key) in [&a, &b, &c].into_iter().zip(keys) {
        assert!(session.try_lock(key, LockMode::Exclusive, LockSpan::Session).unwrap());
    }
    let waiters = [(a, keys[1]), (b, keys[2])].map(|(session, key)| {
        thread::spawn(move || {
            session.lock(key, LockMode::Exclusive, LockSpan::Session).unwrap();
            session.end();
        })
    });
    until_waiting(&c, 2);
    assert_eq!(c.lock(keys[0], LockMode::Exclusive, LockSpan::Session), Err(LockRefusal::Deadlock));
    c.end();
    for waiter in waiters {
        waiter.join().unwrap();
    }
}

#[test]
fn two_that_share_a_lock_and_both_want_it_alone_are_a_deadlock() {
    let [a, b] = sessions();
    assert!(
        a.try_lock(KEY, LockMode::Shared, LockSpan::Session).unwrap()
            && b.try_lock(KEY, LockMode::Shared, LockSpan::Session).unwrap()
    );
    let first = Arc::clone(&a);
    let waiter = thread::spawn(move || first.lock(KEY, LockMode::Exclusive, LockSpan::Session));
    until_waiting(&b, 1);
    assert_eq!(b.lock(KEY, LockMode::Exclusive, LockSpan::Session), Err(LockRefusal::Deadlock));
    b.unlock_all();
    assert_eq!(waiter.join().unwrap(), Ok(()));
}

#[test]
fn a_stopped_statement_waits_no_longer() {
    let locks = Arc::new(AdvisoryLocks::default());
    let stop = Arc::new(AtomicBool::new(false));
    let (a, is_stopped) = (locks.holder(|| false), Arc::clone(&stop));
    let b = locks.holder(move || is_stopped.load(Ordering::SeqCst));
    assert!(a.try_lock(KEY, LockMode::Exclusive, LockSpan::Session).unwrap());
    let waiter = thread::spawn(move || b.lock(KEY, LockMode::Shared, LockSpan::Session));
    until_waiting(&a, 1);
    stop.store(true, Ordering::SeqCst);
    assert_eq!(waiter.join().unwrap(), Err(LockRefusal::Stopped));
    assert_eq!(waiting(&a), 0);
}

#[test]
fn a_session_has_a_bounded_number_of_locks() {
    let [a, b] = sessions();
    for number in 0..MOST as i64 {
        assert_eq!(a.try_lock(LockKey::One(number), LockMode::Exclusive, LockSpan::Session), Ok(true));
    }
    let more = LockKey::One(-1);
    assert_eq!(a.try_lock(more, LockMode::Exclusive, LockSpan::Session), Err(LockRefusal::TooMany));
    assert_eq!(a.lock(more, LockMode::Exclusive, LockSpan::Session), Err(LockRefusal::TooMany));
    // One that it has already is no further one, and others are not concerned.
    assert_eq!(a.lock(LockKey::One(1), LockMode::Exclusive, LockSpan::Session), Ok(()));
    assert_eq!(b.lock(more, LockMode::Exclusive, LockSpan::Session), Ok(()));
    a.unlock_all();
    assert_eq!(a.lock(LockKey::One(1), LockMode::Exclusive, LockSpan::Session), Ok(()));
}
