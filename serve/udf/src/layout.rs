//! The places in a ring. `serve/colonnade_serve/_udf/ring.py` has the same numbers.
//!
//! ```text
//! 0        the number of the last request                64  the number of the last answer
//! 16       the semaphore of requests                     80  the semaphore of answers
//! 128      the head of the request: HEAD_WORDS words     256 the head of the answer
//! 4096     words of the request                          65536 words of the answer
//! 131072   the record of an error                        196608 printed text
//! 262144   values: those of the arguments first, then those of the result
//! ```
//!
//! A word is a u64. A node has NODE_WORDS words: the number of rows, the place of its validity (0: none), the place and
//! the bytes of its values, the place and the bytes of its heap. Values are the items' offsets for texts, blobs and
//! lists, and the members' numbers for unions; the heap has the bytes of texts and blobs.

pub(crate) const REQUEST_NUMBER: usize = 0;
pub(crate) const REQUEST_SEMAPHORE: usize = 16;
pub(crate) const ANSWER_NUMBER: usize = 64;
pub(crate) const ANSWER_SEMAPHORE: usize = 80;
pub(crate) const REQUEST_HEAD: usize = 128;
pub(crate) const ANSWER_HEAD: usize = 256;
pub(crate) const REQUEST_WORDS: usize = 4096;
pub(crate) const ANSWER_WORDS: usize = 65536;
pub(crate) const RECORD: usize = 131072;
pub(crate) const NOTICES: usize = 196608;
pub(crate) const DATA: usize = 262144;

pub(crate) const HEAD_WORDS: usize = 8;
pub(crate) const NODE_WORDS: usize = 6;
/// The most words of a request, and of an answer.
pub(crate) const MAX_REQUEST_WORDS: usize = (ANSWER_WORDS - REQUEST_WORDS) / 8;
pub(crate) const MAX_ANSWER_WORDS: usize = (RECORD - ANSWER_WORDS) / 8;
/// The most bytes of an error's record, and of printed text.
pub(crate) const MAX_RECORD: usize = NOTICES - RECORD;
pub(crate) const MAX_NOTICES: usize = DATA - NOTICES;
/// Buffers begin at multiples of this, as Arrow recommends.
pub(crate) const ALIGNMENT: usize = 64;

/// What a request asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Request {
    /// Compile the function whose description stands at `DATA`. If `words` is 1, forget the function `groups`.
    Define = 1,
    /// Call a function.
    Call = 2,
    /// The ring has grown as the function process has asked.
    Grown = 3,
    /// The ring has not grown, because of its limit.
    Refused = 4,
    /// Rows of a query: `groups_at` and `groups` are the place and the bytes of the columns' description, `words` is
    /// the place of the words of their nodes, `function` is 1 if there are more.
    Rows = 5,
    /// A query has failed: `groups_at` and `groups` are the place and the bytes of its error.
    QueryFailed = 6,
    /// Call a function, and everything is as at the last call, which is done, except for the bytes of values. So the
    /// function process need not read the head and the words again.
    CallAgain = 7,
}

/// What an answer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Answer {
    /// The request is done; the result of a call is described by the words.
    Done = 1,
    /// It failed; the record says why.
    Failed = 2,
    /// The ring must be larger, up to the place in the head.
    Grow = 3,
    /// The function wants the first rows of a query, whose text is at `wanted` and has `record_bytes`. The reply begins
    /// there.
    Query = 4,
    /// The function wants the query's next rows. The reply begins at `wanted`.
    NextRows = 5,
}

impl Answer {
    pub fn parse(word: u64) -> Option<Self> {
        [Self::Done, Self::Failed, Self::Grow, Self::Query, Self::NextRows]
            .into_iter()
            .find(|answer| *answer as u64 == word)
    }
}

/// The head of a request, in the order of its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RequestHead {
    pub request: Request,
    pub function: u64,
    /// The rows of a call; the bytes of a description.
    pub rows: usize,
    /// The place of the groups' offsets; 0 if there are no groups.
    pub groups_at: usize,
    pub groups: usize,
    /// Where the arguments end.
    pub data_end: usize,
    /// Where the ring's file ends.
    pub capacity: usize,
    /// The number of words that follow.
    pub words: usize,
}

impl RequestHead {
    pub fn words(&self) -> [u64; HEAD_WORDS] {
        [
            self.request as u64,
            self.function,
            self.rows as u64,
            self.groups_at as u64,
            self.groups as u64,
            self.data_end as u64,
            self.capacity as u64,
            self.words as u64,
        ]
    }
}

/// The head of an answer, as the function process wrote it: nothing is checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnswerHead {
    pub answer: u64,
    pub rows: u64,
    pub words: u64,
    pub record_bytes: u64,
    pub notice_bytes: u64,
    pub wanted: u64,
}

impl AnswerHead {
    pub fn from_words(words: [u64; HEAD_WORDS]) -> Self {
        let [answer, rows, words, record_bytes, notice_bytes, wanted, ..] = words;
        Self { answer, rows, words, record_bytes, notice_bytes, wanted }
    }
}
