use super::*;
use crate::connection::registry::{NewSession, Registration, Registry};
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

fn registration(registry: &Arc<Registry>) -> (Registration, Arc<Count>) {
    limited(registry, &Limits::default(), None).unwrap()
}

fn limited(
    registry: &Arc<Registry>,
    limits: &Limits,
    own: Option<usize>,
) -> Result<(Registration, Arc<Count>), Failure> {
    connected(UnixStream::pair().unwrap().0, registry, limits, own)
}

fn connected(
    socket: UnixStream,
    registry: &Arc<Registry>,
    limits: &Limits,
    own: Option<usize>,
) -> Result<(Registration, Arc<Count>), Failure> {
    let count = Arc::new(Count::default());
    let user =
        SessionUser { name: "me".to_owned(), role: Role::ReadWrite, connections: own, functions: false, entry: 0 };
    let socket = Arc::new(Socket::from(socket));
    let (limits, spools) = (Arc::new(limits.clone()), Spools::new(limits));
    let new = NewSession { user, interrupt: count.clone(), socket, secret_bytes: 4 };
    Ok((registry.register(new, &limits, &spools, &Arc::default())?, count))
}

#[test]
fn sessions_are_limited_in_total_and_by_user() {
    let registry = Arc::new(Registry::default());
    let limits = Limits { connections: 3, user_connections: Some(2), ..Limits::default() };
    let _two = [limited(&registry, &limits, None).unwrap(), limited(&registry, &limits, None).unwrap()];
    let refused = |own| limited(&registry, &limits, own).err().unwrap().to_string();
    assert_eq!(refused(None), "too many connections for role \"me\"");
    let _third = limited(&registry, &limits, Some(3)).unwrap();
    assert_eq!(refused(Some(9)), "sorry, too many clients already");
}

#[test]
fn time_limits_are_enforced_in_each_state() {
    let registry = Arc::new(Registry::default());
    let second = Duration::from_secs(1);
    let limits = Limits {
        statement: Some(second),
        idle: Some(2 * second),
        idle_in_transaction: Some(second / 2),
        ..Limits::default()
    };
    let (registration, count) = limited(&registry, &limits, None).unwrap();
    let (control, now) = (&registration.control, Instant::now());
    let running = control.start();
    assert!(control.stop_if_overdue(now + second / 2).is_none() && control.check().is_ok());
    assert!(control.stop_if_overdue(now + 2 * second).is_some());
    assert_eq!(count.0.load(Ordering::SeqCst), 1);
    assert!(matches!(control.check(), Err(Failure::Limit(LimitError::Statement))));
    drop(running);
    drop(control.start());
    assert!(control.check().is_ok(), "the next statement is also stopped");
    control.note_waiting(true);
    assert!(control.stop_if_overdue(Instant::now() + second).is_none());
    assert!(matches!(control.check(), Err(Failure::Limit(LimitError::IdleInTransaction))));
    // The watcher sees the shutdown of the socket and takes it for a disconnect.
    assert!(control.stop(StopReason::Gone).is_none());
    assert!(matches!(control.check(), Err(Failure::Limit(LimitError::IdleInTransaction))));
}

#[test]
fn time_limits_hold_after_a_cancel_request() {
    let registry = Arc::new(Registry::default());
    let second = Duration::from_secs(1);
    let limits = Limits { statement: Some(second), idle: Some(second), ..Limits::default() };
    let (registration, count) = limited(&registry, &limits, None).unwrap();
    let control = &registration.control;
    let running = control.start();
    assert!(control.stop(StopReason::Canceled).is_some());
    assert!(control.stop_if_overdue(Instant::now()).is_none());
    // The engine ignores the interrupt, or the client does not read. After the time limit the statement is stopped
    // again.
    assert!(control.stop_if_overdue(Instant::now() + 2 * second).is_some());
    assert_eq!(count.0.load(Ordering::SeqCst), 2);
    assert!(matches!(control.check(), Err(Failure::Limit(LimitError::Statement))));
    assert!(control.stop_if_overdue(Instant::now() + 2 * second).is_none(), "stopped twice");
    drop(running);
    // The idle limit holds after a cancel request that has ended its statement.
    let running = control.start();
    assert!(control.stop(StopReason::Canceled).is_some());
    drop(running);
    assert!(control.stop_if_overdue(Instant::now() + 2 * second).is_none());
    assert!(matches!(control.check(), Err(Failure::Limit(LimitError::Idle))));
}

#[test]
fn only_one_thread_waits_for_a_statement_that_is_canceled_twice() {
    let registry = Arc::new(Registry::default());
    let (registration, count) = registration(&registry);
    let _running = registration.control.start();
    assert!(registration.control.stop(StopReason::Canceled).is_some());
    assert!(registration.control.stop(StopReason::Canceled).is_none());
    assert_eq!(count.0.load(Ordering::SeqCst), 2, "the interrupt was not repeated");
    assert!(registration.control.stop(StopReason::Shutdown).is_some());
    assert!(registration.control.stop(StopReason::Canceled).is_none(), "it waits for a later reason");
    drop(registration.control.start());
    let _running = registration.control.start();
    // The statement has noted a reason itself, and goes on.
    registration.control.stop_from_within(StopReason::Canceled);
    assert!(registration.control.stop(StopReason::Canceled).is_some());
}

#[test]
fn many_signals_interrupt_a_statement_on_one_thread() {
    let registry = Arc::new(Registry::default());
    let (registration, count) = registration(&registry);
    let control = &registration.control;
    let running = control.start();
    stop_in_background(control, StopReason::Terminated).unwrap();
    // The thread has a reference.
    let one = Arc::strong_count(control);
    for _ in 0..100 {
        stop_in_background(control, StopReason::Canceled).unwrap();
        stop_in_background(control, StopReason::Terminated).unwrap();
    }
    assert_eq!(Arc::strong_count(control), one);
    assert!(matches!(control.check(), Err(Failure::Terminated)));
    while count.0.load(Ordering::SeqCst) < 2 {
        thread::yield_now();
    }
    drop(running);
}

#[test]
fn a_signal_while_another_is_sent_reaches_only_its_statement() {
    let registry = Arc::new(Registry::default());
    let (registration, count) = registration(&registry);
    let control = &registration.control;
    let first = control.start();
    let statement = control.state().started;
    drop(first);
    let _next = control.start();
    assert!(control.interrupt(statement).is_none());
    assert_eq!(count.0.load(Ordering::SeqCst), 0);
}

#[test]
fn a_terminated_session_whose_client_does_not_read_is_closed() {
    let registry = Arc::new(Registry::default());
    let (socket, mut peer) = UnixStream::pair().unwrap();
    peer.set_nonblocking(true).unwrap();
    let (registration, _) = connected(socket, &registry, &Limits::default(), None).unwrap();
    let control = &registration.control;
    let mut read = || std::io::Read::read(&mut peer, &mut [0]).map_err(|error| error.kind());
    let later = || Instant::now() + CLIENT_READ_TIMEOUT;
    control.close_unread(later());
    assert!(control.stop_if_idle(StopReason::Terminated));
    control.close_unread(Instant::now());
    let running = control.start();
    control.close_unread(later());
    drop(running);
    assert_eq!(read(), Err(io::ErrorKind::WouldBlock), "closed before its time");
    control.close_unread(later());
    assert_eq!(read(), Ok(0));
}

#[test]
fn an_ended_session_whose_client_does_not_read_is_closed() {
    let registry = Arc::new(Registry::default());
    let (socket, mut peer) = UnixStream::pair().unwrap();
    peer.set_nonblocking(true).unwrap();
    let limits = Limits { idle: Some(Duration::from_secs(1)), ..Limits::default() };
    let (registration, _) = connected(socket, &registry, &limits, None).unwrap();
    let now = Instant::now();
    assert!(registration.control.stop_if_overdue(now + Duration::from_secs(2)).is_none());
    let mut read = || std::io::Read::read(&mut peer, &mut [0]);
    registration.control.close_unread(now + Duration::from_secs(2));
    assert_eq!(read().unwrap_err().kind(), io::ErrorKind::WouldBlock, "closed before the client could read the reason");
    registration.control.close_unread(now + Duration::from_secs(2) + CLIENT_READ_TIMEOUT);
    assert_eq!(read().unwrap(), 0);
}

#[test]
fn a_statement_that_ends_late_keeps_its_client_unless_it_waits_for_it() {
    let registry = Arc::new(Registry::default());
    let (count, (socket, mut peer)) = (Arc::new(Count::default()), UnixStream::pair().unwrap());
    peer.set_nonblocking(true).unwrap();
    let limits = Arc::new(Limits { statement: Some(Duration::from_millis(1)), ..Limits::default() });
    let user =
        SessionUser { name: "me".to_owned(), role: Role::ReadWrite, connections: None, functions: false, entry: 0 };
    let (spools, socket) = (Spools::new(&limits), Arc::new(Socket::from(socket)));
    let new = NewSession { user, interrupt: count.clone(), socket: socket.clone(), secret_bytes: 4 };
    let registration = registry.register(new, &limits, &spools, &Arc::default()).unwrap();
    let later = Instant::now() + Duration::from_secs(2);
    let mut read = || std::io::Read::read(&mut peer, &mut [0]);
    for waits_for_client in [false, true] {
        let running = registration.control.start();
        thread::scope(|scope| {
            let control = &registration.control;
            let waiter = scope.spawn(move || control.stop_if_overdue(later).unwrap().wait(Some(Duration::ZERO)));
            if waits_for_client {
                assert_eq!(socket.read(&mut [0], None).unwrap(), 0, "the client was not disconnected");
            } else {
                // Each pause of the waiting thread ends with an interrupt.
                let before = count.0.load(Ordering::SeqCst);
                while count.0.load(Ordering::SeqCst) < before + 4 {
                    thread::yield_now();
                }
                assert_eq!(read().unwrap_err().kind(), io::ErrorKind::WouldBlock, "the client was disconnected");
            }
            drop(running);
            waiter.join().unwrap();
        });
    }
    assert_eq!(read().unwrap(), 0);
}

#[test]
fn only_the_right_secret_finds_a_session() {
    let registry = Arc::new(Registry::default());
    let (registration, _) = registration(&registry);
    assert!(registry.find(registration.process, &registration.secret).is_some());
    assert!(registry.find(registration.process, &[&registration.secret[..], &[0]].concat()).is_none());
    assert!(registry.find(registration.process, &registration.secret[1..]).is_none());
    assert!(registry.find(registration.process, &[]).is_none());
    assert!(registry.find(registration.process + 1, &registration.secret).is_none());
    let (process, secret) = (registration.process, registration.secret.clone());
    drop(registration);
    assert!(registry.find(process, &secret).is_none());
    assert_eq!(registry.len(), 0);
}

#[test]
fn a_cancel_request_stops_only_the_running_statement() {
    let registry = Arc::new(Registry::default());
    let (registration, count) = registration(&registry);
    assert!(registration.control.stop(StopReason::Canceled).is_none());
    assert_eq!(count.0.load(Ordering::SeqCst), 0);

    let running = registration.control.start();
    let stopping = registration.control.stop(StopReason::Canceled).unwrap();
    assert_eq!(count.0.load(Ordering::SeqCst), 1);
    assert!(matches!(registration.control.check(), Err(Failure::Canceled)));
    drop(running);
    let next = registration.control.start();
    stopping.wait(None);
    assert_eq!(count.0.load(Ordering::SeqCst), 1, "the next statement was interrupted");
    assert!(registration.control.check().is_ok());
    drop(next);
}

#[test]
fn the_interrupt_is_repeated_until_the_statement_ends() {
    let registry = Arc::new(Registry::default());
    let (registration, count) = registration(&registry);
    let running = registration.control.start();
    let control = Arc::clone(&registration.control);
    let stopper = std::thread::spawn(move || control.stop(StopReason::Canceled).unwrap().wait(None));
    while count.0.load(Ordering::SeqCst) < 3 {
        std::thread::yield_now();
    }
    drop(running);
    stopper.join().unwrap();
}

#[test]
fn a_disconnect_also_ends_later_statements() {
    let registry = Arc::new(Registry::default());
    let (registration, _) = registration(&registry);
    assert!(registration.control.stop(StopReason::Gone).is_none());
    drop(registration.control.start());
    assert!(matches!(registration.control.check(), Err(Failure::Disconnected(_))));
}

#[test]
fn a_session_that_wakes_from_its_read_knows_why_it_ends() {
    for _ in 0..100 {
        let registry = Arc::new(Registry::default());
        let (socket, _peer) = UnixStream::pair().unwrap();
        let (registration, _) = connected(socket, &registry, &Limits::default(), None).unwrap();
        let control = &registration.control;
        thread::scope(|scope| {
            scope.spawn(|| {
                assert_eq!(control.socket.read(&mut [0], None).unwrap(), 0);
                assert!(matches!(control.check(), Err(Failure::Shutdown)), "the client would see no reason");
            });
            registry.end_others(|_| false);
        });
    }
}
