//! The caller of functions: a function process as one thread of the server uses it.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use crate::check::{self, Fault, Refused, json};
use crate::description::describe;
use crate::error::{CallError, FunctionError, ValueFault};
use crate::function::{Function, FunctionKind};
use crate::inputs::{CallInputs, InputTarget, WrittenInputs};
use crate::layout::{Answer, AnswerHead, DATA, REQUEST_WORDS, Request, RequestHead};
use crate::loopback::{Loopback, Queries};
use crate::memory::{MemoryBudget, MemoryCharge};
use crate::output::CallOutput;
use crate::process::{NoAnswer, Process};
use crate::ring::RingSlice;
use crate::session::state::SessionState;
use crate::slots::ProcessState;
use crate::stop::{EndCondition, StopFlag};
use crate::template::EndStatus;

/// Calls functions for one thread, in a function process. Calls wait without any lock. If the process dies, the next
/// call gets another one. When this is dropped, the process waits for the session's next call.
pub struct FunctionCaller {
    session: Arc<SessionState>,
    state: ProcessState,
    /// The memory of the last call's words.
    words: Vec<u64>,
    /// Who runs the queries of functions.
    loopback: Option<Arc<dyn Loopback>>,
    stop: StopFlag,
    /// The memory of the last answer, until the next one.
    charge: MemoryCharge,
}

impl fmt::Debug for FunctionCaller {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("FunctionCaller").field("state", &self.state).finish_non_exhaustive()
    }
}

impl FunctionCaller {
    pub(crate) fn new(session: Arc<SessionState>) -> Self {
        let charge = session.budget.empty_charge();
        let (state, words, stop) = (ProcessState::default(), Vec::new(), StopFlag::default());
        Self { session, state, words, loopback: None, stop, charge }
    }

    /// Has `loopback` run the queries of functions. Calls end as soon as `stop` is set, as cancelled ones do.
    #[must_use]
    pub fn with_loopback(mut self, loopback: Option<Arc<dyn Loopback>>, stop: StopFlag) -> Self {
        (self.loopback, self.stop) = (loopback, stop);
        self
    }

    /// Begins a call with this number of rows. If the process does not know the function, it compiles it.
    ///
    /// # Errors
    /// If no process could be started, or the function does not compile.
    pub fn prepare(&mut self, function: &Arc<Function>, rows: usize) -> Result<CallInputs<'_>, CallError> {
        if self.state.process.as_ref().is_none_or(|process| !process.begin_call()) {
            // A process that was killed gives up its slot first.
            self.state = ProcessState::default();
            self.state = match self.session.take_idle() {
                Some(idle) => idle,
                None => self.session.start()?,
            };
        }
        if !self.state.compiled.has(function.id) {
            self.define(function)?;
        }
        let words = std::mem::take(&mut self.words);
        Ok(CallInputs::new(self, Arc::clone(function), rows, words))
    }

    /// Compiles a function without calling it.
    ///
    /// # Errors
    /// [`CallError::Syntax`] with the place, if it is not valid Python.
    pub fn check(&mut self, function: &Arc<Function>) -> Result<(), CallError> {
        self.prepare(function, 0).map(drop)
    }

    fn define(&mut self, function: &Function) -> Result<(), CallError> {
        let description = describe(function);
        self.grow(DATA + description.len(), function)?;
        let place = self.slice(DATA, description.len()).ok_or_else(|| self.out_of_memory(function))?;
        place.write(0, description.as_bytes());
        self.state.last = None;
        let forgotten = self.state.compiled.make_room();
        let head = self.head(Request::Define, function.id, description.len());
        let head = RequestHead { groups: forgotten.unwrap_or(0) as usize, words: forgotten.iter().len(), ..head };
        self.exchange(function, head)?;
        self.state.compiled.add(function.id);
        Ok(())
    }

    fn head(&self, request: Request, function: u64, rows: usize) -> RequestHead {
        let capacity = self.state.process.as_ref().map_or(0, |process| process.ring.size());
        RequestHead { request, function, rows, groups_at: 0, groups: 0, data_end: DATA, capacity, words: 0 }
    }

    /// Sends a request and waits until it is done. Serves what the process wants meanwhile.
    fn exchange(&self, function: &Function, mut head: RequestHead) -> Result<AnswerHead, CallError> {
        let limit = self.session.pool.source.limits.call;
        let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        let end = EndCondition { cancelled: self.session.cancelled.clone(), stop: self.stop.clone(), deadline };
        let is_call = matches!(head.request, Request::Call | Request::CallAgain);
        let mut queries = Queries::new(end, self.loopback.clone());
        loop {
            let Some(process) = &self.state.process else {
                return Err(self.broken(function, "there is no process"));
            };
            let answer = match process.exchange(&head, deadline, &|| queries.end.is_cancelled()) {
                Ok(answer) => answer,
                Err(reason) => return Err(self.lost(function, process, reason)),
            };
            match check::notices(&process.ring, &answer) {
                Ok(text) if text.is_empty() => {}
                Ok(text) => self.session.add_notices(&text),
                Err(fault) => return Err(self.broken(function, fault)),
            }
            match Answer::parse(answer.answer) {
                Some(Answer::Done) => return Ok(answer),
                Some(Answer::Failed) => {
                    return Err(match check::record(&process.ring, &answer) {
                        Ok((code, record)) if queries.has_failed_with(&code) => {
                            CallError::Query { code, record: Box::new(record) }
                        }
                        Ok((code, record)) => self.failed(function, &code, Box::new(record)),
                        Err(fault) => self.broken(function, fault),
                    });
                }
                Some(Answer::Grow) => {
                    let has_grown = usize::try_from(answer.wanted).is_ok_and(|size| process.ring.grow(size));
                    head.request = if has_grown { Request::Grown } else { Request::Refused };
                    head.capacity = process.ring.size();
                }
                Some(kind @ (Answer::Query | Answer::NextRows)) if is_call => {
                    head = queries.serve(process, kind, &answer).map_err(|fault| self.broken(function, fault))?;
                    // The query was stopped for that reason, and what stops it may be this call's flag too.
                    if process.has_ended() && !self.is_cancelled() {
                        return Err(self.lost(function, process, NoAnswer::Died));
                    }
                }
                Some(Answer::Query | Answer::NextRows) => {
                    return Err(self.broken(function, "a query outside of a call"));
                }
                None => return Err(self.broken(function, "the kind of the answer is unknown")),
            }
        }
    }

    /// The error that the process reports. It stays, except after an error of its start.
    fn failed(&self, function: &Function, code: &str, record: Box<FunctionError>) -> CallError {
        match code {
            "42601" => CallError::Syntax(record),
            "39000" => CallError::Result(record),
            "22003" => CallError::Value(ValueFault::NumberOutOfRange, record),
            "22004" => CallError::Value(ValueFault::NullNotAllowed, record),
            "22008" => CallError::Value(ValueFault::DateTimeOutOfRange, record),
            "22021" => CallError::Value(ValueFault::Text, record),
            "22023" => CallError::Value(ValueFault::Other, record),
            "55000" => CallError::State(record),
            "53200" => self.memory(function, Some(record)),
            "58000" => {
                // The process could not put its sandbox on, and has ended.
                self.state.process.iter().for_each(|process| process.kill());
                CallError::Start(record.message)
            }
            _ => CallError::Exception(record),
        }
    }

    /// The error for a process that gave no answer. It is killed.
    fn lost(&self, function: &Function, process: &Process, reason: NoAnswer) -> CallError {
        let status = if reason == NoAnswer::Died { process.end_status() } else { None };
        process.kill();
        let name = || function.name.clone();
        match (reason, self.session.pool.source.limits.call) {
            (NoAnswer::Late, Some(limit)) => CallError::Timeout { function: name(), limit },
            (NoAnswer::Cancelled | NoAnswer::Late, _) => CallError::Cancelled { function: name() },
            (NoAnswer::Died, _) => match status {
                Some(EndStatus::Signal(signal)) => CallError::Signal { function: name(), signal },
                Some(EndStatus::Exit(status)) => CallError::Exit { function: name(), status },
                None => CallError::Start("the template process has ended; try again".to_owned()),
            },
        }
    }

    /// The error for an answer that is not valid. The process is killed.
    fn broken(&self, function: &Function, fault: Fault) -> CallError {
        self.state.process.iter().for_each(|process| process.kill());
        CallError::Broken { function: function.name.clone(), fault }
    }

    fn memory(&self, function: &Function, record: Option<Box<FunctionError>>) -> CallError {
        CallError::Memory { function: function.name.clone(), limit: self.session.pool.source.limits.memory, record }
    }

    /// Whether the session's statement was cancelled. A caller that computes for long between two calls may ask.
    pub fn is_cancelled(&self) -> bool {
        self.session.cancelled.is_set()
    }
}

impl InputTarget for FunctionCaller {
    fn budget(&self) -> &Arc<MemoryBudget> {
        &self.session.budget
    }

    fn grow(&mut self, size: usize, function: &Function) -> Result<(), CallError> {
        let is_grown = self.state.process.as_ref().is_some_and(|process| process.ring.grow(size));
        if is_grown { Ok(()) } else { Err(self.out_of_memory(function)) }
    }

    fn slice(&self, at: usize, bytes: usize) -> Option<RingSlice<'_>> {
        self.state.process.as_ref().and_then(|process| process.ring.slice(at, bytes))
    }

    fn out_of_memory(&self, function: &Function) -> CallError {
        self.memory(function, None)
    }

    fn call(&mut self, function: &Arc<Function>, inputs: WrittenInputs) -> Result<CallOutput<'_>, CallError> {
        let WrittenInputs { rows, words, groups_at, groups, data_end } = inputs;
        let place = self.slice(REQUEST_WORDS, words.len() * 8).ok_or_else(|| self.out_of_memory(function))?;
        place.write_words(&words);
        let head = self.head(Request::Call, function.id, rows);
        let head = RequestHead { groups_at, groups, data_end, words: words.len(), ..head };
        let is_again = self.state.last.as_ref().is_some_and(|last| last.0 == head && last.1 == words);
        let last = self.state.last.take().filter(|_| is_again);
        let head = RequestHead { request: if is_again { Request::CallAgain } else { Request::Call }, ..head };
        let begun = Instant::now();
        if let Some(process) = &self.state.process {
            self.state.pace.before_call(process);
        }
        let answer = self.exchange(function, head);
        self.state.process.iter().for_each(|process| process.end_call());
        let answer = answer?;
        self.state.pace.after_call(begun.elapsed());
        self.state.last = last.or_else(|| Some((head, words.clone())));
        self.words = words;
        let expected = match function.kind {
            FunctionKind::Scalar => Some(rows),
            FunctionKind::Aggregate | FunctionKind::AggregatePerGroup => Some(groups),
            FunctionKind::Table | FunctionKind::AnyTable => None,
        };
        let Some(process) = &self.state.process else {
            return Err(self.broken(function, "there is no process"));
        };
        let is_any = function.kind == FunctionKind::AnyTable;
        let (names, any) = if is_any {
            let found = check::any_columns(&process.ring, &answer, &function.parameters);
            found.map_err(|fault| self.broken(function, fault))?
        } else {
            Default::default()
        };
        let declared = function.results.iter().map(|result| &result.column_type);
        let types: Vec<_> = if is_any { any.iter().collect() } else { declared.collect() };
        let (rows, columns) = match check::columns(&process.ring, &answer, &types, expected, &mut self.charge) {
            Ok(found) => found,
            Err(Refused::Fault(fault)) => return Err(self.broken(function, fault)),
            Err(Refused::Memory(exceeded)) => return Err(CallError::exceeded(function, exceeded)),
        };
        json::check(&columns, &types)?;
        Ok(CallOutput { rows, names, columns, charge: &mut self.charge })
    }
}

impl Drop for FunctionCaller {
    fn drop(&mut self) {
        self.state.pace.end_calls();
        self.session.give_back(std::mem::take(&mut self.state));
    }
}
