//! Who may come in: users with verifiers in a file, SCRAM-SHA-256, and a limit to guessing.

mod login;
mod scram;
mod throttle;
mod unknown;
mod users;

pub(crate) use login::{Gate, LoginError};
pub use users::{Role, User, UserError, Users, UsersError};
