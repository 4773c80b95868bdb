//! From vectors of DuckDB to a function process's ring.

pub(super) mod encoded;
mod nested;
pub(super) mod runs;

use std::sync::Arc;

use colonnade_udf::{CallError, CallInputs, Form, MemoryBudget, MemoryExceeded, MemoryVec, NodeBuffers, NodeSize};

use super::handles::CallbackError;
use super::sql_type::{SqlType, Storage};
use super::vectors::{UUID_ORDER, VectorValues};
use runs::Runs;

/// Why arguments cannot be written.
#[derive(Debug)]
pub(super) enum WriteError {
    /// The function process has no room for them.
    Call(CallError),
    /// DuckDB does not give them.
    Engine(CallbackError),
    /// They need more memory than functions may use.
    Memory(MemoryExceeded),
}

impl From<MemoryExceeded> for WriteError {
    fn from(exceeded: MemoryExceeded) -> Self {
        Self::Memory(exceeded)
    }
}

impl From<CallError> for WriteError {
    fn from(error: CallError) -> Self {
        Self::Call(error)
    }
}

impl From<CallbackError> for WriteError {
    fn from(error: CallbackError) -> Self {
        Self::Engine(error)
    }
}

/// The rows of a call.
#[derive(Clone, Copy)]
pub(super) enum Rows<'a> {
    /// The first rows of the vectors.
    First(usize),
    /// These.
    Chosen(&'a [u32]),
}

impl Rows<'_> {
    pub fn len(self) -> usize {
        match self {
            Self::First(count) => count,
            Self::Chosen(rows) => rows.len(),
        }
    }

    pub fn iter(self) -> impl Iterator<Item = usize> {
        let (first, chosen) = match self {
            Self::First(count) => (count, &[][..]),
            Self::Chosen(rows) => (0, rows),
        };
        (0..first).chain(chosen.iter().map(|row| *row as usize))
    }
}

/// Writes the values of a parameter. `is_scalar`: one value for the call.
pub(super) fn write(
    inputs: &mut CallInputs<'_>,
    type_: &SqlType,
    values: &VectorValues,
    rows: Rows<'_>,
    is_scalar: bool,
) -> Result<(), WriteError> {
    if type_.storage.is_nested() {
        inputs.parameter(if is_scalar { Form::Repeated } else { Form::Array })?;
        let rows = rows.iter().take(if is_scalar { 1 } else { usize::MAX }).map(Some);
        let rows = Runs::of(inputs.budget(), rows)?;
        return nested::write(inputs, type_, &values.flattened()?, &rows);
    }
    if is_scalar || values.is_constant {
        inputs.parameter(Form::Repeated)?;
        let entries: Vec<_> = rows.iter().take(1).map(|row| values.entry(row)).collect();
        return Ok(write_entries(inputs, type_, values, &entries)?);
    }
    let is_whole = matches!(rows, Rows::First(_)) && values.is_flat();
    if is_whole && let (Storage::Same(width), true) = (type_.storage, values.has_no_null()) {
        inputs.parameter(Form::Array)?;
        let length = rows.len();
        let node = inputs.node(NodeSize { length, values: length * width, ..NodeSize::default() })?;
        // SAFETY: the vector is flat, and has values of the type's width for these rows, of which none is NULL.
        node.values.write(0, unsafe { values.bytes(length, width) });
        return Ok(());
    }
    let entries: Vec<_> = rows.iter().map(|row| values.entry(row)).collect();
    if !values.is_flat()
        && type_.storage == Storage::Text
        && let Some((numbers, used)) = dictionary(&entries)
    {
        inputs.parameter(Form::Dictionary)?;
        let node = inputs.node(NodeSize { length: numbers.len(), values: numbers.len() * 4, ..NodeSize::default() })?;
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        node.values.write(0, &bytes);
        return Ok(write_entries(inputs, type_, values, &used)?);
    }
    inputs.parameter(Form::Array)?;
    Ok(write_entries(inputs, type_, values, &entries)?)
}

/// The bytes of the one value that all rows have; `None` if they have several. NULL has none.
pub(super) fn one_value(
    budget: &Arc<MemoryBudget>,
    type_: &SqlType,
    values: &VectorValues,
    rows: Rows<'_>,
) -> Result<Option<MemoryVec<u8>>, WriteError> {
    let mut entries: Vec<_> = rows.iter().map(|row| (row, values.entry(row))).collect();
    if values.is_constant {
        entries.truncate(1);
    }
    let Some(&(first_row, first)) = entries.first() else { return Ok(Some(MemoryVec::new(budget))) };
    // A tree is made of flat vectors: `values` still looks at the memory before it.
    let tree = if type_.storage.is_nested() { Some(encoded::Tree::new(type_, values)?) } else { None };
    let of = |row: usize, entry: usize| {
        let mut bytes = MemoryVec::new(budget);
        match &tree {
            Some(tree) => tree.encode(row, &mut bytes)?,
            None => encoded::encode_plain(type_, values, entry, &mut bytes)?,
        }
        Ok::<_, MemoryExceeded>(bytes)
    };
    let wanted = of(first_row, first)?;
    for (row, entry) in entries {
        if entry != first && *of(row, entry)? != *wanted {
            return Ok(None);
        }
    }
    Ok(Some(wanted))
}

/// The number of each row's entry among the entries that rows use, and these, if they are at most half as many as rows.
/// The others are never read: DuckDB need not have written them.
fn dictionary(entries: &[usize]) -> Option<(Vec<u32>, Vec<usize>)> {
    let largest = *entries.iter().max()?;
    // A dictionary of DuckDB may be far larger than a vector.
    if largest >= entries.len().saturating_mul(16) {
        return None;
    }
    let mut numbers = vec![u32::MAX; largest + 1];
    let mut used = Vec::new();
    let mut of_rows = Vec::with_capacity(entries.len());
    for entry in entries {
        if numbers[*entry] == u32::MAX {
            if used.len() * 2 >= entries.len() {
                return None;
            }
            numbers[*entry] = used.len() as u32;
            used.push(*entry);
        }
        of_rows.push(numbers[*entry]);
    }
    Some((of_rows, used))
}

fn write_entries(
    inputs: &mut CallInputs<'_>,
    type_: &SqlType,
    values: &VectorValues,
    entries: &[usize],
) -> Result<(), CallError> {
    let valid = valid(values, entries);
    match type_.storage {
        Storage::Text | Storage::Enum(_) => {
            let bits = bitmap(&valid);
            let size = NodeSize { length: entries.len(), has_validity: bits.is_some(), ..NodeSize::default() };
            let given = || entries.iter().zip(&valid).map(|(entry, is_valid)| is_valid.then_some(*entry));
            let node = write_texts(inputs, type_, values, size, given)?;
            bits.inspect(|bits| node.validity.write_words(bits));
            Ok(())
        }
        storage => {
            let mut bytes = Vec::new();
            append_fixed(storage, values, entries, &mut bytes);
            write_fixed(inputs, &bytes, &valid)
        }
    }
}

/// Whether each entry has a value.
pub(super) fn valid(values: &VectorValues, entries: &[usize]) -> Vec<bool> {
    entries.iter().map(|entry| values.is_valid(*entry)).collect()
}

/// Appends the bytes that function processes read for these entries. Those of NULL are zero: the memory behind a NULL
/// may have values of others.
pub(super) fn append_fixed(storage: Storage, values: &VectorValues, entries: &[usize], bytes: &mut Vec<u8>) {
    fn append<const WIDTH: usize, T: Copy>(
        values: &VectorValues,
        entries: &[usize],
        bytes: &mut Vec<u8>,
        convert: impl Fn(T) -> [u8; WIDTH],
    ) {
        bytes.reserve(entries.len() * WIDTH);
        for entry in entries {
            // SAFETY: `append_fixed` chooses T by the vector's type.
            let value = if values.is_valid(*entry) { convert(unsafe { values.value(*entry) }) } else { [0; WIDTH] };
            bytes.extend_from_slice(&value);
        }
    }
    match storage {
        Storage::Same(1) => append(values, entries, bytes, |value: [u8; 1]| value),
        Storage::Same(2) => append(values, entries, bytes, |value: [u8; 2]| value),
        Storage::Same(4) => append(values, entries, bytes, |value: [u8; 4]| value),
        Storage::Same(8) => append(values, entries, bytes, |value: [u8; 8]| value),
        Storage::Same(_) => append(values, entries, bytes, |value: [u8; 16]| value),
        Storage::Decimal16 => append(values, entries, bytes, |value: i16| i128::from(value).to_le_bytes()),
        Storage::Decimal32 => append(values, entries, bytes, |value: i32| i128::from(value).to_le_bytes()),
        Storage::Decimal64 => append(values, entries, bytes, |value: i64| i128::from(value).to_le_bytes()),
        Storage::Uuid => append(values, entries, bytes, |value: u128| (value ^ UUID_ORDER).to_be_bytes()),
        _ => {}
    }
}

/// Calls `take` with the bytes of a text, or of an enum's label.
pub(super) fn with_text<T>(type_: &SqlType, values: &VectorValues, entry: usize, take: impl FnOnce(&[u8]) -> T) -> T {
    if let Storage::Enum(width) = type_.storage {
        // SAFETY: an enum is stored in this width.
        let number = unsafe {
            match width {
                1 => usize::from(values.value::<u8>(entry)),
                2 => usize::from(values.value::<u16>(entry)),
                _ => values.value::<u32>(entry) as usize,
            }
        };
        return take(type_.labels.get(number).map_or(&[], String::as_bytes));
    }
    // SAFETY: the vector's type is a text or a blob, and callers ask for entries that are not NULL.
    take(unsafe { values.text(entry) })
}

/// Writes texts as a node, whose bitmap the caller writes. `entries` gives them; NULL is `None`. Their bytes are
/// written to where the function process reads them: together they may be larger than the memory of a call.
fn write_texts<'i, I: Iterator<Item = Option<usize>>>(
    inputs: &'i mut CallInputs<'_>,
    type_: &SqlType,
    values: &VectorValues,
    size: NodeSize,
    entries: impl Fn() -> I,
) -> Result<NodeBuffers<'i>, CallError> {
    let heap = entries().flatten().map(|entry| with_text(type_, values, entry, <[u8]>::len));
    let heap = heap.fold(0, usize::saturating_add);
    let node = inputs.node(NodeSize { values: size.length.saturating_add(1).saturating_mul(8), heap, ..size })?;
    let mut at = 0;
    node.values.write(0, &0_u64.to_le_bytes());
    for (number, entry) in (1..).zip(entries()) {
        if let Some(entry) = entry {
            at += with_text(type_, values, entry, |text| {
                node.heap.write(at, text);
                text.len()
            });
        }
        node.values.write(number * 8, &(at as u64).to_le_bytes());
    }
    Ok(node)
}

/// Writes values of a fixed width as a node.
pub(super) fn write_fixed(inputs: &mut CallInputs<'_>, bytes: &[u8], valid: &[bool]) -> Result<(), CallError> {
    let bits = bitmap(valid);
    let size = NodeSize { length: valid.len(), has_validity: bits.is_some(), values: bytes.len(), heap: 0 };
    let node = inputs.node(size)?;
    node.values.write(0, bytes);
    bits.inspect(|bits| node.validity.write_words(bits));
    Ok(())
}

/// Writes texts or blobs as a node.
pub(super) fn write_bytes(
    inputs: &mut CallInputs<'_>,
    offsets: &[u64],
    heap: &[u8],
    valid: &[bool],
) -> Result<(), CallError> {
    let bits = bitmap(valid);
    let size =
        NodeSize { length: valid.len(), has_validity: bits.is_some(), values: offsets.len() * 8, heap: heap.len() };
    let node = inputs.node(size)?;
    node.values.write_words(offsets);
    node.heap.write(0, heap);
    bits.inspect(|bits| node.validity.write_words(bits));
    Ok(())
}

/// Arrow's bitmap of values that are not NULL; `None` if all are not.
pub(super) fn bitmap(valid: &[bool]) -> Option<Vec<u64>> {
    if valid.iter().all(|is_valid| *is_valid) {
        return None;
    }
    let word =
        |rows: &[bool]| rows.iter().enumerate().fold(0, |word, (row, is_valid)| word | u64::from(*is_valid) << row);
    Some(valid.chunks(64).map(word).collect())
}
