//! Authentication: a file of users with verifiers, SCRAM-SHA-256, and a limit on password guessing.

mod login;
mod scram;
mod throttle;
mod unknown;
mod users;

pub(crate) use login::{Authenticator, LoginError};
pub use users::{Role, User, UserError, Users, UsersError};
