//! Text of any layout, value by value.

use arrow_array::{Array, LargeStringArray, StringArray, StringViewArray};

/// A column of text.
pub(super) enum Texts<'a> {
    Small(&'a StringArray),
    Large(&'a LargeStringArray),
    View(&'a StringViewArray),
}

impl<'a> Texts<'a> {
    pub(super) fn new(array: &'a dyn Array) -> Option<Self> {
        let any = array.as_any();
        any.downcast_ref()
            .map(Self::Small)
            .or_else(|| any.downcast_ref().map(Self::Large))
            .or_else(|| any.downcast_ref().map(Self::View))
    }

    pub(super) fn value(&self, row: usize) -> &'a str {
        match self {
            Self::Small(array) => array.value(row),
            Self::Large(array) => array.value(row),
            Self::View(array) => array.value(row),
        }
    }
}
