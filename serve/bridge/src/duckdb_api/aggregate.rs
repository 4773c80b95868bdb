//! The callbacks of `colonnade_aggregate`: one result for each group.

use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use colonnade_udf::{CallError, Form, MemoryExceeded, MemoryVec};

use super::arguments::encoded::Decoded;
use super::arguments::{Rows, write_bytes, write_fixed};
use super::bound::BoundCall;
use super::capture::{Capture, KeepError, Role, from_decoded, from_parts};
use super::gathered::{
    COMBINED, Contiguous, GatherError, Gathered, NO_ROWS, Part, PartsError, State, contiguous, values_of, write_parts,
};
use super::handles::{CallbackError, checked, object, owned, report};
use super::registry::OWN_ARGUMENTS;
use super::registry::TYPES;
use super::results::{self, NONE, TargetRows};
use super::symbols::{Api, Code, Handle};
use super::vectors::VectorValues;

/// A bound call with its rows.
struct AggregateCall {
    call: BoundCall,
    gathered: Gathered,
}

impl AggregateCall {
    fn exceeded(&self, exceeded: MemoryExceeded) -> CallbackError {
        self.call.session.exceeded(exceeded, &self.call.definition.function)
    }

    fn failed(&self, error: GatherError) -> CallbackError {
        match error {
            GatherError::Values => "DuckDB gives no values of a nested argument".into(),
            GatherError::State => "a group of an aggregate does not belong to its call".into(),
            GatherError::Memory(exceeded) => self.exceeded(exceeded),
        }
    }
}

/// The states of a callback. Other threads may combine the same states at the same time.
struct States {
    states: *mut *mut u64,
}

impl States {
    /// Those that `read` gives.
    fn new(api: &Api, read: impl FnOnce(*mut *mut *mut u64, *mut Handle) -> Code) -> Result<Self, CallbackError> {
        let mut states = ptr::null_mut();
        checked(api, |error| read(&raw mut states, error))?;
        Ok(Self { states })
    }

    /// # Safety
    /// The callback has a state of this number, which DuckDB keeps during the callback.
    unsafe fn state(&self, number: usize) -> Result<&AtomicU64, CallbackError> {
        // SAFETY: the caller promises it.
        let state = unsafe { *self.states.add(number) };
        if state.is_null() || !state.is_aligned() {
            return Err("a state of an aggregate is not aligned".into());
        }
        // SAFETY: as above; all accesses to states are atomic.
        Ok(unsafe { AtomicU64::from_ptr(state) })
    }
}

/// Decides the type of the result, and keeps the call.
pub(super) unsafe extern "C" fn bind(info: Handle, types: Handle, context: Handle, error: *mut Handle) {
    // SAFETY: DuckDB calls this with the handles of a bind.
    unsafe {
        report(error, |api| {
            let call = BoundCall::read(api, info, context)?.noted();
            call.session.deferral.note(&call.definition);
            let result = TYPES.parse(api, context, &call.definition.result.name)?;
            checked(api, |error| (api.v2_aggregate_function_bind_set_return_type)(types, result.handle, error))?;
            let gathered = Gathered::new(call.definition.parameters.clone(), call.session.budget()?);
            let mut data = owned(AggregateCall { call, gathered });
            checked(api, |error| (api.v2_function_bind_set_bind_data)(info, &raw mut data, error))
        });
    }
}

/// A state is a number of 8 bytes.
pub(super) unsafe extern "C" fn size(info: Handle, error: *mut Handle) {
    // SAFETY: DuckDB calls this with a live handle.
    unsafe {
        report(error, |api| {
            checked(api, |error| {
                (api.v2_aggregate_function_size_set_state_size)(info, size_of::<State>() as u64, error)
            })
        });
    }
}

/// Makes states without rows.
pub(super) unsafe extern "C" fn begin(info: Handle, error: *mut Handle) {
    // SAFETY: DuckDB calls this with a live handle, the data of `bind`, and memory for as many states as it counts.
    unsafe {
        report(error, |api| {
            let call: &AggregateCall =
                object(api, |out, error| (api.v2_aggregate_function_init_get_bind_data)(info, out, error))?;
            let states = States::new(api, |out, error| (api.v2_aggregate_function_init_get_states)(info, out, error))?;
            let count = count(api, |out, error| (api.v2_aggregate_function_init_get_state_count)(info, out, error))?;
            for number in 0..count {
                (*states.states.add(number)).write_unaligned(NO_ROWS);
            }
            call.gathered.begin(count as u64);
            Ok(())
        });
    }
}

/// Forgets states.
pub(super) unsafe extern "C" fn end(info: Handle, error: *mut Handle) {
    // SAFETY: DuckDB calls this with a live handle and the data of `bind`.
    unsafe {
        report(error, |api| {
            let call: &AggregateCall =
                object(api, |out, error| (api.v2_aggregate_function_destroy_get_bind_data)(info, out, error))?;
            let count = count(api, |out, error| (api.v2_aggregate_function_destroy_get_state_count)(info, out, error))?;
            call.gathered.end(count as u64);
            Ok(())
        });
    }
}

/// Gathers the rows of a vector.
pub(super) unsafe extern "C" fn update(info: Handle, error: *mut Handle) {
    // SAFETY: DuckDB calls this with a live handle, the data of `bind`, and a state for each row.
    unsafe {
        report(error, |api| {
            let call: &AggregateCall =
                object(api, |out, error| (api.v2_aggregate_function_update_get_bind_data)(info, out, error))?;
            let states =
                States::new(api, |out, error| (api.v2_aggregate_function_update_get_states)(info, out, error))?;
            call.call.check_resolved()?;
            let rows = count(api, |out, error| (api.v2_aggregate_function_update_get_row_count)(info, out, error))?;
            let parameters = call.call.definition.parameters.len() as u64;
            let arguments = (OWN_ARGUMENTS..OWN_ARGUMENTS + parameters).map(|index| {
                let mut vector = ptr::null_mut();
                checked(api, |error| (api.v2_aggregate_function_update_get_arg)(info, index, &raw mut vector, error))?;
                VectorValues::new(api, vector)
            });
            let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
            let has_null = |row: &u32| arguments.iter().any(|values| !values.is_valid(values.entry(*row as usize)));
            let may_be_null = arguments.iter().any(|values| !values.has_no_null());
            let is_reduced = call.call.definition.function.is_strict && may_be_null;
            let chosen: Vec<_> =
                if is_reduced { (0..rows as u32).filter(|row| !has_null(row)).collect() } else { Vec::new() };
            let chosen = if is_reduced { Rows::Chosen(&chosen) } else { Rows::First(rows) };
            let state_of = |row| states.state(row).ok().map(|state| state.load(Ordering::Relaxed));
            let set = |row, next| {
                if let Ok(state) = states.state(row) {
                    state.store(next, Ordering::Relaxed);
                }
            };
            call.gathered.append(&arguments, chosen, state_of, set).map_err(|error| call.failed(error))
        });
    }
}

/// Adds the rows of states to others.
pub(super) unsafe extern "C" fn combine(info: Handle, error: *mut Handle) {
    // SAFETY: DuckDB calls this with a live handle, the data of `bind`, and as many states of both sides as it counts.
    unsafe {
        report(error, |api| {
            let call: &AggregateCall =
                object(api, |out, error| (api.v2_aggregate_function_combine_get_bind_data)(info, out, error))?;
            let sources =
                States::new(api, |out, error| (api.v2_aggregate_function_combine_get_sources)(info, out, error))?;
            let targets =
                States::new(api, |out, error| (api.v2_aggregate_function_combine_get_targets)(info, out, error))?;
            let count = count(api, |out, error| (api.v2_aggregate_function_combine_get_state_count)(info, out, error))?;
            for number in 0..count {
                let source = sources.state(number)?;
                let target = targets.state(number)?;
                if source.load(Ordering::Relaxed) == NO_ROWS {
                    continue;
                }
                let added = source.fetch_or(COMBINED, Ordering::Relaxed) | COMBINED;
                let before = target.load(Ordering::Relaxed);
                let next = if before == NO_ROWS {
                    added
                } else {
                    call.gathered.pair(before, added).map_err(|error| call.failed(error))?
                };
                target.store(next, Ordering::Relaxed);
            }
            Ok(())
        });
    }
}

/// Calls the function for the groups of states.
pub(super) unsafe extern "C" fn finalize(info: Handle, error: *mut Handle) {
    // SAFETY: DuckDB calls this with a live handle, the data of `bind`, as many states as it counts, and a vector with
    // a row for each.
    unsafe {
        report(error, |api| {
            let call: &AggregateCall =
                object(api, |out, error| (api.v2_aggregate_function_finalize_get_bind_data)(info, out, error))?;
            let states =
                States::new(api, |out, error| (api.v2_aggregate_function_finalize_get_states)(info, out, error))?;
            let count =
                count(api, |out, error| (api.v2_aggregate_function_finalize_get_state_count)(info, out, error))?;
            let mut first = 0;
            checked(api, |error| (api.v2_aggregate_function_finalize_get_result_offset)(info, &raw mut first, error))?;
            let mut result = ptr::null_mut();
            checked(api, |error| (api.v2_aggregate_function_finalize_get_result)(info, &raw mut result, error))?;
            let groups = (0..count).map(|number| Ok(states.state(number)?.load(Ordering::Relaxed)));
            let groups = groups.collect::<Result<Vec<_>, CallbackError>>()?;
            aggregate(api, call, &groups, first as usize, result)
        });
    }
}

fn count(api: &Api, read: impl FnOnce(*mut u64, *mut Handle) -> Code) -> Result<usize, CallbackError> {
    let mut count = 0;
    checked(api, |error| read(&raw mut count, error))?;
    Ok(count as usize)
}

/// # Safety
/// `result` is the vector of a finalization, with room for these groups from row `first` on.
unsafe fn aggregate(
    api: &Api,
    call: &AggregateCall,
    groups: &[State],
    first: usize,
    result: Handle,
) -> Result<(), CallbackError> {
    let AggregateCall { call: bound, gathered } = call;
    let function = &bound.definition.function;
    let mut parts = MemoryVec::new(gathered.budget());
    let mut sources = vec![NONE; groups.len()];
    let mut ends = vec![0_u64];
    let mut rows = 0;
    for (group, source) in groups.iter().zip(&mut sources) {
        let added = gathered.parts(*group, &mut parts).map_err(|error| call.failed(error))?;
        // A group without rows is NULL without a call.
        if added > 0 {
            *source = ends.len() as u32 - 1;
            rows += added;
            ends.push(rows as u64);
        }
    }
    let target = TargetRows { first, count: groups.len(), sources: Some(&sources) };
    let called = ends.len() - 1;
    if called == 0 {
        // SAFETY: the caller promises the vector, whose type `bind` has set.
        return unsafe { results::write(api, result, &bound.definition.result, None, target) };
    }
    match bound.role() {
        Role::Run => {}
        role => {
            if let Role::Capture(capture) = role {
                keep(call, &capture, &parts, &ends)?;
            }
            // SAFETY: as above.
            return unsafe { results::write(api, result, &bound.definition.result, None, target) };
        }
    }
    let failed = |error: CallError| bound.session.call_failed(&error, function);
    let mut caller = bound.session.caller()?;
    let mut inputs = caller.prepare(function, rows).map_err(failed)?;
    for (index, parameter) in function.parameters.iter().enumerate() {
        let type_ = &bound.definition.parameters[index];
        if !parameter.is_scalar && !type_.storage.is_nested() {
            inputs.parameter(Form::Array).map_err(failed)?;
            write_parts(&mut inputs, &parts, index, rows).map_err(|error| match error {
                PartsError::Call(error) => failed(error),
                PartsError::Gather(error) => call.failed(error),
            })?;
            continue;
        }
        let mut values = contiguous(&parts, index, rows).map_err(|error| call.failed(error))?;
        if parameter.is_scalar {
            let mut value = MemoryVec::new(gathered.budget());
            let is_one = one(&mut values, rows).is_ok();
            if is_one {
                let is_valid = values.valid.first().copied().unwrap_or(false);
                let copied = value.push(u8::from(is_valid)).and_then(|()| value.extend_from_slice(&values.bytes));
                copied.map_err(|exceeded| call.exceeded(exceeded))?;
            }
            bound.check_scalar(&parameter.name, is_one.then_some(value))?;
        }
        inputs.parameter(if parameter.is_scalar { Form::Repeated } else { Form::Array }).map_err(failed)?;
        let Contiguous { valid, bytes, offsets } = values;
        if type_.storage.is_nested() {
            drop(valid);
            let decoded = Decoded::of(type_, gathered.budget(), values_of(&offsets, &bytes));
            decoded.map_err(|exceeded| call.exceeded(exceeded))?.write(&mut inputs).map_err(failed)?;
            continue;
        }
        let written = if offsets.is_empty() {
            write_fixed(&mut inputs, &bytes, &valid)
        } else {
            write_bytes(&mut inputs, &offsets, &bytes, &valid)
        };
        written.map_err(failed)?;
    }
    inputs.groups(called).map_err(failed)?.write_words(&ends);
    let output = inputs.call().map_err(failed)?;
    let column = output.columns.first().ok_or("an aggregate has no result")?;
    // SAFETY: as above.
    let written = unsafe { results::write(api, result, &bound.definition.result, Some(column), target) };
    written.map_err(|error| bound.session.result_failed(error, function))
}

/// Keeps the rows of groups, instead of a call. `ends` has the end of each group's rows after a 0.
fn keep(call: &AggregateCall, capture: &Capture, parts: &MemoryVec<Part>, ends: &[u64]) -> Result<(), CallbackError> {
    let bound = &call.call;
    let rows = ends.last().map_or(0, |end| *end as usize);
    let counts: Vec<_> = ends.windows(2).map(|pair| (pair[1] - pair[0]) as usize).collect();
    let columns = |chosen: &[usize]| {
        let columns = bound.definition.parameters.iter().enumerate().map(|(index, type_)| {
            let values = contiguous(parts, index, rows).map_err(|error| call.failed(error))?;
            let exceeded = |exceeded| call.exceeded(exceeded);
            let values = if chosen.len() == rows { values } else { values.only(chosen).map_err(exceeded)? };
            // The array is a copy, which the capture charges once it is there.
            let _array = values.budget().charge(values.size()).map_err(exceeded)?;
            if type_.storage.is_nested() {
                let texts = values_of(&values.offsets, &values.bytes);
                return from_decoded(&Decoded::of(type_, values.budget(), texts).map_err(exceeded)?);
            }
            from_parts(&type_.column_type, &values.valid, &values.bytes, &values.offsets)
        });
        Ok(columns.collect::<Result<_, CallbackError>>()?)
    };
    capture.keep(rows, Some(&counts), columns).map_err(|error| match error {
        KeepError::Store(error) => bound.session.not_kept(error, &bound.definition.function),
        KeepError::Callback(error) => error,
    })
}

/// Leaves one of equal values.
fn one(values: &mut Contiguous, rows: usize) -> Result<(), ()> {
    let is_text = !values.offsets.is_empty();
    let width = if is_text { values.offsets[1] as usize } else { values.bytes.len() / rows };
    let has_equal_texts = !is_text || values.offsets.windows(2).all(|pair| (pair[1] - pair[0]) as usize == width);
    let has_equal_bytes = width == 0 || values.bytes.chunks(width).all(|value| value == &values.bytes[..width]);
    if !has_equal_texts || !has_equal_bytes || values.valid.iter().any(|is_valid| *is_valid != values.valid[0]) {
        return Err(());
    }
    values.valid.truncate(1);
    values.bytes.truncate(width);
    values.offsets.truncate(2);
    Ok(())
}
