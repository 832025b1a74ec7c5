//! Gives a packet other addresses and keeps its checksums as right or wrong as they were.

use super::base::{ETHERNET, header_len, u32_at};
use super::random::mixed;
use unbloat_os::checksum::replace;

const UDP: u8 = 17;

/// Moves a packet of the base into copy number `copy`.
///
/// Client `x` of the base becomes `10.copy.x`; servers spread over 172.16.0.0/12 by flow, as the
/// study's clients met many; all copies ask one DNS server.
pub fn move_to_copy(frame: &mut [u8], copy: u32, up: bool) {
    let ip = &mut frame[ETHERNET..];
    let (client_at, server_at) = if up { (12, 16) } else { (16, 12) };
    let client = u32_at(ip, client_at);
    let client_port_at = header_len(ip) + if up { 0 } else { 2 };
    let client_port = u16::from_be_bytes([ip[client_port_at], ip[client_port_at + 1]]);
    let server = if ip[9] == UDP {
        0xac10_0035
    } else {
        let flow = u64::from(copy) << 32 | u64::from(client & 0xffff) << 16;
        0xac10_0000 | (mixed(flow | u64::from(client_port)) as u32 & 0x000f_ffff)
    };
    set_address(ip, client_at, 0x0a00_0000 | copy << 8 | client & 0xff);
    set_address(ip, server_at, server);
}

/// Writes an IPv4 address at `at` and updates both checksums.
pub fn set_address(ip: &mut [u8], at: usize, new: u32) {
    let old = u32_at(ip, at);
    ip[at..at + 4].copy_from_slice(&new.to_be_bytes());
    update(ip, 10, old, new);
    let transport = header_len(ip);
    if ip[9] != UDP {
        update(ip, transport + 16, old, new);
    } else if ip.get(transport + 6..transport + 8) != Some(&[0, 0]) {
        update(ip, transport + 6, old, new);
    }
}

fn update(bytes: &mut [u8], at: usize, old: u32, new: u32) {
    let Some(field) = bytes.get_mut(at..at + 2) else {
        return;
    };
    let before = u16::from_be_bytes([field[0], field[1]]);
    let upper = replace(before, (old >> 16) as u16, (new >> 16) as u16);
    let both = replace(upper, old as u16, new as u16);
    field.copy_from_slice(&both.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_os::checksum;

    /// Ethernet, IPv4 and TCP from 10.45.0.7:1000 to 10.99.0.1:80, with right checksums.
    fn frame() -> Vec<u8> {
        let mut frame = vec![0; ETHERNET + 40];
        frame[12] = 8;
        let ip = &mut frame[ETHERNET..];
        ip[..20].copy_from_slice(&[
            0x45, 0, 0, 40, 0, 1, 0, 0, 64, 6, 0, 0, 10, 45, 0, 7, 10, 99, 0, 1,
        ]);
        ip[20..24].copy_from_slice(&[3, 232, 0, 80]);
        ip[32] = 0x50;
        let header = checksum::of(&ip[..20]);
        ip[10..12].copy_from_slice(&header.to_be_bytes());
        let segment = tcp_checksum(ip);
        ip[36..38].copy_from_slice(&segment.to_be_bytes());
        frame
    }

    fn tcp_checksum(ip: &[u8]) -> u16 {
        let mut pseudo = ip[12..20].to_vec();
        pseudo.extend([0, 6, 0, 20]);
        pseudo.extend(&ip[20..40]);
        checksum::of(&pseudo)
    }

    #[test]
    fn right_checksums_stay_right() {
        let mut moved = frame();
        move_to_copy(&mut moved, 300, true);
        let ip = &moved[ETHERNET..];
        assert_eq!(ip[12..16], [10, 1, 44, 7]);
        assert_eq!(ip[16], 172);
        assert_eq!(checksum::of(&ip[..20]), 0);
        assert_eq!(tcp_checksum(ip), 0);
    }

    #[test]
    fn both_directions_of_a_flow_get_the_same_addresses() {
        let mut up = frame();
        let mut down = frame();
        let ip = &mut down[ETHERNET..];
        ip[12..20].rotate_left(4);
        ip[20..24].rotate_left(2);
        move_to_copy(&mut up, 5, true);
        move_to_copy(&mut down, 5, false);
        assert_eq!(up[26..30], down[30..34]);
        assert_eq!(up[30..34], down[26..30]);
    }
}
