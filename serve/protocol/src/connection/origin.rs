//! The origin of a client. Limits on logins count by origin.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An IPv4 address, an IPv6 network (one machine can have all its addresses), all of loopback, or all unix sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Origin(Option<IpAddr>);

impl Origin {
    /// The origin of a peer; `None` is a unix socket.
    pub fn of(peer: Option<IpAddr>) -> Self {
        /// The bits of an IPv6 address that identify its network, RFC 4291 §2.5.4.
        const NETWORK: u128 = !0 << 64;
        Self(peer.map(|address| match address.to_canonical() {
            address if address.is_loopback() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & NETWORK).into(),
            address => address,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_addresses_of_one_machine_have_one_origin() {
        let of = |address: &str| Origin::of(Some(address.parse().unwrap()));
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
        assert_eq!(of("127.0.0.1"), of("127.9.9.9"));
        assert_eq!(of("127.0.0.1"), of("::1"));
        assert_ne!(of("127.0.0.1"), Origin::of(None));
    }
}
