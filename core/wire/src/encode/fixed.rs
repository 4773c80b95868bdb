//! Values of one width: bits, integers, floats, opaque, wide, parts. FORMAT §6.2 to §6.10.

use std::borrow::Cow;

use super::body::{Body, NodeStart};
use super::column::{Context, Memory};
use super::nulls::{self, Present};
use super::{floats, integers};
use crate::int::Int;
use crate::simd::vectorized;
use crate::{Bitmap, Encoding, Layout};

/// Adds a column of bits.
pub(super) fn put_bits<'a>(
    body: &mut Body<'a>,
    node: NodeStart,
    bits: Bitmap<&'a [u8]>,
    rows: usize,
    context: &Context<'_>,
) {
    if !context.plain() && rows > 0 && context.may(Encoding::Constant) {
        let ones = bits.count_ones(rows);
        if ones == 0 || ones == rows {
            return body.set(node, Encoding::Constant, u8::from(ones > 0));
        }
    }
    nulls::put_bits(body, bits, rows);
}

/// Adds a column of layout integer, float, opaque, wide or parts.
pub(super) fn put<'a>(
    body: &mut Body<'a>,
    node: NodeStart,
    present: &Present<'a>,
    values: &'a [u8],
    layout: Layout,
    memory: &mut Memory,
    context: &Context<'_>,
) -> Option<()> {
    let width = layout.fixed_width()?;
    let values = values.get(..present.rows * width)?;
    if context.plain() {
        body.align(64);
        body.put_borrowed(values);
        return Some(());
    }
    match layout {
        Layout::Integer(1) => put_integers::<i8>(body, node, present, values, memory, context),
        Layout::Integer(2) => put_integers::<i16>(body, node, present, values, memory, context),
        Layout::Integer(4) => put_integers::<i32>(body, node, present, values, memory, context),
        Layout::Integer(_) => put_integers::<i64>(body, node, present, values, memory, context),
        Layout::Float(4) => floats::put::<f32, i32>(body, node, present, values, memory, context),
        Layout::Float(_) => floats::put::<f64, i64>(body, node, present, values, memory, context),
        Layout::Wide(_) if context.may(Encoding::Split) => {
            put_wide(body, node, present, values, width / 8, memory, context);
        }
        Layout::Parts(parts) if context.may(Encoding::Split) => {
            put_parts(body, node, present, values, parts, memory, context);
        }
        _ => put_opaque(body, node, present.pick_bytes(values, width), width, context),
    }
    Some(())
}

/// The bytes as integers, without a copy if they are aligned.
pub(super) fn typed<T: bytemuck::Pod>(bytes: &[u8]) -> Cow<'_, [T]> {
    match bytemuck::try_cast_slice(bytes) {
        Ok(values) => Cow::Borrowed(values),
        Err(_) => Cow::Owned(bytemuck::pod_collect_to_vec(bytes)),
    }
}

fn put_integers<'a, T: Int>(
    body: &mut Body<'a>,
    node: NodeStart,
    present: &Present<'a>,
    values: &'a [u8],
    memory: &mut Memory,
    context: &Context<'_>,
) {
    let typed = typed::<T>(values);
    match present.pick(&typed) {
        Some(picked) => integers::put(body, node, &picked, None, context, Some(memory)),
        None => {
            let lasting = if let Cow::Borrowed(lasting) = &typed { Some(*lasting) } else { None };
            integers::put(body, node, &typed, lasting, context, Some(memory));
        }
    }
}

/// Adds values that can only be compared for equality.
pub(super) fn put_opaque<'a>(
    body: &mut Body<'a>,
    node: NodeStart,
    values: Cow<'a, [u8]>,
    width: usize,
    context: &Context<'_>,
) {
    if values.len() > width && context.may(Encoding::Constant) && values[width..] == values[..values.len() - width] {
        body.set(node, Encoding::Constant, 0);
        return body.put(&values[..width]);
    }
    body.align(64);
    match values {
        Cow::Borrowed(values) => body.put_borrowed(values),
        Cow::Owned(values) => body.put(&values),
    }
}

/// Adds integers of `limbs` × 8 bytes. Limbs that only repeat the sign are omitted. FORMAT §6.10.
fn put_wide<'a>(
    body: &mut Body<'a>,
    node: NodeStart,
    present: &Present<'a>,
    values: &'a [u8],
    limbs: usize,
    memory: &mut Memory,
    context: &Context<'_>,
) {
    let limbs_of_all = typed::<i64>(values);
    if let Some(narrow) = narrow(present, &limbs_of_all, limbs) {
        return put_one_limb(body, node, present, &narrow, memory, context);
    }
    let columns: Vec<Vec<i64>> = (0..limbs)
        .map(|limb| {
            let column: Vec<i64> = limbs_of_all[limb..].iter().step_by(limbs).copied().collect();
            present.pick(&column).unwrap_or(column)
        })
        .collect();
    let rows = present.stored();
    let is_sign = |part: usize, row: usize| columns[part][row] == columns[part - 1][row] >> 63;
    let mut parts = limbs;
    while parts > 1 && (0..rows).all(|row| is_sign(parts - 1, row)) {
        parts -= 1;
    }
    body.set(node, Encoding::Split, parts as u8);
    for (limb, column) in columns[..parts].iter().enumerate() {
        let part = body.start(0, 0);
        integers::put(body, part, column, None, context, Some(memory.child(limb)));
        body.align(8);
    }
}

/// Adds integers of layout `Wide(16)` that are given by their lowest limbs.
pub(super) fn put_narrow(
    body: &mut Body<'_>,
    node: NodeStart,
    present: &Present<'_>,
    values: &[i64],
    memory: &mut Memory,
    context: &Context<'_>,
) {
    if !context.plain() && context.may(Encoding::Split) {
        return put_one_limb(body, node, present, values, memory, context);
    }
    let wide: Vec<i128> = if present.sparse().is_none() {
        values.iter().map(|&value| i128::from(value)).collect()
    } else {
        (0..present.rows).filter(|&row| present.is_valid(row)).map(|row| i128::from(values[row])).collect()
    };
    let bytes: &[u8] = bytemuck::cast_slice(&wide);
    if context.plain() {
        body.align(64);
        return body.put(bytes);
    }
    put_opaque(body, node, Cow::Owned(bytes.to_vec()), 16, context);
}

/// Adds the lowest limbs of wide integers, of which the others are copies of the sign.
fn put_one_limb(
    body: &mut Body<'_>,
    node: NodeStart,
    present: &Present<'_>,
    values: &[i64],
    memory: &mut Memory,
    context: &Context<'_>,
) {
    body.set(node, Encoding::Split, 1);
    let part = body.start(0, 0);
    let picked = present.pick(values);
    integers::put(body, part, picked.as_deref().unwrap_or(values), None, context, context.tries(memory.child(0)));
    body.align(8);
}

/// The lowest limb of each value, if the other limbs of all valid values are copies of its sign.
fn narrow(present: &Present<'_>, values: &[i64], limbs: usize) -> Option<Vec<i64>> {
    if limbs == 2 && !present.some_null() {
        return narrow_pairs::<i64>(values);
    }
    let mut narrow = Vec::with_capacity(present.rows);
    let mut rest = 0;
    narrow.extend(values.chunks_exact(limbs).enumerate().map(|(row, value)| {
        if present.is_valid(row) {
            value[1..].iter().for_each(|limb| rest |= limb ^ (value[0] >> 63));
        }
        value[0]
    }));
    (rest == 0).then_some(narrow)
}

vectorized! {
    /// The same for values of two limbs without NULLs.
    fn narrow_pairs<T: Int>(values: &[i64]) -> Option<Vec<T>> {
        let mut narrow = vec![T::ZERO; values.len() / 2];
        let mut rest = 0;
        // A plain loop, because the compiler does not vectorize `collect`.
        for (narrow, &[low, high]) in narrow.iter_mut().zip(values.as_chunks().0) {
            rest |= high ^ (low >> 63);
            *narrow = T::from_bits(low as u64);
        }
        (rest == 0).then_some(narrow)
    }
}

/// Adds records of small integers, one node for each part. FORMAT §6.10.
fn put_parts<'a>(
    body: &mut Body<'a>,
    node: NodeStart,
    present: &Present<'a>,
    values: &'a [u8],
    parts: &[usize],
    memory: &mut Memory,
    context: &Context<'_>,
) {
    fn put_part<T: Int>(
        body: &mut Body<'_>,
        present: &Present<'_>,
        records: std::slice::ChunksExact<'_, u8>,
        at: usize,
        memory: &mut Memory,
        context: &Context<'_>,
    ) {
        let part = body.start(0, 0);
        let column: Vec<T> = records.map(|record| T::read_le(&record[at..])).collect();
        let picked = present.pick(&column);
        integers::put(body, part, picked.as_deref().unwrap_or(&column), None, context, Some(memory));
        body.align(8);
    }
    body.set(node, Encoding::Split, parts.len() as u8);
    let mut at = 0;
    for (index, &part) in parts.iter().enumerate() {
        let records = values.chunks_exact(parts.iter().sum());
        match part {
            4 => put_part::<i32>(body, present, records, at, memory.child(index), context),
            _ => put_part::<i64>(body, present, records, at, memory.child(index), context),
        }
        at += part;
    }
}
