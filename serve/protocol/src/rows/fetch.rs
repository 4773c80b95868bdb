//! FETCH and MOVE of a cursor.

use colonnade_sql::statement::FetchDirection;

use super::scroll::{Fetched, ScrollRows};
use super::{Cursor, Formats, SentRows};
use crate::connection::cancel::Control;
use crate::connection::output::Output;
use crate::error::Failure;
use crate::value::TextStyle;

/// Where FETCH sends its rows.
pub struct Receiver<'a> {
    pub output: &'a mut Output,
    pub formats: &'a Formats,
    pub style: TextStyle,
}

impl Cursor {
    /// Reads all rows, so that the cursor can move back.
    ///
    /// # Errors
    /// If the engine fails, or a quota is exceeded.
    pub fn make_scrollable(&mut self, control: &Control) -> Result<(), Failure> {
        let schema = self.rows.schema();
        let scroll = ScrollRows::write(&control.spools, &control.budget, &schema, || self.next(control))?;
        self.scroll = Some(scroll.into());
        Ok(())
    }

    /// Moves the cursor, and sends the rows that FETCH gives, or none for MOVE. Gives their number.
    ///
    /// # Errors
    /// If the cursor cannot move back, or the rows cannot be read or sent.
    pub fn fetch(
        &mut self,
        control: &Control,
        direction: FetchDirection,
        receiver: Option<Receiver<'_>>,
    ) -> Result<u64, Failure> {
        if self.scroll.is_some() {
            self.scroll(control, direction, receiver)
        } else {
            self.go_on(control, direction, receiver)
        }
    }

    fn scroll(
        &mut self,
        control: &Control,
        direction: FetchDirection,
        mut receiver: Option<Receiver<'_>>,
    ) -> Result<u64, Failure> {
        let Some(mut scroll) = self.scroll.take() else { return Ok(0) };
        let unused = self.rest.take().map_or(0, |rest| rest.num_rows() as u64);
        scroll.set_position(scroll.position() - unused);
        let fetched = scroll.plan(direction);
        let sent = match &mut receiver {
            Some(receiver) => self.send_fetched(control, &mut scroll, &fetched, receiver),
            None => Ok(()),
        };
        scroll.set_position(fetched.position);
        self.scroll = Some(scroll);
        sent.map(|()| fetched.rows.end.saturating_sub(fetched.rows.start))
    }

    fn send_fetched(
        &self,
        control: &Control,
        scroll: &mut ScrollRows,
        fetched: &Fetched,
        receiver: &mut Receiver<'_>,
    ) -> Result<(), Failure> {
        let mut left = fetched.rows.clone();
        while !left.is_empty() {
            control.check()?;
            let next = if fetched.is_backward { left.end - 1 } else { left.start };
            let (batch, numbers) = scroll.batch_of(&control.budget, next)?;
            let (first, end) = (left.start.max(numbers.start), left.end.min(numbers.end));
            let rows = (first - numbers.start) as usize..(end - numbers.start) as usize;
            let Receiver { output, formats, style } = receiver;
            if fetched.is_backward {
                self.write(output, &batch, rows.rev(), formats, *style)?;
                left.end = first;
            } else {
                self.write(output, &batch, rows, formats, *style)?;
                left.start = end;
            }
        }
        Ok(())
    }

    /// FETCH or MOVE of a cursor that does not move back.
    fn go_on(
        &mut self,
        control: &Control,
        direction: FetchDirection,
        receiver: Option<Receiver<'_>>,
    ) -> Result<u64, Failure> {
        let is_after = self.has_ended && self.rest.is_none();
        let is_on_row = self.position > 0 && !is_after;
        // The number of rows to leave out, and of those to give.
        let (skipped, count) = match direction {
            FetchDirection::Rows(0) | FetchDirection::Relative(0) => match receiver {
                None => return Ok(is_on_row.into()),
                Some(_) if is_on_row => return Err(Failure::BackwardFetch),
                Some(_) => return Ok(0),
            },
            FetchDirection::Absolute(0) if self.position == 0 => return Ok(0),
            FetchDirection::All => (0, None),
            FetchDirection::Rows(count) if count > 0 => (0, Some(count.unsigned_abs())),
            FetchDirection::Relative(count) if count > 0 => (count.unsigned_abs() - 1, Some(1)),
            FetchDirection::Absolute(row) if row > 0 && row.unsigned_abs() > self.position => {
                (row.unsigned_abs() - 1 - self.position, Some(1))
            }
            _ => return Err(Failure::BackwardFetch),
        };
        self.skip(control, Some(skipped))?;
        match receiver {
            None => self.skip(control, count),
            Some(Receiver { output, formats, style }) => {
                let (SentRows::All(rows) | SentRows::Some(rows)) = self.send(output, control, formats, style, count)?;
                Ok(rows)
            }
        }
    }
}
