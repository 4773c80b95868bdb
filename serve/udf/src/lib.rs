//! Python functions in function processes that cannot harm the server.
//!
//! A [`ProcessPool`] has a template process, which forks a function process on request. A session's function processes
//! are its [`SessionProcesses`]. Server and process share a ring of memory: the server writes the arguments of a call
//! there, and the process answers there.
//!
//! # The way of a call
//!
//! ```text
//! let session: SessionProcesses = pool.session();           // one for each SQL session; Clone is a handle
//! session.begin_statement();                                // forgets cancel() and the notices of the statement before
//! let mut caller: FunctionCaller = session.caller();        // one for each engine thread; dropping gives it back
//! let mut inputs: CallInputs = caller.prepare(&function, rows)?;          // function: &Arc<Function>
//! for each parameter, for each node of its type (pre-order, ColumnType::nodes):
//!     inputs.parameter(Form::Array)?;                       // once a parameter; Repeated: one row; Dictionary: see there
//!     let node: NodeBuffers = inputs.node(NodeSize { length, has_validity, values: bytes, heap: bytes })?;
//!     node.validity / .values / .heap : RingSlice           // write(at, &[u8]), as_mut_ptr(), len()
//! collector.append(rows, |inputs| …)?; collector.take()     // table functions: many vectors for one call; CollectedRows::write(inputs)
//! let groups: RingSlice = inputs.groups(count)?;            // aggregates only: count + 1 offsets of u64 into the rows
//! let output: CallOutput = inputs.call()?;                  // waits without any lock
//! output.rows; output.columns: Vec<OutputColumn>            // checked
//!     column.validity: Option<Vec<u8>>                      // Arrow's bitmap: 1 is a value
//!     column.data: OutputData::{Fixed(f), Bytes{offsets, bytes}, List{offsets, items}, Array(items), Struct(fields), Union{tags, members}}
//!     column.into_owned(), column.slice(first, rows)        // columns that outlive the call
//!     f.copy_to(at_row, &mut [u8])                          // from the ring or from checked memory into the caller's
//! caller.with_loopback(queries, stop_flag)                  // who runs the queries of functions: an Arc<dyn Loopback>
//! session.cancel();                                         // from any thread: kills the processes, calls return Cancelled
//! session.take_notices() -> String                          // printed text
//! caller.check(&function)?                                  // at CREATE: CallError::Syntax with line and position
//! ```

#![warn(missing_docs)]
// Landlock, seccomp and sealed files in memory are Linux's. Elsewhere the crate is empty.
#![cfg(target_os = "linux")]

#[cfg(not(target_endian = "little"))]
compile_error!("the layout of the ring is that of little-endian processors");

mod caller;
mod check;
mod collected;
mod compiled;
mod cpu_time;
mod description;
mod error;
mod function;
mod idle_cpu;
mod inputs;
mod layout;
mod local;
mod loopback;
mod memory;
mod output;
mod pace;
mod pool;
mod process;
mod ring;
mod sandbox;
mod semaphore;
mod session;
mod slots;
mod source;
mod stop;
mod template;

pub use caller::FunctionCaller;
#[doc(hidden)]
pub use check::hostile::check_bytes;
pub use collected::{CollectedRows, Collector};
pub use description::describe_type;
pub use error::{CallError, FunctionError, ValueFault};
pub use function::{ColumnType, Function, FunctionColumn, FunctionKind, TimestampUnit};
pub use inputs::{CallInputs, Form, NodeBuffers, NodeSize};
pub use local::{LocalInterpreter, LocalSource};
pub use loopback::{Loopback, LoopbackConnection, LoopbackError, LoopbackReply, LoopbackRows, ReplyError};
pub use memory::{MemoryBudget, MemoryCharge, MemoryExceeded, MemoryVec};
pub use output::{CallOutput, ColumnSource, FixedValues, OutputColumn, OutputData};
pub use pool::ProcessPool;
pub use ring::RingSlice;
pub use sandbox::{Exposure, PrivatePath, check_private};
pub use session::SessionProcesses;
pub use source::{Isolation, ProcessLimits};
pub use stop::StopFlag;
pub use template::TemplateSource;
