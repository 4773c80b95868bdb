//! The client/server protocol of MySQL and MariaDB.
//! <https://dev.mysql.com/doc/dev/mysql-server/latest/PAGE_PROTOCOL.html>, <https://mariadb.com/kb/en/clientserver-protocol/>
//!
//! A statement is prepared, which returns its columns, and executed without a cursor. The server sends its binary rows
//! as fast as they are produced and read. One thread receives blocks of rows without decoding them. The reader decodes
//! a block column by column. A gap in the packets' numbers is an error. KILL QUERY on a second connection stops a
//! query; an empty statement absorbs a late KILL. The protocol's compression is not used: on slow networks, where it
//! could help, the server needs more time for compression than the network saves.

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
mod text_answer;
mod undo;
mod uri;
mod value;
mod write;
mod zone;

pub(crate) use connection::connect_with;
pub(crate) use literal::literal;

pub use connection::{MysqlConnection, connect, connect_for};
