//! Through which port a packet leaves: by its destination.

use crate::error::EmulatorError;
use crate::ip::Address;
use crate::port::bits;
use ipnet::IpNet;
use std::collections::HashMap;

/// Ports of one side by the addresses behind them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Routes {
    single: HashMap<Address, u16>,
    /// Longest first.
    prefixes: Vec<(Address, Address, u16)>,
}

impl Routes {
    pub(crate) fn add(&mut self, prefix: IpNet, port: u16) -> Result<(), EmulatorError> {
        let (network, mask) = bits(&prefix);
        let is_taken = match mask {
            Address::MAX => self.single.insert(network, port).is_some(),
            _ => {
                let taken = self
                    .prefixes
                    .iter()
                    .any(|(n, m, _)| (*n, *m) == (network, mask));
                self.prefixes.push((network, mask, port));
                self.prefixes
                    .sort_by_key(|(_, bits, _)| std::cmp::Reverse(*bits));
                taken
            }
        };
        match is_taken {
            true => Err(EmulatorError::Ambiguous { prefix }),
            false => Ok(()),
        }
    }

    /// None also for what never leaves its link: multicast, broadcast and link-local addresses.
    #[inline]
    pub(crate) fn port(&self, destination: Address) -> Option<u16> {
        if !self.single.is_empty()
            && let Some(port) = self.single.get(&destination)
        {
            return Some(*port);
        }
        let (.., port) = self
            .prefixes
            .iter()
            .find(|(network, mask, _)| destination & mask == *network)?;
        (!is_local(destination)).then_some(*port)
    }
}

fn is_local(address: Address) -> bool {
    if address >> 32 == 0xffff {
        let v4 = address as u32;
        return v4 >= 0xe000_0000 || v4 >> 16 == 0xa9fe || v4 >> 24 == 127;
    }
    address >> 120 == 0xff || address >> 118 == 0x3fa
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Address {
        crate::port::of_ip(text.parse().unwrap())
    }

    #[test]
    fn the_longest_prefix_decides() {
        let mut routes = Routes::default();
        for (prefix, port) in [
            ("0.0.0.0/0", 0),
            ("10.0.0.0/8", 1),
            ("10.1.0.0/16", 2),
            ("10.1.1.1/32", 3),
        ] {
            routes.add(prefix.parse().unwrap(), port).unwrap();
        }
        let ports = ["8.8.8.8", "10.9.9.9", "10.1.2.3", "10.1.1.1", "fd00::1"];
        let found = ports.map(|text| routes.port(address(text)));
        assert_eq!(found, [Some(0), Some(1), Some(2), Some(3), None]);
        assert!(routes.add("10.0.0.0/8".parse().unwrap(), 4).is_err());
    }

    #[test]
    fn what_is_meant_for_the_link_itself_does_not_pass() {
        let mut routes = Routes::default();
        routes.add("0.0.0.0/0".parse().unwrap(), 0).unwrap();
        routes.add("::/0".parse().unwrap(), 0).unwrap();
        for text in [
            "224.0.0.1",
            "255.255.255.255",
            "169.254.0.1",
            "127.0.0.1",
            "ff02::2",
            "fe80::1",
        ] {
            assert_eq!(routes.port(address(text)), None, "{text}");
        }
        assert_eq!(routes.port(address("2001:db8::1")), Some(0));
    }
}
