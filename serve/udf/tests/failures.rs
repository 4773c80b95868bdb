//! Errors of functions, and what ends a call from outside: cancellation, limits, the death of processes.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod support;

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use colonnade_udf::{CallError, ColumnType, Function, FunctionCaller, ProcessLimits, ProcessPool};
use support::{Node, SHORT, Templates, call, function, limits, numbers, pool, pool_with};

/// A call that has not ended by then waits for something else than its limit. It takes some tenths of a second, but not
/// on a busy machine.
const FAR_TOO_LONG: Duration = Duration::from_secs(20);

fn one() -> Node {
    numbers([1_i64.to_le_bytes()])
}

fn run(caller: &mut FunctionCaller, own: &Arc<Function>) -> Result<(), CallError> {
    call(caller, own, 1, &[vec![one()]], None).map(drop)
}

fn body(source: &str) -> Arc<Function> {
    function(&[ColumnType::Int64], ColumnType::Int64, source)
}

/// The process of `caller` works, or is replaced by one that does.
fn assert_works(caller: &mut FunctionCaller) {
    run(caller, &body("return a")).unwrap();
}

#[test]
fn an_exception_names_its_place_in_the_body() {
    let session = pool().session();
    let mut caller = session.caller();
    let source = "\n    # über\n    def helper(x):\n        return '§', 1 // x\n    return helper(0)\n";
    let error = run(&mut caller, &body(source)).unwrap_err();
    assert_eq!(error.sqlstate(), "38000");
    let record = error.record().unwrap();
    assert_eq!(record.message, "ZeroDivisionError: integer division or modulo by zero");
    assert_eq!(record.detail, "return '§', 1 // x");
    assert_eq!(record.context, "function \"main.f\", line 4, in helper\nfunction \"main.f\", line 5");
    assert_eq!(record.line, 4);
    let before: String = source.chars().take(record.position as usize - 1).collect();
    assert!(source[before.len()..].starts_with("1 // x"), "{before}");
    let error = run(&mut caller, &body("class E(Exception):\n  def __str__(self): raise self\nraise E")).unwrap_err();
    assert_eq!(error.to_string(), "E (its text could not be made)");
    let error = run(&mut caller, &body("import sys\nsys.exit(3)")).unwrap_err();
    assert_eq!(error.to_string(), "SystemExit: 3");
    let error = run(&mut caller, &body("def f(): f()\nf()")).unwrap_err();
    assert!(error.to_string().starts_with("RecursionError: "), "{error}");
    assert_eq!(error.record().unwrap().context.lines().count(), 20);
    let error = run(&mut caller, &body("raise ValueError('a\\0b\\ud800')")).unwrap_err();
    assert_eq!(error.to_string(), "ValueError: a\u{fffd}b?");
    let error = run(&mut caller, &body("raise ValueError('x' * 10**7)")).unwrap_err();
    assert_eq!(error.to_string().len(), 4000);
    assert_works(&mut caller);
}

#[test]
fn a_body_is_checked_before_it_is_called() {
    let session = pool().session();
    let mut caller = session.caller();
    let invalid = [
        ("x = 1\nreturn (", 2, 14),
        ("    x = 1\n    return x +\n", 2, 25),
        (" return 'é' $ 1", 1, 13),
        ("  return 1\nreturn 2", 2, 12),
        ("", 1, 1),
        ("# nothing", 1, 1),
        ("return 1\n  return 2", 2, 11),
        ("nonlocal a", 1, 1),
        ("a = 1\nglobal a", 2, 7),
        ("return '\0'", 1, 1),
    ];
    for (source, line, position) in invalid {
        let error = caller.check(&body(source)).unwrap_err();
        assert_eq!(error.sqlstate(), "42601", "{source:?}: {error}");
        let record = error.record().unwrap();
        assert_eq!((record.line, record.position), (line, position), "{source:?}: {error}");
    }
    let deep = format!("return {}1{}", "(".repeat(5000), ")".repeat(5000));
    assert_eq!(caller.check(&body(&deep)).unwrap_err().sqlstate(), "42601");
    let valid =
        ["return 1", " return 1", "\treturn 1", "# a\n\n  x = '''\n y'''\n  return x", "pass", "return a; b = 1"];
    for source in valid {
        caller.check(&body(source)).unwrap_or_else(|error| panic!("{source:?}: {error}"));
    }
    assert_works(&mut caller);
}

#[test]
fn printed_text_is_kept_up_to_a_limit() {
    let session = pool().session();
    let mut caller = session.caller();
    run(&mut caller, &body("print('one', a[0])\nprint('two', end='')\nreturn a")).unwrap();
    assert_eq!(session.take_notices(), "one 1\ntwo");
    assert!(run(&mut caller, &body("print('before')\n1 / 0")).is_err());
    assert_eq!(session.take_notices(), "before\n");
    for _ in 0..3 {
        run(&mut caller, &body("for _ in range(100): print('é' * 1000)\nreturn a")).unwrap();
    }
    let text = session.take_notices();
    assert!((65_530..=65_536).contains(&text.len()), "{}", text.len());
    run(&mut caller, &body("import os\nos.write(1, b'x' * 100000); os.write(2, b'y')\nreturn a")).unwrap();
    assert_eq!(session.take_notices(), "");
}

#[test]
fn a_cancelled_call_ends_and_its_process_too() {
    let pool = pool();
    let session = pool.session();
    let mut caller = session.caller();
    assert_works(&mut caller);
    let other = session.clone();
    let canceller = thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        other.cancel();
        Instant::now()
    });
    let error = run(&mut caller, &body("while True: pass")).unwrap_err();
    let delay = canceller.join().unwrap().elapsed();
    assert!(matches!(error, CallError::Cancelled { .. }), "{error:?}");
    assert!(delay < FAR_TOO_LONG, "{delay:?}");
    // The rest of the statement fails too.
    assert!(matches!(run(&mut caller, &body("return a")).unwrap_err(), CallError::Cancelled { .. }));
    session.begin_statement();
    assert_works(&mut caller);
    drop(caller);
    assert_eq!(pool.processes(), 1);
    drop(session);
    assert_eq!(pool.processes(), 0);
}

#[test]
fn a_call_has_a_time_limit() {
    let session = pool_with(ProcessLimits { call: Some(SHORT), ..limits() }).session();
    let mut caller = session.caller();
    assert_works(&mut caller);
    for source in ["while True: pass", "import time\ntime.sleep(60)", "import threading\nthreading.Event().wait()"] {
        let begun = Instant::now();
        let error = run(&mut caller, &body(source)).unwrap_err();
        assert!(matches!(error, CallError::Timeout { .. }), "{error:?}");
        assert!(begun.elapsed() < FAR_TOO_LONG, "{:?}", begun.elapsed());
        assert_works(&mut caller);
    }
}

#[test]
fn memory_has_a_limit() {
    let session = pool_with(ProcessLimits { memory: 128 << 20, ..limits() }).session();
    let mut caller = session.caller();
    for source in
        ["return numpy.ones(10**9)", "x = []\nwhile True: x.append(bytes(10**6))", "return a + len(bytearray(10**9))"]
    {
        let error = run(&mut caller, &body(source)).unwrap_err();
        assert_eq!(error.sqlstate(), "53200", "{error:?}");
        assert!(error.to_string().contains("--udf-memory=134217728"), "{error}");
    }
    // Neither the arguments nor the result can be larger than the ring may get.
    let large = function(&[ColumnType::Int64], ColumnType::Text, "return ['x' * 10**8 for _ in a]");
    let two = numbers([[0; 8], [0; 8]]);
    let error = call(&mut caller, &large, 2, &[vec![two]], None).map(drop).unwrap_err();
    assert_eq!(error.sqlstate(), "53200", "{error:?}");
    assert_works(&mut caller);
    if !support::has_sandbox() {
        return;
    }
    // Memory that RLIMIT_DATA does not count.
    let error = run(&mut caller, &body("import mmap\nmmap.mmap(-1, 10**9)")).unwrap_err();
    assert!(error.to_string().starts_with("PermissionError"), "{error}");
    let raise = "import resource\nresource.setrlimit(resource.RLIMIT_DATA, (2**40, 2**40))";
    let error = run(&mut caller, &body(raise)).unwrap_err();
    assert!(error.to_string().contains("not allowed to raise"), "{error}");
}

#[test]
fn a_result_may_be_larger_than_the_ring_was() {
    let session = pool().session();
    let mut caller = session.caller();
    let own = function(&[ColumnType::Int64], ColumnType::Text, "return ['é' * 10**7 for _ in a]");
    for _ in 0..2 {
        let output = call(&mut caller, &own, 1, &[vec![one()]], None).unwrap();
        assert_eq!(support::nodes(&output.columns[0], 1)[0].heap, "é".repeat(10_000_000).into_bytes());
    }
    assert_works(&mut caller);
}

#[test]
fn a_process_that_ends_is_reported_and_replaced() {
    let pool = pool();
    let session = pool.session();
    let mut caller = session.caller();
    let endings = [
        ("import ctypes\nctypes.string_at(0)", "signal 11 (a segmentation fault)"),
        ("import os\nos.abort()", "signal 6 (it was aborted)"),
        ("import os\nos._exit(3)", "exit status 3"),
        ("import os\nos._exit(0)", "exit status 0"),
    ];
    for (source, message) in endings {
        let begun = Instant::now();
        let error = run(&mut caller, &body(source)).unwrap_err();
        assert_eq!(error.sqlstate(), "38000");
        assert!(error.to_string().contains(message), "{error}");
        assert!(begun.elapsed() < FAR_TOO_LONG, "{:?}", begun.elapsed());
        assert_works(&mut caller);
    }
    assert_eq!(pool.processes(), 1);
    // An idle process that has died is not used.
    let process = session.process_ids()[0];
    drop(caller);
    rustix::process::kill_process(rustix::process::Pid::from_raw(process).unwrap(), rustix::process::Signal::KILL)
        .unwrap();
    thread::sleep(Duration::from_millis(50));
    assert_works(&mut session.caller());
    assert_ne!(session.process_ids(), [process]);
}

#[test]
fn a_dead_template_is_replaced_and_its_processes_die_with_it() {
    let templates = Templates::default();
    let pool = ProcessPool::new(Box::new(templates.clone()), limits()).unwrap();
    let session = pool.session();
    let mut caller = session.caller();
    assert_works(&mut caller);
    let waiting = thread::spawn({
        let session = pool.session();
        move || run(&mut session.caller(), &body("import time\ntime.sleep(60)")).unwrap_err()
    });
    while pool.processes() < 2 {
        thread::yield_now();
    }
    thread::sleep(Duration::from_millis(50));
    templates.kill();
    assert!(matches!(waiting.join().unwrap(), CallError::Start(_)));
    // The session learns of the death of its idle process at its next call, and then gets another one.
    assert!(matches!(run(&mut caller, &body("return a")).unwrap_err(), CallError::Start(_)));
    assert_works(&mut caller);
    assert_eq!(templates.started.lock().unwrap().len(), 2);
}

#[test]
fn there_are_as_many_processes_as_allowed() {
    let pool = pool_with(ProcessLimits { processes: 2, ..limits() });
    let (first, second) = (pool.session(), pool.session());
    let (mut one, mut two, mut three) = (first.caller(), first.caller(), second.caller());
    assert_works(&mut one);
    assert_works(&mut two);
    assert_eq!(run(&mut three, &body("return a")).unwrap_err().sqlstate(), "53300");
    assert_eq!(pool.processes(), 2);
    // An idle process of another session makes room.
    drop((one, two));
    assert_works(&mut three);
    assert_eq!((first.process_ids().len(), pool.processes()), (1, 2));
    drop(first);
    assert_eq!(pool.processes(), 1);
    // Of one session there may be fewer. Its idle process makes room for another one.
    let session = pool_with(ProcessLimits { session_processes: Some(1), ..limits() }).session();
    let (mut one, mut two) = (session.caller(), session.caller());
    assert_works(&mut one);
    let error = run(&mut two, &body("return a")).unwrap_err();
    assert!(matches!(error, CallError::TooManySessionProcesses(1)), "{error:?}");
    drop(one);
    assert_works(&mut two);
    // An ended session has no processes, although its handles are there.
    drop(three);
    second.end();
    assert_eq!(pool.processes(), 0);
    assert!(matches!(run(&mut second.caller(), &body("return a")).unwrap_err(), CallError::Start(_)));
}

#[test]
fn two_sessions_share_no_process() {
    let pool = pool();
    let remember = body("global x\nif 'x' not in globals(): x = a[0]\nreturn numpy.array([x])");
    let (first, second) = (pool.session(), pool.session());
    let five = numbers([5_i64.to_le_bytes()]);
    let value = |caller: &mut FunctionCaller, given: &Node| {
        let output = call(caller, &remember, 1, &[vec![given.clone()]], None).unwrap();
        support::nodes(&output.columns[0], 1).remove(0)
    };
    assert_eq!(value(&mut first.caller(), &five), five);
    assert_eq!(value(&mut first.caller(), &one()), five);
    assert_eq!(value(&mut second.caller(), &one()), one());
    assert_eq!(pool.processes(), 2);
}

#[test]
fn an_idle_process_ends_after_its_time() {
    let session = pool().session();
    let mut caller = session.caller();
    run(&mut caller, &body("return a")).unwrap();
    session.end_idle(Duration::ZERO);
    assert_eq!(session.process_ids().len(), 1, "a process that is in use is not idle");
    assert_works(&mut caller);
    drop(caller);
    session.end_idle(Duration::from_secs(60));
    assert_eq!(session.process_ids().len(), 1, "it is idle for a moment only");
    session.end_idle(Duration::ZERO);
    assert_eq!(session.process_ids(), [0; 0]);
    assert_works(&mut session.caller());
}

#[test]
fn a_process_keeps_a_limited_number_of_functions() {
    let session = pool().session();
    let mut caller = session.caller();
    let kept = "import gc\nreturn [sum(type(one).__name__ == 'ScalarCall' for one in gc.get_objects())]";
    let count = |caller: &mut FunctionCaller| {
        let output = call(caller, &body(kept), 1, &[vec![one()]], None).unwrap();
        let bytes = support::nodes(&output.columns[0], 1).remove(0).values;
        i64::from_le_bytes(bytes.try_into().unwrap())
    };
    assert_eq!(count(&mut caller), 1);
    for number in 0..600 {
        run(&mut caller, &body(&format!("return a + {number}"))).unwrap();
        assert_eq!(session.process_ids().len(), 1);
    }
    assert_eq!(count(&mut caller), 256);
    // The first ones were forgotten, and are compiled again, also after an error of another one.
    run(&mut caller, &body("return (")).unwrap_err();
    for number in (0..600).step_by(50) {
        run(&mut caller, &body(&format!("return a + {number}"))).unwrap();
    }
    assert!(count(&mut caller) <= 256);
    // An error in one of them still shows its own source.
    let error = run(&mut caller, &body("\nreturn 1 // int(a[0] - a[0])")).unwrap_err();
    assert_eq!(error.record().unwrap().line, 2);
}
