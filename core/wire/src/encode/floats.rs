//! Floats: as scaled integers if they are decimals, with the alp crate. FORMAT §6.8.

use alp::{ALPFloat, Exponents};

use super::body::{Body, NodeStart};
use super::column::{Context, Memory};
use super::dictionary::{Dictionary, put_codes};
use super::fixed::{put_opaque, typed};
use super::nulls::Present;
use super::retry::RetryInterval;
use super::{integers, sample};
use crate::Encoding;
use crate::int::{Int, bits_for};

/// With a larger share of exceptions ALP saves too little.
const MAX_EXCEPTIONS: f64 = 0.1;

/// An encoding is used only if its size is below this ratio of the plain size.
const MAX_SIZE_RATIO: f64 = 0.85;

/// Results of a float column's earlier chunks.
#[derive(Default)]
pub(super) struct Scale {
    exponents: Option<Exponents>,
    alp: RetryInterval,
}

/// Adds a column of floats.
pub(super) fn put<'a, F, I>(
    body: &mut Body<'a>,
    node: NodeStart,
    present: &Present<'a>,
    values: &'a [u8],
    memory: &mut Memory,
    context: &Context<'_>,
) where
    F: ALPFloat<ALPInt = I> + bytemuck::Pod,
    I: Int,
{
    let bits = typed::<I>(values);
    let picked = present.pick(&bits);
    let picked: &[I] = picked.as_deref().unwrap_or(&bits);
    if picked.windows(2).all(|pair| pair[0] == pair[1]) || picked.len() < 16 {
        return put_opaque(body, node, present.pick_bytes(values, I::BYTES), I::BYTES, context);
    }
    let limit = (size_of_val(picked) as f64 * MAX_SIZE_RATIO) as usize;
    if context.may(Encoding::Alp) && memory.scale.alp.is_due(picked.len()) {
        let floats: &[F] = bytemuck::cast_slice(picked);
        if put_alp(body, node, floats, limit, &mut memory.scale, context) {
            return;
        }
        memory.scale.alp.failed(picked.len());
    }
    if context.may(Encoding::Dictionary) && memory.dictionary.is_due(picked.len()) {
        if put_dictionary(body, node, picked, limit, context) {
            return;
        }
        memory.dictionary.failed(picked.len());
    }
    put_opaque(body, node, present.pick_bytes(values, I::BYTES), I::BYTES, context);
}

/// Returns whether it saved enough. If not, nothing was added.
fn put_alp<F, I>(
    body: &mut Body<'_>,
    node: NodeStart,
    values: &[F],
    limit: usize,
    scale: &mut Scale,
    context: &Context<'_>,
) -> bool
where
    F: ALPFloat<ALPInt = I> + bytemuck::Pod,
    I: Int,
{
    let sampled: Vec<F> = sample::positions(values.len(), sample::SAMPLE).map(|at| values[at]).collect();
    let misses = |exponents: Exponents| {
        let missed = sampled.iter().filter(|&&value| F::encode_single(value, exponents).is_none()).count();
        missed as f64 / sampled.len() as f64
    };
    let kept = scale.exponents.filter(|&exponents| misses(exponents) <= MAX_EXCEPTIONS / 2.0);
    let exponents = kept.unwrap_or_else(|| F::find_best_exponents(&sampled));
    if misses(exponents) > MAX_EXCEPTIONS {
        return false;
    }
    scale.exponents = Some(exponents);
    let mut encoded = Vec::with_capacity(values.len());
    let (mut positions, mut exceptions) = (Vec::new(), Vec::new());
    F::encode_into(
        values,
        Some(exponents),
        encoded.spare_capacity_mut().split_at_mut(values.len()).0,
        &mut positions,
        &mut exceptions,
        &mut Vec::new(),
    );
    // SAFETY: encode_into writes one integer for each value, and the capacity is at least that.
    unsafe { encoded.set_len(values.len()) };
    let start = body.mark();
    body.set(node, Encoding::Alp, 0);
    body.put(&[exponents.e, exponents.f, 0, 0]);
    body.put_u32(positions.len() as u32);
    integers::put_node::<I>(body, &encoded, context);
    positions.iter().for_each(|&position| body.put_u32(position as u32));
    body.align(8);
    body.put(bytemuck::cast_slice(&exceptions));
    if body.since(start) < limit {
        return true;
    }
    body.rewind(start);
    body.set(node, Encoding::Plain, 0);
    false
}

/// The same for a dictionary.
fn put_dictionary<I: Int>(
    body: &mut Body<'_>,
    node: NodeStart,
    values: &[I],
    limit: usize,
    context: &Context<'_>,
) -> bool {
    let hashes = sample::positions(values.len(), sample::SAMPLE).map(|at| sample::hash(values[at].to_bits()));
    let Some(distinct) = sample::distinct(hashes) else { return false };
    let size = |entries: usize| entries * I::BYTES + values.len() * bits_for(entries as u64 - 1) / 8 + 64;
    if size(distinct) >= limit {
        return false;
    }
    let Some(dictionary) = Dictionary::of(values, distinct * 2) else { return false };
    let count = dictionary.entries.len();
    if size(count) >= limit {
        return false;
    }
    body.set(node, Encoding::Dictionary, 0);
    body.put_u32(count as u32);
    body.put_u32(0);
    body.start(0, 0);
    body.align(64);
    body.put(bytemuck::cast_slice(&dictionary.entries));
    body.align(8);
    put_codes(body, &dictionary.codes, count, context);
    true
}
