//! Parts of a result that a server has run once, and whose rows it keeps. PROTOCOL §11.

use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array as _, RecordBatch};
use arrow_schema::SchemaRef;

use super::{PartSize, PartTicket, PartitionSplit, PlannedPart, SpooledPart};
use crate::{Compression, Connection, ContinueCheck, Error, ErrorKind, QueryOptions, ResultStream};

/// The largest size of the server's parts, in plain bytes. The parts of a plan are made of them: few enough bytes that
/// the parts of a plan are equal, and enough that the headers of each cost little.
const SERVER_PART: u64 = 8 << 20;
/// The SQLSTATE of a ticket or of a part that does not exist. PROTOCOL §11.4.
const GONE: &str = "42704";
/// The largest size of a server's part. PROTOCOL §11.1.
const LARGEST: u64 = 1 << 40;
/// The largest number of equal shares that a server prepares for. PROTOCOL §11.1.
const MOST_SHARES: usize = 10_000;

/// How a server cuts a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpoolCut {
    /// The plain bytes at which a part ends.
    pub bytes: u64,
    /// The number of equal shares that are made of the parts. The parts of a small result are smaller then.
    pub shares: Option<usize>,
    /// How the server keeps the chunks. Readers that ask for the same get them as they are, also on other machines.
    pub compression: Compression,
}

/// The columns and rows that a reader asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpoolSelection {
    /// The numbers of the columns, from 0, in the reader's order; at least one. `None` is all.
    pub columns: Option<Vec<usize>>,
    /// The largest number of rows.
    pub limit: Option<u64>,
}

/// Implemented by the connections of a server that keeps the rows of a query for parts.
pub trait Spooling: Send + Sync {
    /// Opens a connection to the same server as the same user.
    ///
    /// # Errors
    /// As for [`connect`](crate::connect).
    fn another(&self, keep: ContinueCheck<'_>) -> Result<Arc<dyn Connection>, Error>;

    /// Runs a query once, with the rights, the settings and the transaction of this session. Returns the rows that
    /// describe the parts.
    ///
    /// # Errors
    /// Those of the query, and those of the server's spool.
    fn spool(&self, query: &str, cut: SpoolCut, keep: ContinueCheck<'_>) -> Result<Box<dyn ResultStream>, Error>;

    /// Begins to read the server's parts of a ticket.
    ///
    /// # Errors
    /// There is no such part (SQLSTATE 42704). Otherwise as for [`Connection::query`].
    fn parts(
        &self,
        part: &SpooledPart,
        selection: &SpoolSelection,
        options: &QueryOptions,
        keep: ContinueCheck<'_>,
    ) -> Result<Box<dyn ResultStream>, Error>;

    /// Removes the rows of a ticket, as soon as nobody reads them.
    ///
    /// # Errors
    /// As for [`Connection::execute`].
    fn release(&self, ticket: &str, keep: ContinueCheck<'_>) -> Result<(), Error>;
}

/// What a server keeps of one query.
pub(super) struct Spooled {
    pub(super) ticket: String,
    pub(super) parts: Vec<PlannedPart>,
}

/// Runs a query, and makes at most `split.count` parts of about equal size of the server's.
///
/// # Errors
/// As for [`Spooling::spool`]; an option is one that the server's query does not have.
pub(super) fn spool(
    source: &dyn Spooling,
    query: &str,
    split: &PartitionSplit,
    options: &QueryOptions,
    keep: ContinueCheck<'_>,
) -> Result<Spooled, Error> {
    for (name, is_given) in [("numeric", options.numeric.is_some()), ("as_text", !options.as_text.is_empty())] {
        if is_given {
            let message = format!("the option {name} is not for a result that the server keeps");
            return Err(Error::new(ErrorKind::Unsupported, message).with_hint("cast the column in the query"));
        }
    }
    let compression = options.compression;
    let cut = match split.count {
        0 | 1 => SpoolCut { bytes: LARGEST, shares: None, compression },
        count => SpoolCut { bytes: SERVER_PART, shares: Some(count.min(MOST_SHARES)), compression },
    };
    let mut rows = source.spool(query, cut, keep)?;
    let mut batches = Vec::new();
    while let Some(batch) = rows.next(keep)? {
        batches.push(batch.decode()?);
    }
    let (ticket, sizes) = described(&batches)?;
    let parts = grouped(&sizes, split.count).into_iter().map(|(first, last)| {
        let within = &sizes[first as usize - 1..last as usize];
        let sum = |of: fn(&PartSize) -> u64| within.iter().map(of).fold(0, u64::saturating_add);
        let size = PartSize { rows: sum(|size| size.rows), bytes: sum(|size| size.bytes) };
        let ticket = PartTicket::Spool(SpooledPart { ticket: ticket.clone(), first, last });
        PlannedPart { ticket, size: Some(size) }
    });
    let parts = parts.collect();
    Ok(Spooled { ticket, parts })
}

/// The ticket, and the size of each part in their order.
fn described(batches: &[RecordBatch]) -> Result<(String, Vec<PartSize>), Error> {
    let odd = || Error::new(ErrorKind::Protocol, "the server describes the parts of a result in an unknown form");
    let (mut ticket, mut sizes) = (None, Vec::new());
    for batch in batches {
        let column = |name| batch.column_by_name(name).filter(|column| column.null_count() == 0).ok_or_else(odd);
        let tickets = column("ticket")?.as_string_opt::<i32>().ok_or_else(odd)?;
        let parts = column("part")?.as_primitive_opt::<Int32Type>().ok_or_else(odd)?;
        let rows = column("rows")?.as_primitive_opt::<Int64Type>().ok_or_else(odd)?;
        let bytes = column("plain_bytes")?.as_primitive_opt::<Int64Type>().ok_or_else(odd)?;
        for row in 0..batch.num_rows() {
            if usize::try_from(parts.value(row)).ok() != Some(sizes.len() + 1)
                || ticket.get_or_insert_with(|| tickets.value(row).to_owned()) != tickets.value(row)
            {
                return Err(odd());
            }
            let number = |value| u64::try_from(value).map_err(|_| odd());
            sizes.push(PartSize { rows: number(rows.value(row))?, bytes: number(bytes.value(row))? });
        }
    }
    Ok((ticket.ok_or_else(odd)?, sizes))
}

/// The first and the last of the server's parts in each of at most `count` groups, which have about the same number of
/// bytes.
fn grouped(sizes: &[PartSize], count: usize) -> Vec<(u32, u32)> {
    // Without any bytes, parts have the same weight.
    let weights: Vec<u128> = sizes.iter().map(|size| u128::from(size.bytes)).collect();
    let is_weighed = weights.iter().any(|weight| *weight > 0);
    let weight = |at: usize| if is_weighed { weights[at] } else { 1 };
    let total = (0..sizes.len()).map(weight).sum::<u128>();
    let (mut groups, mut before, mut current) = (Vec::<(u32, u32)>::new(), 0u128, None);
    for (at, number) in (0..sizes.len()).zip(1..) {
        let group = Some(before * count as u128 / total);
        match groups.last_mut() {
            Some(last) if current == group => last.1 = number,
            _ => groups.push((number, number)),
        }
        (current, before) = (group, before + weight(at));
    }
    groups
}

/// The columns of a result. No row is sent.
///
/// # Errors
/// As for [`Spooling::parts`].
pub(super) fn schema(
    source: &dyn Spooling,
    ticket: &str,
    options: &QueryOptions,
    keep: ContinueCheck<'_>,
) -> Result<SchemaRef, Error> {
    let part = SpooledPart { ticket: ticket.to_owned(), first: 1, last: 1 };
    let nothing = SpoolSelection { limit: Some(0), ..SpoolSelection::default() };
    let mut stream = source.parts(&part, &nothing, options, keep)?;
    while stream.next(keep)?.is_some() {}
    Ok(stream.schema().clone())
}

/// Begins to read a part of a plan.
///
/// # Errors
/// The part is gone (SQLSTATE 42704). Otherwise as for [`Spooling::parts`].
pub(super) fn read(
    source: &dyn Spooling,
    part: &SpooledPart,
    selection: &SpoolSelection,
    options: &QueryOptions,
    keep: ContinueCheck<'_>,
) -> Result<Box<dyn ResultStream>, Error> {
    source
        .parts(part, selection, options, keep)
        .map_err(|error| if error.sqlstate() == Some(GONE) { gone().with_cause(error) } else { error })
}

/// The error of a part whose rows the server does not keep, or does not show to this user: the server has one error for
/// both.
fn gone() -> Error {
    Error::new(ErrorKind::Unavailable, "there is no such part any more: the server has no rows for its ticket")
        .with_sqlstate(GONE)
        .with_hint(
            "its plan was closed, its time is over, or the server has restarted; or it is of another user: make the plan again, and read as \
             the planner's user",
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(bytes: &[u64]) -> Vec<PartSize> {
        bytes.iter().map(|bytes| PartSize { rows: 1, bytes: *bytes }).collect()
    }

    #[test]
    fn each_part_is_in_one_group() {
        for (bytes, count, expected) in [
            (&[0][..], 8, vec![(1, 1)]),
            (&[8, 8, 8, 8], 2, vec![(1, 2), (3, 4)]),
            (&[8, 8, 8, 8], 4, vec![(1, 1), (2, 2), (3, 3), (4, 4)]),
            (&[8, 8, 8, 8], 9, vec![(1, 1), (2, 2), (3, 3), (4, 4)]),
            (&[8, 8, 8, 8, 1], 1, vec![(1, 5)]),
            (&[100, 1, 1, 1], 3, vec![(1, 1), (2, 4)]),
            (&[1, 1, 1, 100], 2, vec![(1, 4)]),
            (&[1, 0, 0, 1], 2, vec![(1, 1), (2, 4)]),
            (&[0, 0, 0], 2, vec![(1, 2), (3, 3)]),
        ] {
            assert_eq!(grouped(&sizes(bytes), count), expected, "{bytes:?} {count}");
        }
    }
}
