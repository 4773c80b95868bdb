//! Translates an address of the link to the server's 127.0.0.1 (RFC 3022's basic translation, of one address).

use std::net::Ipv4Addr;

const TCP: u8 = 6;
/// virtio_net_hdr's flag: the checksum covers only the pseudo-header, and the receiver must complete it.
const NEEDS_CHECKSUM: u8 = 1;

/// In a unit with this number of bytes of offload header in front, replaces the destination `address` by 127.0.0.1, and
/// the source 127.0.0.1 by `address`. Packets that are not IPv4 are not changed.
pub(crate) fn translate(unit: &mut [u8], header: usize, address: Ipv4Addr) {
    let is_partial = header > 0 && unit.first().is_some_and(|flags| flags & NEEDS_CHECKSUM != 0);
    let Some(packet) = unit.get_mut(header..).filter(|packet| packet.len() >= 20 && packet[0] >> 4 == 4) else {
        return;
    };
    let length = usize::from(packet[0] & 15) * 4;
    for (at, from, to) in [(12, Ipv4Addr::LOCALHOST, address), (16, address, Ipv4Addr::LOCALHOST)] {
        if packet[at..at + 4] != from.octets() {
            continue;
        }
        packet[at..at + 4].copy_from_slice(&to.octets());
        adjust(packet, 10, from, to, false);
        if packet[9] == TCP && packet.len() >= length + 18 {
            adjust(packet, length + 16, from, to, is_partial);
        }
    }
}

/// Adjusts the checksum at `at` after an address has changed (RFC 1624, equation 3). A partial checksum is not
/// complemented.
fn adjust(packet: &mut [u8], at: usize, from: Ipv4Addr, to: Ipv4Addr, is_partial: bool) {
    let mask = if is_partial { 0 } else { 0xFFFF };
    let mut sum = u32::from(u16::from_be_bytes([packet[at], packet[at + 1]]) ^ mask);
    for (old, new) in from.octets().chunks(2).zip(to.octets().chunks(2)) {
        sum += u32::from(!u16::from_be_bytes([old[0], old[1]])) + u32::from(u16::from_be_bytes([new[0], new[1]]));
    }
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    packet[at..at + 2].copy_from_slice(&(sum as u16 ^ mask).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 1071.
    fn sum(words: &[u8]) -> u16 {
        let mut sum: u32 = words.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
        while sum > 0xFFFF {
            sum = (sum & 0xFFFF) + (sum >> 16);
        }
        !(sum as u16)
    }

    fn packet(source: [u8; 4], destination: [u8; 4]) -> Vec<u8> {
        let mut packet = vec![0x45, 0, 0, 40, 1, 2, 0, 0, 64, TCP, 0, 0];
        packet.extend(source.iter().chain(&destination));
        packet.extend((1..=20).map(|byte: u8| if byte == 17 || byte == 18 { 0 } else { byte }));
        let checksum = sum(&packet[..20]);
        packet[10..12].copy_from_slice(&checksum.to_be_bytes());
        let pseudo = [&packet[12..20], &[0, TCP, 0, 20], &packet[20..]].concat();
        packet[36..38].copy_from_slice(&sum(&pseudo).to_be_bytes());
        packet
    }

    #[test]
    fn both_ways_and_the_checksums_with_them() {
        let (address, client) = (Ipv4Addr::new(10, 99, 0, 1), [10, 99, 0, 2]);
        let mut question = packet(client, address.octets());
        translate(&mut question, 0, address);
        assert_eq!(question, packet(client, [127, 0, 0, 1]));
        let mut answer = packet([127, 0, 0, 1], client);
        translate(&mut answer, 0, address);
        assert_eq!(answer, packet(address.octets(), client));
    }

    #[test]
    fn what_is_short_or_foreign_is_left_alone() {
        for mut unit in [vec![], vec![0x45; 19], vec![0x60; 40]] {
            let before = unit.clone();
            translate(&mut unit, 0, Ipv4Addr::LOCALHOST);
            assert_eq!(unit, before);
        }
    }
}
