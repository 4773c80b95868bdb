//! The slots of function processes that sessions share.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod support;

use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use colonnade_udf::{CallError, ColumnType, Function, FunctionCaller, ProcessLimits, ProcessPool, SessionProcesses};
use support::{call, function, limits, numbers, pool_with};

fn own() -> Arc<Function> {
    // What a session leaves in its process is seen by its later calls.
    let source = "import builtins\nbuiltins.calls = getattr(builtins, 'calls', 0) + a\nreturn numpy.full(len(a), builtins.calls)";
    function(&[ColumnType::Int64], ColumnType::Int64, source)
}

/// Adds a number in the session's process, and gives the sum there.
fn add(caller: &mut FunctionCaller, number: i64) -> Result<i64, CallError> {
    let output = call(caller, &own(), 1, &[vec![numbers([number.to_le_bytes()])]], None)?;
    let nodes = support::nodes(&output.columns[0], 1);
    Ok(i64::from_le_bytes(nodes[0].values[..8].try_into().unwrap()))
}

fn with_slots(processes: usize) -> ProcessPool {
    pool_with(ProcessLimits { processes, ..limits() })
}

fn sessions(pool: &ProcessPool, count: usize) -> Vec<SessionProcesses> {
    (0..count).map(|_| pool.session()).collect()
}

#[test]
fn the_least_recently_used_idle_process_gives_up_its_slot() {
    let pool = with_slots(2);
    let sessions = sessions(&pool, 3);
    let add_in = |session: usize, number| add(&mut sessions[session].caller(), number).unwrap();
    assert_eq!((add_in(0, 1), add_in(1, 10), add_in(0, 1)), (1, 10, 2));
    let (kept, ended) = (sessions[0].process_ids(), sessions[1].process_ids());
    // A session that has another one's slot has nothing of what that left behind.
    assert_eq!(add_in(2, 100), 100);
    assert_eq!((sessions[0].process_ids(), sessions[1].process_ids()), (kept.clone(), Vec::new()));
    assert!(!sessions[2].process_ids().iter().any(|id| ended.contains(id) || kept.contains(id)));
    assert_eq!(add_in(0, 1), 3);
    // The session whose process has ended begins anew. Now the third one's process has waited the longest.
    assert_eq!((add_in(1, 10), pool.processes()), (10, 2));
    assert_eq!((sessions[0].process_ids(), sessions[2].process_ids()), (kept, Vec::new()));
    assert_eq!((add_in(0, 1), add_in(1, 10)), (4, 20));
}

#[test]
fn a_process_in_use_keeps_its_slot() {
    let pool = with_slots(2);
    let sessions = sessions(&pool, 3);
    let mut first = sessions[0].caller();
    let mut second = sessions[1].caller();
    assert_eq!((add(&mut first, 1).unwrap(), add(&mut second, 1).unwrap()), (1, 1));
    // Both wait for the next rows of their statements.
    let error = add(&mut sessions[2].caller(), 1).unwrap_err();
    assert!(matches!(error, CallError::TooManyProcesses(2)), "{error}");
    assert_eq!((add(&mut first, 1).unwrap(), add(&mut second, 1).unwrap()), (2, 2));
    drop(first);
    assert_eq!(add(&mut sessions[2].caller(), 1).unwrap(), 1);
    assert_eq!(add(&mut second, 1).unwrap(), 3);
}

/// Lets as many threads work as there are slots.
#[derive(Default)]
struct Turns(Mutex<usize>, Condvar);

impl Turns {
    fn run<T>(&self, most: usize, work: impl FnOnce() -> T) -> T {
        let mut working = self.1.wait_while(self.0.lock().unwrap(), |working| *working == most).unwrap();
        *working += 1;
        drop(working);
        let done = work();
        *self.0.lock().unwrap() -= 1;
        self.1.notify_one();
        done
    }
}

#[test]
fn no_call_is_refused_while_there_are_fewer_than_slots() {
    const SLOTS: usize = 3;
    const SESSIONS: usize = 12;
    let pool = with_slots(SLOTS);
    let (turns, begin) = (Turns::default(), Barrier::new(SESSIONS));
    thread::scope(|scope| {
        for number in 0..SESSIONS {
            let (pool, turns, begin) = (&pool, &turns, &begin);
            scope.spawn(move || {
                let mut session = pool.session();
                begin.wait();
                let mut sum = 0;
                for round in 0..40 {
                    let found = turns.run(SLOTS, || {
                        let found = add(&mut session.caller(), number as i64 + 1);
                        // Sessions that end, are cancelled or look after their processes do so between the calls of
                        // others.
                        match round % 8 {
                            3 => session.end_idle(Duration::ZERO),
                            5 => session.cancel(),
                            7 => {
                                session.end();
                                session = pool.session();
                            }
                            _ => {}
                        }
                        session.begin_statement();
                        found
                    });
                    // Either the process is the one that the session had, or it is a new one. Another session's would
                    // have another sum.
                    let found = found.unwrap_or_else(|error| panic!("session {number}, round {round}: {error}"));
                    assert!([sum + number as i64 + 1, number as i64 + 1].contains(&found), "{number}: {found}");
                    sum = found;
                }
            });
        }
    });
    assert_eq!(pool.processes(), 0);
}
