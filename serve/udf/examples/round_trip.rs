//! What a call costs: `x % 100` over vectors of 2,048 INTEGERs in a sandboxed function process, in CPU time of both
//! processes.
//!
//! `cargo run --release -p colonnade-udf --example round_trip [MILLIONS OF ROWS]`

#![allow(clippy::unwrap_used, missing_docs)]
#![cfg_attr(not(target_os = "linux"), allow(unused))]

#[path = "../tests/support/mod.rs"]
mod support;

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use colonnade_udf::{CallError, ColumnType, Form, Function, FunctionCaller, NodeSize};

const ROWS: usize = 2048;

/// The CPU time of a process, as the kernel accounts for it in nanoseconds.
fn cpu(process: i32) -> Duration {
    let text = fs::read_to_string(format!("/proc/{process}/schedstat")).unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

fn call(
    caller: &mut FunctionCaller,
    function: &Arc<Function>,
    values: &[u8],
    into: &mut [u8],
) -> Result<(), CallError> {
    let mut inputs = caller.prepare(function, ROWS)?;
    inputs.parameter(Form::Array)?;
    inputs.node(NodeSize { length: ROWS, values: values.len(), ..NodeSize::default() })?.values.write(0, values);
    let output = inputs.call()?;
    if let colonnade_udf::OutputData::Fixed(found) = &output.columns[0].data {
        found.copy_to(0, into);
    }
    Ok(())
}

fn main() {
    let millions: usize = std::env::args().nth(1).map_or(10, |count| count.parse().unwrap());
    let begun = Instant::now();
    let pool = support::pool();
    pool.warm_up().unwrap();
    println!("template: {:?}", begun.elapsed());
    let values: Vec<u8> = (0..ROWS as i32).flat_map(|value| value.wrapping_mul(7919).to_le_bytes()).collect();
    let mut into = vec![0; values.len()];
    let bodies = ["return x", "return x % 100", "return numpy.ma.MaskedArray(x % 100, x == 0)"];
    for body in bodies {
        let mut function = (*support::function(&[ColumnType::Int32], ColumnType::Int32, body)).clone();
        function.parameters[0].name = "x".to_owned();
        let function = Arc::new(function);
        let session = pool.session();
        let mut caller = session.caller();
        let begun = Instant::now();
        call(&mut caller, &function, &values, &mut into).unwrap();
        println!("{body}: first call {:?}", begun.elapsed());
        let (own, other) = (std::process::id() as i32, session.process_ids()[0]);
        let calls = millions * 1_000_000 / ROWS;
        for _ in 0..3 {
            let (before, begun) = (cpu(own) + cpu(other), Instant::now());
            for _ in 0..calls {
                call(&mut caller, &function, &values, &mut into).unwrap();
            }
            let (used, passed) = (cpu(own) + cpu(other) - before, begun.elapsed());
            let rows = (calls * ROWS) as f64;
            println!(
                "    CPU {:.2} ns/row, {:.2} us a call; wall {:.2} us a call",
                used.as_nanos() as f64 / rows,
                used.as_secs_f64() * 1e6 / calls as f64,
                passed.as_secs_f64() * 1e6 / calls as f64
            );
        }
    }
}
