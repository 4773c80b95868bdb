//! What a writer and the connection's thread tell each other.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Receiver;

use arrow_array::RecordBatch;

use super::column_target::StreamColumns;
use super::column_type::TableColumn;
use crate::write::WriteTarget;

/// The statement's parts that are known before the table is.
pub(super) struct WritePlan {
    pub(super) target: WriteTarget,
    /// The names of the columns, and their types if the table is created.
    pub(super) columns: Vec<(String, String)>,
    /// Whether the writer was interrupted or is gone, so that nothing may be committed any more.
    pub(super) abandoned: Arc<AtomicBool>,
}

/// What the writer has for the thread. If the writer is gone, the thread rolls back.
pub(super) enum Step {
    /// Bytes of COPY's binary format.
    Rows(Vec<u8>),
    /// Rows in the types of a Colonnade stream.
    Batch(RecordBatch),
    /// The rows are complete; their number.
    Finish(u64),
}

/// What the thread has for the writer.
pub(super) enum Progress {
    /// The table is ready, and has these columns. The second part is what a Colonnade stream gets; without it, the rows
    /// go in COPY's binary format.
    Columns(Vec<TableColumn>, Option<StreamColumns>),
    /// The same for a table of `colonnade serve`.
    Served(StreamColumns),
    /// A step was taken out of the queue.
    Taken,
}

/// The steps of a writer.
pub(super) struct Steps<'a> {
    pub(super) taken: &'a Receiver<Step>,
    /// Whether the writer was interrupted or is gone, so that nothing may be committed any more.
    pub(super) abandoned: &'a AtomicBool,
}
