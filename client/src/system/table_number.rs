//! The number of a thread's descriptor table.

use std::cell::Cell;

thread_local! {
    /// The table of this thread; 0 is the process's.
    static TABLE: Cell<u64> = const { Cell::new(0) };
}

/// The number of this thread's table; 0 is the process's. A forked process gets other numbers.
pub(crate) fn current() -> u64 {
    TABLE.get()
}

/// Notes that this thread has the table with this number.
pub(crate) fn enter(table: u64) {
    TABLE.set(table);
}
