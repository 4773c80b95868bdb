//! Queries that functions run while they are called: who runs them here counts, waits or fails.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use colonnade_udf::{
    CallError, ColumnType, Function, FunctionColumn, Loopback, LoopbackConnection, LoopbackError, LoopbackReply,
    LoopbackRows, NodeSize, ProcessLimits, SessionProcesses, StopFlag,
};
use support::{call, function, limits, nodes, pool, pool_with};

const FAR_TOO_LONG: Duration = Duration::from_secs(20);

/// Runs `rows N B`: N rows in each of B batches, with their numbers and texts; `wait`: until it is interrupted; `fail`.
#[derive(Default)]
struct Numbers {
    connections: AtomicUsize,
    /// Set with each interrupt, and what ends the calls too.
    stop: StopFlag,
}

impl Loopback for Numbers {
    fn connect(&self) -> Result<Arc<dyn LoopbackConnection>, LoopbackError> {
        self.connections.fetch_add(1, Ordering::SeqCst);
        Ok(Arc::new(Connection { stop: self.stop.clone(), ..Connection::default() }))
    }
}

#[derive(Default)]
struct Connection {
    /// Rows of a batch, and the batches that are left.
    running: Mutex<Option<(usize, usize)>>,
    is_interrupted: AtomicBool,
    interrupted: Condvar,
    stop: StopFlag,
}

impl LoopbackConnection for Connection {
    fn query(&self, sql: &str) -> Result<(), LoopbackError> {
        let words: Vec<_> = sql.split(' ').collect();
        let mut running = self.running.lock().unwrap();
        match words.as_slice() {
            ["rows", rows, batches] => *running = Some((rows.parse().unwrap(), batches.parse().unwrap())),
            ["wait"] => {
                let is_running = |_: &mut _| !self.is_interrupted.load(Ordering::SeqCst);
                drop(self.interrupted.wait_while(running, is_running).unwrap());
                return Err(LoopbackError::new("57014", "interrupted"));
            }
            _ => return Err(LoopbackError { detail: "why".to_owned(), ..LoopbackError::new("42P01", sql) }),
        }
        Ok(())
    }

    fn next(&self, reply: LoopbackReply<'_>) -> Result<LoopbackRows, LoopbackError> {
        let mut running = self.running.lock().unwrap();
        let none = || LoopbackError::new("55000", "no rows");
        let (rows, batches) = running.as_mut().filter(|(_, batches)| *batches > 0).ok_or_else(none)?;
        *batches -= 1;
        let columns = [("n", ColumnType::Int64), ("t", ColumnType::Text)];
        let columns = columns.map(|(name, column_type)| FunctionColumn {
            name: name.to_owned(),
            type_name: name.to_owned(),
            column_type,
            is_scalar: false,
        });
        let mut reply = reply.begin(&columns, *rows)?;
        let node = reply.node(NodeSize { length: *rows, has_validity: true, values: *rows * 8, heap: 0 })?;
        let numbers: Vec<u64> = (0..*rows as u64).collect();
        node.values.write_words(&numbers);
        // Each second row is NULL.
        node.validity.fill(0b0101_0101);
        let offsets: Vec<u64> = (0..=*rows as u64).collect();
        let node =
            reply.node(NodeSize { length: *rows, values: offsets.len() * 8, heap: *rows, has_validity: false })?;
        node.values.write_words(&offsets);
        node.heap.fill(b'x');
        Ok(reply.finish(*batches > 0)?)
    }

    fn interrupt(&self) {
        self.stop.stop();
        self.is_interrupted.store(true, Ordering::SeqCst);
        // Under the lock, so that the waiting thread has looked or is waiting.
        drop(self.running.lock().unwrap());
        self.interrupted.notify_all();
    }
}

fn body(source: &str) -> Arc<Function> {
    function(&[ColumnType::Int64], ColumnType::Int64, source)
}

/// Calls a function with one row; its result.
fn run(session: &SessionProcesses, numbers: &Arc<Numbers>, function: &Arc<Function>) -> Result<i64, CallError> {
    let loopback: Arc<dyn Loopback> = Arc::<Numbers>::clone(numbers);
    numbers.stop.reset();
    let mut caller = session.caller().with_loopback(Some(loopback), numbers.stop.clone());
    let output = call(&mut caller, function, 1, &[vec![support::numbers([7_i64.to_le_bytes()])]], None)?;
    let result = nodes(&output.columns[0], 1);
    Ok(i64::from_le_bytes(result[0].values[..8].try_into().unwrap()))
}

#[test]
fn rows_of_all_batches_are_joined() {
    let (session, numbers) = (pool().session(), Arc::default());
    let source = "r = _conn.execute('rows 1000 3')\n\
                  assert list(r) == ['n', 't'] and r['t'][2999] == 'x' and r['n'].mask.sum() == 1500\n\
                  return int(r['n'].sum()) + len(_conn.execute('rows 0 1')['n'])";
    assert_eq!(run(&session, &numbers, &body(source)).unwrap(), 3 * 249_500);
    assert_eq!(numbers.connections.load(Ordering::SeqCst), 1);
    assert_eq!(run(&session, &numbers, &body("return a")).unwrap(), 7);
    assert_eq!(numbers.connections.load(Ordering::SeqCst), 1, "a call without queries has taken a connection");
    // More than the ring and the function process may have.
    let error = run(&session, &numbers, &body("return len(_conn.execute('rows 1000000 1000')['n'])")).unwrap_err();
    assert_eq!(error.sqlstate(), "53200", "{error:?}");
    let error = run(&session, &numbers, &body("return len(_conn.execute('rows 100000000 1')['n'])")).unwrap_err();
    assert_eq!(error.sqlstate(), "53200", "{error:?}");
    assert_eq!(run(&session, &numbers, &body("return len(_conn.execute('rows 9 1')['n'])")).unwrap(), 9);
}

#[test]
fn errors_have_the_querys_code_and_the_functions_place() {
    let (session, numbers) = (pool().session(), Arc::default());
    let error = run(&session, &numbers, &body("x = 1\n_conn.execute('nonsense')\nreturn a")).unwrap_err();
    assert!(matches!(error, CallError::Query { .. }), "{error:?}");
    let record = error.record().unwrap();
    assert_eq!((error.sqlstate(), record.message.as_str(), record.detail.as_str()), ("42P01", "nonsense", "why"));
    assert_eq!(record.context, "SQL statement \"nonsense\"\nfunction \"main.f\", line 2");
    assert_eq!(record.line, 2);
    let caught = "try:\n  _conn.execute('nonsense')\nexcept _conn.Error as e:\n  return len(e.sqlstate)";
    assert_eq!(run(&session, &numbers, &body(caught)).unwrap(), 5);
    // Without anybody who runs queries.
    let mut caller = session.caller();
    let argument = vec![support::numbers([7_i64.to_le_bytes()])];
    let error = call(&mut caller, &body("return _conn.execute('rows 1 1')['n']"), 1, &[argument], None);
    assert_eq!(error.map(drop).unwrap_err().sqlstate(), "0A000");
}

#[test]
fn a_query_ends_when_its_call_has_to() {
    let pool = pool_with(ProcessLimits { call: Some(Duration::from_millis(300)), ..limits() });
    let (session, numbers) = (pool.session(), Arc::<Numbers>::default());
    let begun = Instant::now();
    let error = run(&session, &numbers, &body("_conn.execute('wait')")).unwrap_err();
    assert!(matches!(error, CallError::Timeout { .. }), "{error:?}");
    let error = run(&session, &numbers, &body("while True: _conn.execute('rows 1 1')")).unwrap_err();
    assert!(matches!(error, CallError::Timeout { .. }), "{error:?}");
    let pool = support::pool();
    let session = pool.session();
    let (other, function) = (session.clone(), body("_conn.execute('wait')"));
    let waiting = thread::spawn(move || run(&other, &numbers, &function));
    while session.process_ids().is_empty() {
        thread::yield_now();
    }
    session.cancel();
    let error = waiting.join().unwrap().unwrap_err();
    assert!(matches!(error, CallError::Cancelled { .. }), "{error:?}");
    assert!(begun.elapsed() < FAR_TOO_LONG, "{:?}", begun.elapsed());
}

#[test]
fn a_query_ends_with_its_process() {
    let (session, numbers) = (pool().session(), Arc::default());
    let source = "import os, threading\nthreading.Timer(0.2, os._exit, (3,)).start()\n_conn.execute('wait')";
    let error = run(&session, &numbers, &body(source)).unwrap_err();
    assert!(matches!(error, CallError::Exit { status: 3, .. }), "{error:?}");
    assert_eq!(run(&session, &numbers, &body("return a")).unwrap(), 7);
}

#[test]
fn hostile_requests_end_the_process_only() {
    let (session, numbers) = (pool().session(), Arc::default());
    for answer in [
        "4, record=2**63, wanted=2**20",
        "4, record=2**21, wanted=2**20",
        "4, record=10, wanted=0",
        "4, record=10, wanted=2**20 + 1",
        "4, record=10, wanted=2**64 - 8",
        "4, record=10, wanted=2**50",
        "5, wanted=8",
        "5, wanted=2**64 - 64",
        "6",
        "0",
    ] {
        let error =
            run(&session, &numbers, &body(&format!("_conn._ring.answer({answer})\n_conn._ring.wait()"))).unwrap_err();
        assert!(matches!(error, CallError::Broken { .. }), "{answer}: {error:?}");
    }
    // Requests in a wrong order, whose replies nobody waits for. The call may end in any way, at the latest by its
    // limit.
    let limited = pool_with(ProcessLimits { call: Some(support::SHORT), ..limits() }).session();
    let requests = "ring = _conn._ring\nring.number += 1\nring.answer(5, wanted=2**20)\nring.number += 1";
    let _ = run(&limited, &numbers, &body(&format!("{requests}\nring.answer(4, record=4, wanted=2**20)\nreturn a")));
    let source = "import os\nring = _conn._ring\nring.memory[ring.at:ring.at + 4] = b'\\xff\\xfe\\x00x'\n\
                  ring.answer(4, record=4, wanted=ring.at)\nkind, *_ = ring.wait()\nreturn kind";
    assert_eq!(run(&session, &numbers, &body(source)).unwrap(), 6);
    assert_eq!(run(&session, &numbers, &body("return len(_conn.execute('rows 9 1')['n'])")).unwrap(), 9);
}
