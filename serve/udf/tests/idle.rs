//! Processes that compute without a call.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod support;

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use colonnade_udf::{ColumnType, Function, FunctionCaller};
use support::{call, function, numbers, pool};

/// Starts a thread that runs `work`, and gives the number of calls of its process.
fn starting(work: &str) -> Arc<Function> {
    let source = format!(
        "import builtins, threading, time\n\
         if not hasattr(builtins, 'calls'):\n    threading.Thread(target=lambda: {work}, daemon=True).start()\n\
         builtins.calls = getattr(builtins, 'calls', 0) + 1\n\
         return numpy.full(len(a), builtins.calls)"
    );
    function(&[ColumnType::Int64], ColumnType::Int64, &source)
}

fn spinning() -> Arc<Function> {
    starting("[None for _ in iter(int, 1)]")
}

fn sleeping() -> Arc<Function> {
    starting("time.sleep(10 ** 6)")
}

fn calls(caller: &mut FunctionCaller, own: &Arc<Function>) -> i64 {
    let output = call(caller, own, 1, &[vec![numbers([0_i64.to_le_bytes()])]], None).unwrap();
    let nodes = support::nodes(&output.columns[0], 1);
    i64::from_le_bytes(nodes[0].values[..8].try_into().unwrap())
}

fn wait_until(condition: impl Fn() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < Duration::from_secs(60), "waited in vain");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn an_idle_process_ends_if_it_computes_and_not_if_it_sleeps() {
    let pool = pool();
    let (computes, sleeps) = (pool.session(), pool.session());
    assert_eq!(calls(&mut sleeps.caller(), &sleeping()), 1);
    assert_eq!(calls(&mut computes.caller(), &spinning()), 1);
    assert_eq!(pool.processes(), 2);
    wait_until(|| computes.process_ids().is_empty() && pool.processes() == 1);
    // The other one has been idle for longer.
    assert_eq!(calls(&mut sleeps.caller(), &sleeping()), 2);
    // The next call has another process.
    assert_eq!(calls(&mut computes.caller(), &spinning()), 1);
}

#[test]
fn a_process_that_waits_for_the_next_rows_of_its_statement_ends_too() {
    let session = pool().session();
    let mut caller = session.caller();
    assert_eq!(calls(&mut caller, &spinning()), 1);
    wait_until(|| session.process_ids().is_empty());
    assert_eq!(calls(&mut caller, &spinning()), 1);
}
