//! What the kernel counts: packets that devices dropped, time that the thread was kept waiting.

use crate::port::Tun;
use std::fs;
use unbloat_units::Delta;

/// Packets that the devices dropped since they were made, in either direction. A device whose counters cannot be read counts
/// as none.
pub(crate) fn drops(devices: &[Tun]) -> u64 {
    // Entering namespaces changes a thread for good, so it is not this one.
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| devices.iter().filter_map(drops_of).sum());
        reader.join().unwrap_or(0)
    })
}

fn drops_of(device: &Tun) -> Option<u64> {
    let name = device.enter()?;
    let table = fs::read_to_string("/proc/thread-self/net/dev").ok()?;
    dropped(&table, &name)
}

/// Received and transmitted packets that were dropped, of a row of /proc/net/dev.
fn dropped(table: &str, name: &str) -> Option<u64> {
    let row = table.lines().find_map(|line| {
        let (device, numbers) = line.split_once(':')?;
        (device.trim() == name).then_some(numbers)
    })?;
    let numbers: Vec<u64> = row
        .split_whitespace()
        .map_while(|n| n.parse().ok())
        .collect();
    Some(numbers.get(3)? + numbers.get(11)?)
}

/// How long the calling thread was ready to run and did not; none: this kernel does not count it.
pub(crate) fn starved() -> Option<Delta> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let waited = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(Delta::ns(waited))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_of_both_directions_are_found_by_the_name_of_the_device() {
        let table = "\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0
  tun0:     100       2    0    3    0     0          0         0      500       6    0   40    0     0       0          0
";
        assert_eq!(dropped(table, "tun0"), Some(43));
        assert_eq!(dropped(table, "tun"), None);
    }
}
