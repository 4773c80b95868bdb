//! Semaphores of the C library (`sem_t`) in memory that a function process shares.
//!
//! Python's standard library waits for one and posts it in C, which takes a third of a futex by ctypes. The function
//! process may write anything there: then a wait may end too early or only after its timeout, and a post may wake
//! nobody. So callers look at the ring's numbers.

use std::io;
use std::marker::PhantomData;
use std::mem::{size_of, transmute};
use std::ptr;
use std::sync::LazyLock;
use std::time::Duration;

use libc::{c_int, c_long, c_void, clockid_t, sem_t, time_t, timespec};

use crate::layout::{ANSWER_NUMBER, ANSWER_SEMAPHORE, REQUEST_HEAD, REQUEST_SEMAPHORE};

const _: () = assert!(REQUEST_SEMAPHORE + size_of::<sem_t>() <= ANSWER_NUMBER);
const _: () = assert!(ANSWER_SEMAPHORE + size_of::<sem_t>() <= REQUEST_HEAD);

const NANOSECONDS: c_long = 1_000_000_000;

type ClockWait = unsafe extern "C" fn(*mut sem_t, clockid_t, *const timespec) -> c_int;

/// `sem_clockwait`, which glibc has since 2.30. The wheel runs on older ones.
static CLOCK_WAIT: LazyLock<Option<ClockWait>> = LazyLock::new(|| {
    // SAFETY: the name ends with a zero.
    let found: *mut c_void = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"sem_clockwait".as_ptr()) };
    // SAFETY: the function of this name has this type.
    (!found.is_null()).then(|| unsafe { transmute::<*mut c_void, ClockWait>(found) })
});

/// A semaphore at a place of a ring.
pub(crate) struct Semaphore<'r>(*mut sem_t, PhantomData<&'r ()>);

impl<'r> Semaphore<'r> {
    /// # Safety
    /// The place is aligned, has the size of a `sem_t`, and stays mapped for `'r`.
    pub unsafe fn new(place: *mut sem_t) -> Self {
        Self(place, PhantomData)
    }

    /// Makes it, for several processes, with nothing posted.
    pub fn begin(&self) -> io::Result<()> {
        // SAFETY: `new` promises the place.
        if unsafe { libc::sem_init(self.0, 1, 0) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Wakes who waits, or who waits next.
    pub fn post(&self) {
        // SAFETY: as above. It fails only if the value is too large, and then nobody waits.
        unsafe { libc::sem_post(self.0) };
    }

    /// Waits until it is posted, or the time is over.
    pub fn wait(&self, timeout: Duration) {
        // A change of the system's time must not make a wait longer, unless the C library is too old.
        let clock = if CLOCK_WAIT.is_some() { libc::CLOCK_MONOTONIC } else { libc::CLOCK_REALTIME };
        let mut until = timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the place lives.
        unsafe { libc::clock_gettime(clock, ptr::from_mut(&mut until)) };
        let nanoseconds = until.tv_nsec + c_long::from(timeout.subsec_nanos());
        until.tv_sec += timeout.as_secs() as time_t + nanoseconds / NANOSECONDS;
        until.tv_nsec = nanoseconds % NANOSECONDS;
        // SAFETY: `new` promises the place; the time lives. Whatever ends the wait, the caller looks.
        unsafe {
            match *CLOCK_WAIT {
                Some(wait) => wait(self.0, clock, ptr::from_ref(&until)),
                None => libc::sem_timedwait(self.0, ptr::from_ref(&until)),
            }
        };
    }
}
