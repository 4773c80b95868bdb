//! The rows of a capture: all, or a uniform sample.
//!
//! Each unit, a row or a group, gets a random number. The sample has the units with the smallest numbers, so each set
//! of units has the same chance, whatever their order and the number of threads. A store of `n` units keeps up to `2 n`
//! before it drops the larger half.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, make_array};
use arrow_data::transform::MutableArrayData;
use arrow_schema::{Field, Schema};
use colonnade_udf::{MemoryBudget, MemoryCharge, MemoryExceeded};

/// What is kept of all rows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sampling {
    /// The number of units.
    pub count: usize,
    /// Whether a unit is a whole group of an aggregate.
    pub by_groups: bool,
    /// Where the random numbers begin.
    pub seed: u64,
}

/// Why rows cannot be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StoreError {
    /// They need more memory than functions may use.
    Memory(MemoryExceeded),
    /// Arrays of a call have different lengths, or a nested type is too deep.
    Arrays,
}

/// A unit that is kept: its number, the first row in the call and the number of rows, and the number of its group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    key: u64,
    first: usize,
    rows: usize,
    group: i64,
}

pub(super) struct Units;

impl Units {
    /// The rows of units in their call.
    pub fn rows(units: &[Unit]) -> impl Iterator<Item = usize> {
        units.iter().flat_map(|unit| unit.first..unit.first + unit.rows)
    }
}

/// The rows that are kept of a call, one unit after the other.
struct Kept {
    ticket: Ticket,
    units: Vec<Unit>,
    columns: Vec<ArrayRef>,
    charge: MemoryCharge,
}

/// A call: its number, and whether it has groups.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticket {
    number: i64,
    has_groups: bool,
}

pub(super) struct Store {
    sampling: Option<Sampling>,
    budget: Arc<MemoryBudget>,
    random: u64,
    calls: i64,
    groups: i64,
    /// Units with this number or a larger one are not in the sample.
    threshold: u64,
    kept: Vec<Kept>,
    units: usize,
}

impl Store {
    pub fn new(sampling: Option<Sampling>, budget: &Arc<MemoryBudget>) -> Self {
        let (random, budget) = (sampling.map_or(0, |sampling| sampling.seed), Arc::clone(budget));
        Self { sampling, budget, random, calls: 0, groups: 0, threshold: u64::MAX, kept: Vec::new(), units: 0 }
    }

    /// The units of a call that are kept.
    pub fn choose(&mut self, rows: usize, groups: Option<&[usize]>) -> (Ticket, Vec<Unit>) {
        let ticket = Ticket { number: self.calls, has_groups: groups.is_some() };
        self.calls += 1;
        let first_group = self.groups;
        self.groups += groups.map_or(0, |groups| groups.len() as i64);
        let (by_groups, is_sample) = self.sampling.map_or((true, false), |sampling| (sampling.by_groups, true));
        let mut units = Vec::new();
        let mut first = 0;
        let whole = [rows];
        for (group, count) in (first_group..).zip(groups.unwrap_or(&whole)) {
            // Without a sample, what is kept together is one unit.
            let (steps, length) = if by_groups { (1, *count) } else { (*count, 1) };
            for step in 0..steps {
                let key = if is_sample { self.next() } else { 0 };
                if key < self.threshold {
                    units.push(Unit { key, first: first + step * length, rows: length, group });
                }
            }
            first += count;
        }
        (ticket, units)
    }

    /// Keeps the rows of units.
    pub fn add(&mut self, ticket: Ticket, units: Vec<Unit>, columns: Vec<ArrayRef>) -> Result<(), StoreError> {
        let charge = self.budget.charge(bytes_of(&units, &columns)).map_err(StoreError::Memory)?;
        self.units += units.len();
        self.kept.push(Kept { ticket, units, columns, charge });
        if let Some(sampling) = self.sampling
            && self.units > sampling.count.saturating_mul(2).saturating_add(4096)
        {
            self.reduce(sampling.count)?;
        }
        Ok(())
    }

    /// Leaves the units with the smallest numbers.
    fn reduce(&mut self, count: usize) -> Result<(), StoreError> {
        let mut keys: Vec<u64> = self.kept.iter().flat_map(|kept| kept.units.iter().map(|unit| unit.key)).collect();
        if keys.len() <= count {
            return Ok(());
        }
        let (_, threshold, _) = keys.select_nth_unstable(count);
        self.threshold = *threshold;
        // Equal numbers are as rare as collisions of 64 random bits.
        for kept in &mut self.kept {
            kept.reduce(self.threshold)?;
        }
        self.kept.retain(|kept| !kept.units.is_empty());
        self.units = self.kept.iter().map(|kept| kept.units.len()).sum();
        Ok(())
    }

    /// The rows in the order in which they came, and what is charged for them.
    ///
    /// # Errors
    /// If arrays do not fit together.
    pub fn take(&mut self) -> Result<(Vec<RecordBatch>, Vec<MemoryCharge>), StoreError> {
        if let Some(sampling) = self.sampling {
            self.reduce(sampling.count)?;
        }
        self.kept.sort_by_key(|kept| kept.ticket.number);
        let batches =
            std::mem::take(&mut self.kept).into_iter().map(Kept::into_batch).collect::<Result<Vec<_>, _>>()?;
        Ok(batches.into_iter().unzip())
    }

    /// The next random number (SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
    /// 2014).
    fn next(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)).min(u64::MAX - 1)
    }
}

/// The bytes of rows, with the numbers of their groups and calls.
fn bytes_of(units: &[Unit], columns: &[ArrayRef]) -> usize {
    let columns: usize = columns.iter().map(|column| column.get_array_memory_size()).sum();
    size_of_val(units) + columns + Units::rows(units).count() * 2 * size_of::<i64>()
}

impl Kept {
    fn reduce(&mut self, threshold: u64) -> Result<(), StoreError> {
        if self.units.iter().all(|unit| unit.key < threshold) {
            return Ok(());
        }
        let rows = Units::rows(&self.units).count();
        if self.columns.iter().any(|column| column.len() != rows) {
            return Err(StoreError::Arrays);
        }
        let mut ranges = Vec::new();
        let mut start = 0;
        for unit in &self.units {
            if unit.key < threshold {
                ranges.push(start..start + unit.rows);
            }
            start += unit.rows;
        }
        for column in &mut self.columns {
            let data = column.to_data();
            let mut some = MutableArrayData::new(vec![&data], true, ranges.len());
            for range in &ranges {
                some.try_extend(0, range.start, range.end).map_err(|_| StoreError::Arrays)?;
            }
            *column = make_array(some.freeze());
        }
        self.units.retain(|unit| unit.key < threshold);
        self.charge.set(bytes_of(&self.units, &self.columns)).map_err(StoreError::Memory)
    }

    fn into_batch(mut self) -> Result<(RecordBatch, MemoryCharge), StoreError> {
        let rows = Units::rows(&self.units).count();
        if self.ticket.has_groups {
            let groups = self.units.iter().flat_map(|unit| std::iter::repeat_n(unit.group, unit.rows));
            self.columns.push(Arc::new(groups.collect::<Int64Array>()));
        }
        self.columns.push(Arc::new(Int64Array::from(vec![self.ticket.number; rows])));
        let field = |(at, column): (usize, &ArrayRef)| Field::new(at.to_string(), column.data_type().clone(), true);
        let fields: Vec<_> = self.columns.iter().enumerate().map(field).collect();
        let batch =
            RecordBatch::try_new(Arc::new(Schema::new(fields)), self.columns).map_err(|_| StoreError::Arrays)?;
        Ok((batch, self.charge))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by it")]
mod tests {

    use super::*;

    /// Adds calls of `rows` rows with a column of their numbers, and gives the numbers that are kept.
    fn kept(sampling: Option<Sampling>, calls: usize, rows: usize, groups: Option<&[usize]>) -> Vec<i64> {
        let mut store = Store::new(sampling, &MemoryBudget::new(None, MemoryExceeded::Session));
        for call in 0..calls {
            let (ticket, units) = store.choose(rows, groups);
            let numbers = Units::rows(&units).map(|row| (call * rows + row) as i64);
            let column: ArrayRef = Arc::new(numbers.collect::<Int64Array>());
            store.add(ticket, units, vec![column]).unwrap();
        }
        let (batches, _) = store.take().unwrap();
        let numbers = |batch: &RecordBatch| {
            let column = batch.column(0).as_any().downcast_ref::<Int64Array>().unwrap();
            column.values().to_vec()
        };
        batches.iter().flat_map(numbers).collect()
    }

    #[test]
    fn all_rows_are_kept_in_order_without_a_sample() {
        assert_eq!(kept(None, 3, 4, None), (0..12).collect::<Vec<_>>());
        assert_eq!(kept(None, 2, 5, Some(&[2, 3])), (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn a_sample_has_its_size_and_every_row_the_same_chance() {
        let mut counts = [0_u32; 50];
        for seed in 0..300 {
            let sampling = Sampling { count: 10, by_groups: false, seed };
            // More than 2 n + 4096 rows, so that the store is reduced several times.
            let found = kept(Some(sampling), 10, 1000, None);
            assert_eq!(found.len(), 10);
            assert!(found.is_sorted());
            found.iter().for_each(|row| counts[*row as usize / 200] += 1);
        }
        // 3,000 draws over 50 parts: 60 each, with a standard deviation of 7.7.
        assert!(counts.iter().all(|count| (20..110).contains(count)), "{counts:?}");
    }

    #[test]
    fn groups_are_whole() {
        let sampling = Sampling { count: 3, by_groups: true, seed: 5 };
        let found = kept(Some(sampling), 2000, 10, Some(&[1, 2, 3, 4]));
        let starts = [0, 1, 3, 6, 10];
        let mut rest = found.as_slice();
        for _ in 0..3 {
            let at = rest[0] % 10;
            let group = starts.iter().position(|start| *start == at).unwrap();
            let (one, more) = rest.split_at(group + 1);
            assert!(one.iter().zip(rest[0]..).all(|(row, expected)| *row == expected));
            rest = more;
        }
        assert!(rest.is_empty());
    }

    #[test]
    fn too_many_bytes_are_an_error() {
        let budget = MemoryBudget::new(Some(1000), MemoryExceeded::Session);
        let mut store = Store::new(None, &budget);
        let (ticket, units) = store.choose(1000, None);
        let column: ArrayRef = Arc::new(Int64Array::from(vec![0; 1000]));
        assert_eq!(store.add(ticket, units, vec![column]), Err(StoreError::Memory(MemoryExceeded::Session(1000))));
        assert_eq!(budget.used(), 0);
    }
}
