//! The client/server protocol of MySQL and MariaDB.
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/PAGE_PROTOCOL.html>, <https://mariadb.com/kb/en/clientserver-protocol/>
//!
//! A statement is prepared, which tells its columns, and executed without a cursor: its rows come in binary as fast as they
//! are made and read. One thread receives and steps over them; the reader decodes blocks of them, each column in a loop of its own.
//! The protocol's compression is not used: on the slow networks where it could help, the server spends more time on compression than the
//! network saves.

mod answer;
mod ask;
mod auth;
mod column;
mod connection;
mod datetime;
mod decimal;
mod decoder;
mod ed25519;
mod encryption;
mod incoming;
mod kind;
mod literal;
mod login;
mod packet;
mod parameters;
mod partition;
mod server_connection;
mod state;
mod undo;
mod uri;
mod value;

pub(crate) use connection::connect_with;
pub(crate) use literal::literal;

pub use connection::{MysqlConnection, connect, connect_for};
