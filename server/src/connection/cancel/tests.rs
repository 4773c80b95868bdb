use super::*;
use crate::connection::registry::{Arrival, Registry, Ticket};
use crate::engine::Role;
use crate::error::Failure;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Default)]
struct Count(AtomicUsize);

impl Interrupt for Count {
    fn interrupt(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn ticket(registry: &Arc<Registry>) -> (Ticket, Arc<Count>) {
    limited(registry, &Limits::default(), None).unwrap()
}

fn limited(registry: &Arc<Registry>, limits: &Limits, own: Option<usize>) -> Result<(Ticket, Arc<Count>), Failure> {
    let count = Arc::new(Count::default());
    let (socket, _) = UnixStream::pair().unwrap();
    let who = Who { name: "me".to_owned(), role: Role::ReadWrite, connections: own };
    let socket = Arc::new(Socket::from(socket));
    let (limits, spools) = (Arc::new(limits.clone()), Spools::new(limits));
    let arrival = Arrival { who, interrupt: count.clone(), socket, secret_bytes: 4 };
    Ok((registry.register(arrival, &limits, &spools, &Arc::default())?, count))
}

#[test]
fn there_are_no_more_sessions_than_there_may_be() {
    let registry = Arc::new(Registry::default());
    let limits = Limits { connections: 3, user_connections: Some(2), ..Limits::default() };
    let _two = [limited(&registry, &limits, None).unwrap(), limited(&registry, &limits, None).unwrap()];
    let refused = |own| limited(&registry, &limits, own).err().unwrap().to_string();
    assert_eq!(refused(None), "too many connections for role \"me\"");
    let _third = limited(&registry, &limits, Some(3)).unwrap();
    assert_eq!(refused(Some(9)), "sorry, too many clients already");
}

#[test]
fn what_takes_too_long_is_stopped() {
    let registry = Arc::new(Registry::default());
    let second = Duration::from_secs(1);
    let limits = Limits {
        statement: Some(second),
        idle: Some(2 * second),
        idle_in_transaction: Some(second / 2),
        ..Limits::default()
    };
    let (ticket, count) = limited(&registry, &limits, None).unwrap();
    let (control, now) = (&ticket.control, Instant::now());
    let running = control.start();
    assert!(control.expire(now + second / 2).is_none() && control.check().is_ok());
    assert!(control.expire(now + 2 * second).is_some());
    assert_eq!(count.0.load(Ordering::SeqCst), 1);
    assert!(matches!(control.check(), Err(Failure::Limit(LimitError::Statement))));
    drop(running);
    drop(control.start());
    assert!(control.check().is_ok(), "the next statement inherits it");
    control.wait(true);
    assert!(control.expire(Instant::now() + second).is_none());
    assert!(matches!(control.check(), Err(Failure::Limit(LimitError::IdleInTransaction))));
    // The watcher sees the reading end, and takes it for the client's doing.
    assert!(control.stop(Reason::Gone).is_none());
    assert!(matches!(control.check(), Err(Failure::Limit(LimitError::IdleInTransaction))));
}

#[test]
fn a_cancel_request_does_not_end_the_limits_of_time() {
    let registry = Arc::new(Registry::default());
    let second = Duration::from_secs(1);
    let limits = Limits { statement: Some(second), idle: Some(second), ..Limits::default() };
    let (ticket, count) = limited(&registry, &limits, None).unwrap();
    let control = &ticket.control;
    let running = control.start();
    assert!(control.stop(Reason::Canceled).is_some());
    assert!(control.expire(Instant::now()).is_none());
    // The engine does not listen, or the client does not read: the statement is stopped again when its time is over.
    assert!(control.expire(Instant::now() + 2 * second).is_some());
    assert_eq!(count.0.load(Ordering::SeqCst), 2);
    assert!(matches!(control.check(), Err(Failure::Limit(LimitError::Statement))));
    assert!(control.expire(Instant::now() + 2 * second).is_none(), "once is enough");
    drop(running);
    // Nor does one that has ended its statement keep the session for ever.
    let running = control.start();
    assert!(control.stop(Reason::Canceled).is_some());
    drop(running);
    assert!(control.expire(Instant::now() + 2 * second).is_none());
    assert!(matches!(control.check(), Err(Failure::Limit(LimitError::Idle))));
}

#[test]
fn a_statement_that_is_canceled_again_has_no_other_thread_that_waits() {
    let registry = Arc::new(Registry::default());
    let (ticket, count) = ticket(&registry);
    let _running = ticket.control.start();
    assert!(ticket.control.stop(Reason::Canceled).is_some());
    assert!(ticket.control.stop(Reason::Canceled).is_none());
    assert_eq!(count.0.load(Ordering::SeqCst), 2, "it is told again");
    assert!(ticket.control.stop(Reason::Shutdown).is_some());
}

#[test]
fn who_is_ended_and_does_not_read_is_cut_off() {
    let registry = Arc::new(Registry::default());
    let (socket, mut peer) = UnixStream::pair().unwrap();
    peer.set_nonblocking(true).unwrap();
    let limits = Arc::new(Limits { idle: Some(Duration::from_secs(1)), ..Limits::default() });
    let who = Who { name: "me".to_owned(), role: Role::ReadWrite, connections: None };
    let (spools, interrupt) = (Spools::new(&limits), Arc::new(Count::default()));
    let socket = Arc::new(Socket::from(socket));
    let arrival = Arrival { who, interrupt, socket, secret_bytes: 4 };
    let ticket = registry.register(arrival, &limits, &spools, &Arc::default()).unwrap();
    let now = Instant::now();
    assert!(ticket.control.expire(now + Duration::from_secs(2)).is_none());
    let mut read = || std::io::Read::read(&mut peer, &mut [0]);
    ticket.control.cut_off(now + Duration::from_secs(2));
    assert_eq!(read().unwrap_err().kind(), io::ErrorKind::WouldBlock, "it may still be told why");
    ticket.control.cut_off(now + Duration::from_secs(2) + CUT_OFF);
    assert_eq!(read().unwrap(), 0);
}

#[test]
fn only_the_right_secret_finds_a_session() {
    let registry = Arc::new(Registry::default());
    let (ticket, _) = ticket(&registry);
    assert!(registry.find(ticket.process, &ticket.secret).is_some());
    assert!(registry.find(ticket.process, &[&ticket.secret[..], &[0]].concat()).is_none());
    assert!(registry.find(ticket.process, &ticket.secret[1..]).is_none());
    assert!(registry.find(ticket.process, &[]).is_none());
    assert!(registry.find(ticket.process + 1, &ticket.secret).is_none());
    let (process, secret) = (ticket.process, ticket.secret.clone());
    drop(ticket);
    assert!(registry.find(process, &secret).is_none());
    assert_eq!(registry.len(), 0);
}

#[test]
fn a_cancel_request_stops_what_runs_and_nothing_after() {
    let registry = Arc::new(Registry::default());
    let (ticket, count) = ticket(&registry);
    assert!(ticket.control.stop(Reason::Canceled).is_none());
    assert_eq!(count.0.load(Ordering::SeqCst), 0);

    let running = ticket.control.start();
    let stopping = ticket.control.stop(Reason::Canceled).unwrap();
    assert_eq!(count.0.load(Ordering::SeqCst), 1);
    assert!(matches!(ticket.control.check(), Err(Failure::Canceled)));
    drop(running);
    let next = ticket.control.start();
    stopping.wait(None);
    assert_eq!(count.0.load(Ordering::SeqCst), 1, "the next statement was interrupted");
    assert!(ticket.control.check().is_ok());
    drop(next);
}

#[test]
fn an_engine_that_does_not_listen_is_told_again() {
    let registry = Arc::new(Registry::default());
    let (ticket, count) = ticket(&registry);
    let running = ticket.control.start();
    let control = Arc::clone(&ticket.control);
    let stopper = std::thread::spawn(move || control.stop(Reason::Canceled).unwrap().wait(None));
    while count.0.load(Ordering::SeqCst) < 3 {
        std::thread::yield_now();
    }
    drop(running);
    stopper.join().unwrap();
}

#[test]
fn a_client_that_is_gone_stays_gone() {
    let registry = Arc::new(Registry::default());
    let (ticket, _) = ticket(&registry);
    assert!(ticket.control.stop(Reason::Gone).is_none());
    drop(ticket.control.start());
    assert!(matches!(ticket.control.check(), Err(Failure::Disconnected(_))));
}
