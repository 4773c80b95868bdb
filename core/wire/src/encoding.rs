//! The encodings of FORMAT §6.1, by number and name.

/// How one column of one chunk is represented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Encoding {
    /// Arrow's buffers, unchanged.
    Plain = 0,
    /// One value for all rows.
    Constant = 1,
    /// Frame of reference with bit-packing.
    Packed = 2,
    /// Packed differences.
    Delta = 3,
    /// Distinct values and codes.
    Dictionary = 4,
    /// Lengths instead of offsets.
    Lengths = 5,
    /// Floats as scaled integers.
    Alp = 6,
    /// Text, compressed with a table of symbols.
    Fsst = 7,
    /// Wide values as several integers.
    Split = 8,
}

impl Encoding {
    /// All encodings, by number.
    pub const ALL: [Self; 9] = [
        Self::Plain,
        Self::Constant,
        Self::Packed,
        Self::Delta,
        Self::Dictionary,
        Self::Lengths,
        Self::Alp,
        Self::Fsst,
        Self::Split,
    ];

    /// The encoding with that number.
    pub fn from_u8(number: u8) -> Option<Self> {
        Self::ALL.get(number as usize).copied()
    }

    /// Its name in FORMAT.md.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Constant => "constant",
            Self::Packed => "packed",
            Self::Delta => "delta",
            Self::Dictionary => "dictionary",
            Self::Lengths => "lengths",
            Self::Alp => "alp",
            Self::Fsst => "fsst",
            Self::Split => "split",
        }
    }
}
