//! The rows of a result in its order: that of their tickets.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use arrow_array::cast::AsArray as _;
use arrow_array::types::Int64Type;
use arrow_array::{Array as _, RecordBatch};
use arrow_schema::ArrowError;
use arrow_select::concat::concat_batches;

use crate::executor::Executor;
use crate::function::ROW_BITS;
use crate::result::{VectorResult, lock};

/// Batches of fewer rows are put together.
const FEW_ROWS: usize = 1024;

/// Rows of one executor that come next to each other in the result.
struct Run {
    executor: usize,
    rows: usize,
}

/// Reads a result. `R` gives the tickets, in batches of one column.
pub struct VectorReader<R> {
    tickets: R,
    result: Arc<VectorResult>,
    /// The executors, with the number of their rows whose tickets have come, and the rows of their first batch that
    /// were read.
    sources: Vec<Source>,
    /// What has been announced and was not read yet.
    runs: VecDeque<Run>,
    has_ended: bool,
    /// A batch that comes after another one.
    waiting: Option<RecordBatch>,
}

struct Source {
    executor: Arc<Mutex<Executor>>,
    announced: u64,
    read: usize,
}

impl<R: Iterator<Item = Result<RecordBatch, ArrowError>>> VectorReader<R> {
    /// The rows of `result`, whose tickets are `tickets`.
    pub fn new(result: Arc<VectorResult>, tickets: R) -> Self {
        Self { tickets, result, sources: Vec::new(), runs: VecDeque::new(), has_ended: false, waiting: None }
    }

    /// Notes the order of rows.
    fn announce(&mut self, tickets: &RecordBatch) -> Result<(), ArrowError> {
        let tickets = tickets.column(0).as_primitive_opt::<Int64Type>().filter(|tickets| tickets.null_count() == 0);
        let tickets = tickets.ok_or_else(|| lost("a ticket is none"))?.values();
        let mut rest = &tickets[..];
        while let Some(&first) = rest.first() {
            let rows = rest.iter().zip(first..).take_while(|(ticket, expected)| *ticket == expected).count();
            self.announce_run(first as u64, rows)?;
            rest = &rest[rows..];
        }
        Ok(())
    }

    /// Notes that rows from this ticket on are next.
    fn announce_run(&mut self, first: u64, rows: usize) -> Result<(), ArrowError> {
        let (number, row) = ((first >> ROW_BITS) as usize, first & ((1 << ROW_BITS) - 1));
        if number >= self.sources.len() {
            let known = self.sources.len();
            let new = self.result.executors().into_iter().skip(known);
            self.sources.extend(new.map(|executor| Source { executor, announced: 0, read: 0 }));
        }
        let source = self.sources.get_mut(number).ok_or_else(|| lost("a ticket is of no executor"))?;
        if source.announced != row {
            return Err(lost("a ticket is not the next one"));
        }
        source.announced += rows as u64;
        match self.runs.back_mut() {
            Some(run) if run.executor == number => run.rows += rows,
            _ => self.runs.push_back(Run { executor: number, rows }),
        }
        Ok(())
    }

    /// The next rows, if they are complete: a batch as it was gathered, or the part of it after which another
    /// executor's rows come.
    fn take(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        let is_last = self.runs.len() == 1 && !self.has_ended;
        let Some(run) = self.runs.front_mut() else { return Ok(None) };
        let source = &mut self.sources[run.executor];
        let mut executor = lock(&source.executor);
        if executor.first().is_none() {
            if is_last {
                return Ok(None);
            }
            executor.complete()?;
        }
        let batch = executor.first().ok_or_else(|| lost("rows are missing"))?;
        let left = batch.num_rows() - source.read;
        if run.rows < left && is_last {
            return Ok(None);
        }
        let rows = run.rows.min(left);
        let part = batch.slice(source.read, rows);
        source.read += rows;
        if rows == left {
            executor.remove_first();
            source.read = 0;
        }
        run.rows -= rows;
        if run.rows == 0 {
            self.runs.pop_front();
        }
        Ok(Some(part))
    }

    /// Makes sure that all rows have been read.
    fn check_end(&self) -> Result<(), ArrowError> {
        let executors = self.result.executors();
        let announced = self.sources.iter().map(|source| source.announced).chain(std::iter::repeat(0));
        let is_complete = executors.iter().zip(announced).all(|(executor, rows)| lock(executor).rows() == rows);
        if is_complete { Ok(()) } else { Err(lost("rows have no ticket")) }
    }

    fn advance(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        loop {
            if let Some(batch) = self.take()? {
                return Ok(Some(batch));
            }
            if self.has_ended {
                self.check_end()?;
                return Ok(None);
            }
            match self.tickets.next() {
                Some(Ok(batch)) => self.announce(&batch)?,
                Some(Err(error)) => return Err(self.result.take_failure().unwrap_or(error)),
                None => self.has_ended = true,
            }
        }
    }
}

impl<R: Iterator<Item = Result<RecordBatch, ArrowError>>> Iterator for VectorReader<R> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}

impl<R: Iterator<Item = Result<RecordBatch, ArrowError>>> VectorReader<R> {
    /// The next batch. Parts of few rows come together, because a batch takes time for each column.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        if self.waiting.is_some() {
            return Ok(self.waiting.take());
        }
        let (mut parts, mut rows) = (Vec::<RecordBatch>::new(), 0);
        while rows < FEW_ROWS {
            let Some(part) = self.advance()? else { break };
            let is_same = parts.first().is_none_or(|first| first.schema_ref() == part.schema_ref());
            if part.num_rows() >= FEW_ROWS || !is_same {
                self.waiting = Some(part);
                break;
            }
            rows += part.num_rows();
            parts.push(part);
        }
        match &parts[..] {
            [] => Ok(self.waiting.take()),
            [part] => Ok(Some(part.clone())),
            [first, ..] => concat_batches(first.schema_ref(), &parts).map(Some),
        }
    }
}

impl<R> Drop for VectorReader<R> {
    /// Frees what was not read. Others may have the result.
    fn drop(&mut self) {
        self.result.clear();
    }
}

fn lost(what: &str) -> ArrowError {
    ArrowError::CDataInterface(format!("Internal error: the rows of the result are not complete: {what}"))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use arrow_array::{Int64Array, RecordBatch};
    use arrow_schema::{DataType, Field, Schema};
    use proptest::prelude::*;

    use super::*;
    use crate::VectorForm;

    /// Executors with batches of the numbers from 0 on, each number once.
    fn executed(token: &str, sizes: &[Vec<usize>]) -> (Arc<VectorResult>, Vec<Vec<i64>>) {
        let result = VectorResult::begin(
            token.to_owned(),
            vec![("i".to_owned(), "BIGINT".to_owned())],
            "UTC",
            VectorForm::Plain,
        )
        .unwrap();
        let (mut next, mut rows) = (0, Vec::new());
        for sizes in sizes {
            let (_, executor) = result.new_executor();
            let mut own = Vec::new();
            for &size in sizes {
                let values: Vec<i64> = (next..next + size as i64).collect();
                next += size as i64;
                let column = Arc::new(Int64Array::from(values.clone()));
                lock(&executor).push(RecordBatch::try_new(result.schema(), vec![column]).unwrap());
                own.extend(values);
            }
            rows.push(own);
        }
        (result, rows)
    }

    fn tickets(numbers: &[i64]) -> Result<RecordBatch, ArrowError> {
        let schema = Schema::new(vec![Field::new("ticket", DataType::Int64, true)]);
        RecordBatch::try_new(Arc::new(schema), vec![Arc::new(Int64Array::from(numbers.to_vec()))])
    }

    fn ticket(executor: usize, row: usize) -> i64 {
        (executor << ROW_BITS) as i64 + row as i64
    }

    /// All rows, in the order of the reader.
    fn read(result: Arc<VectorResult>, parts: &[Vec<i64>]) -> Result<Vec<i64>, ArrowError> {
        let reader = VectorReader::new(result, parts.iter().map(|part| tickets(part)));
        let batches = reader.collect::<Result<Vec<_>, _>>()?;
        Ok(batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec()).collect())
    }

    proptest! {
        #[test]
        fn rows_come_in_the_order_of_their_tickets(
            sizes in prop::collection::vec(prop::collection::vec(1_usize..3000, 0..4), 1..5),
            turns in prop::collection::vec((0_usize..5, 1_usize..2500), 0..60),
            part in 1_usize..5000,
        ) {
            let (result, rows) = executed("order", &sizes);
            let mut announced = vec![0; rows.len()];
            let (mut all, mut expected) = (Vec::new(), Vec::new());
            let rest = (0..rows.len()).map(|executor| (executor, usize::MAX));
            for (executor, count) in turns.into_iter().chain(rest) {
                let executor = executor % rows.len();
                let end = announced[executor] + count.min(rows[executor].len() - announced[executor]);
                all.extend((announced[executor]..end).map(|row| ticket(executor, row)));
                expected.extend(&rows[executor][announced[executor]..end]);
                announced[executor] = end;
            }
            let parts: Vec<_> = all.chunks(part).map(<[i64]>::to_vec).collect();
            prop_assert_eq!(read(result, &parts).unwrap(), expected);
        }

        #[test]
        fn a_ticket_that_is_lost_doubled_or_moved_is_an_error(
            at in 0_usize..500, other in 0_usize..500, what in 0..3,
        ) {
            let (result, _) = executed("wrong", &[vec![200, 50], vec![250]]);
            let mut all: Vec<_> = (0..250).flat_map(|row| [ticket(0, row), ticket(1, row)]).collect();
            match what {
                0 => drop(all.remove(at)),
                1 => all.insert(other, all[at]),
                _ => all.swap(at, other),
            }
            // Two rows of different executors may change places.
            let is_order = all.len() == 500
                && all.iter().collect::<HashSet<_>>().len() == 500
                && [0, 1].iter().all(|executor| all.iter().filter(|ticket| **ticket >> ROW_BITS == *executor).is_sorted());
            prop_assert_eq!(read(result, &[all]).is_ok(), is_order);
        }
    }

    #[test]
    fn small_parts_come_together() {
        let (result, rows) = executed("small", &[vec![3000], vec![3000]]);
        let all: Vec<_> = (0..3000).flat_map(|row| [ticket(0, row), ticket(1, row)]).collect();
        let reader = VectorReader::new(result, std::iter::once(tickets(&all)));
        let batches: Vec<_> = reader.map(Result::unwrap).collect();
        assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), rows.concat().len());
        assert!(batches.len() <= 6000 / FEW_ROWS + 1);
    }

    #[test]
    fn an_error_of_duckdb_ends_the_rows() {
        let (result, _) = executed("error", &[vec![10]]);
        let failed = ArrowError::CDataInterface("Conversion Error: x".to_owned());
        let mut reader = VectorReader::new(result, [tickets(&[0, 1]), Err(failed)].into_iter());
        assert!(matches!(reader.next(), Some(Err(ArrowError::CDataInterface(text))) if text.contains("Conversion")));
    }
}
