//! All rows of a cursor that can move back, in an unnamed file (`spool.rs`).

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::reader::FileReader;
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, SchemaRef};
use colonnade_sql::statement::FetchDirection;

use crate::engine::EngineError;
use crate::error::{Failure, SqlState};
use crate::limits::{Budget, Charge, Charged};
use crate::rows::spool::{ChargedFile, Spools, write_error};

/// All rows of a cursor, and where it is. The file is freed when this is dropped.
pub struct ScrollRows {
    reader: FileReader<BufReader<File>>,
    /// The number of rows up to the end of each batch.
    ends: Vec<u64>,
    /// The number of the current row, from 1: 0 before the first one, and one more than there are after the last one.
    position: u64,
    /// The batch that was read last, and its number.
    batch: Option<(usize, Charged<RecordBatch>)>,
    _space: Charge,
    _memory: Charge,
}

/// The rows of a FETCH, by their numbers from 1, and where the cursor is after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    pub rows: Range<u64>,
    pub is_backward: bool,
    pub position: u64,
}

impl ScrollRows {
    /// Writes all batches of `next`.
    ///
    /// # Errors
    /// If the disk is full, a quota is exceeded, or `next` fails.
    pub fn write(
        spools: &Spools,
        session: &Arc<Budget>,
        schema: &SchemaRef,
        mut next: impl FnMut() -> Result<Option<RecordBatch>, Failure>,
    ) -> Result<Self, Failure> {
        let mut writer = FileWriter::try_new(BufWriter::new(spools.charged_file(session)?), schema)?;
        let (mut ends, mut end) = (Vec::new(), 0);
        while let Some(batch) = next()? {
            let written = writer.write(&batch);
            written.map_err(|error| exceeded(&writer, error))?;
            end += batch.num_rows() as u64;
            ends.push(end);
        }
        let finished = writer.finish().and_then(|()| writer.flush());
        finished.map_err(|error| exceeded(&writer, error))?;
        let file = writer.into_inner()?.into_inner().map_err(|error| write_error(error.into_error()))?;
        let ChargedFile { file, space, mut memory, .. } = file;
        memory.set(memory.bytes() + size_of_val(&ends[..]))?;
        let reader = FileReader::try_new(BufReader::new(file), None)?;
        Ok(Self { reader, ends, position: 0, batch: None, _space: space, _memory: memory })
    }

    /// The number of rows.
    pub fn len(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// The rows after the current one, up to the end of their batch.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn next(&mut self, session: &Arc<Budget>) -> Result<Option<RecordBatch>, Failure> {
        if self.position >= self.len() {
            self.position = self.len() + 1;
            return Ok(None);
        }
        let (batch, rows) = self.batch_of(session, self.position + 1)?;
        let first = (self.position + 1 - rows.start) as usize;
        self.position = rows.end - 1;
        Ok(Some(batch.slice(first, batch.num_rows() - first)))
    }

    /// Goes to a row, or back by rows that were read and not used.
    pub fn set_position(&mut self, position: u64) {
        self.position = position;
    }

    pub fn position(&self) -> u64 {
        self.position
    }

    /// The batch that has a row, and the numbers of its rows.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn batch_of(&mut self, session: &Arc<Budget>, row: u64) -> Result<(RecordBatch, Range<u64>), Failure> {
        let at = self.ends.partition_point(|end| *end < row);
        let start = if at == 0 { 1 } else { self.ends[at - 1] + 1 };
        if let Some((read, batch)) = &self.batch
            && *read == at
        {
            return Ok((RecordBatch::clone(batch), start..self.ends[at] + 1));
        }
        self.batch = None;
        let unreadable =
            |error: String| EngineError::new(SqlState::IO_ERROR, format!("cannot read the rows of a cursor: {error}"));
        self.reader.set_index(at).map_err(|error| unreadable(error.to_string()))?;
        let batch = self.reader.next().transpose().map_err(|error| unreadable(error.to_string()))?;
        let batch = batch.ok_or_else(|| unreadable("the file is too short".to_owned()))?;
        let bytes = batch.get_array_memory_size();
        self.batch = Some((at, session.keep(batch.clone(), bytes)?));
        Ok((batch, start..self.ends[at] + 1))
    }

    /// What a FETCH gives, as in PostgreSQL.
    pub fn plan(&self, direction: FetchDirection) -> Fetched {
        plan(direction, self.position, self.len())
    }
}

fn plan(direction: FetchDirection, position: u64, len: u64) -> Fetched {
    let after = len.saturating_add(1);
    let forward = |count: u64| {
        let last = position.saturating_add(count);
        let rows = position.saturating_add(1)..last.min(len).saturating_add(1);
        Fetched { rows, is_backward: false, position: last.min(after) }
    };
    let backward = |count: u64| {
        let first = position.saturating_sub(count);
        Fetched { rows: first.max(1)..position, is_backward: true, position: first }
    };
    let one = |row: i128| {
        let row = row.clamp(0, after.into()) as u64;
        let is_row = (1..=len).contains(&row);
        Fetched { rows: if is_row { row..row + 1 } else { 0..0 }, is_backward: false, position: row }
    };
    match direction {
        FetchDirection::Rows(0) => one(position.into()),
        FetchDirection::Rows(count) if count > 0 => forward(count.unsigned_abs()),
        FetchDirection::Rows(count) => backward(count.unsigned_abs()),
        FetchDirection::All => forward(u64::MAX),
        FetchDirection::BackwardAll => backward(u64::MAX),
        FetchDirection::Absolute(row) if row < 0 => one(i128::from(after) + i128::from(row)),
        FetchDirection::Absolute(row) => one(row.into()),
        FetchDirection::Relative(count) => one(i128::from(position) + i128::from(count)),
    }
}

/// The exceeded quota, or else the error of the writer.
fn exceeded(writer: &FileWriter<BufWriter<ChargedFile>>, error: ArrowError) -> Failure {
    let limit = writer.get_ref().get_ref().limit.clone();
    limit.map_or_else(|| error.into(), Failure::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn a_fetch_stays_within_the_rows(number in proptest::num::i64::ANY, position in 0..7_u64, kind in 0..5) {
            let direction = match kind {
                0 => FetchDirection::Rows(number),
                1 => FetchDirection::All,
                2 => FetchDirection::BackwardAll,
                3 => FetchDirection::Absolute(number),
                _ => FetchDirection::Relative(number),
            };
            let Fetched { rows, position, .. } = plan(direction, position, 5);
            assert!(position <= 6 && (rows.is_empty() || rows.start >= 1 && rows.end <= 6), "{direction:?}");
        }
    }
}
