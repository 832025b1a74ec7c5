//! Disciplines that make a link: FIFO, TBF, HTB and the table of packet sizes.

use super::value;
use unbloat_os::netlink::Attributes;

const LINKLAYER_ETHERNET: u8 = 1;
/// What the kernel counts of a packet on an Ethernet device beyond IP.
pub(crate) const ETHERNET_HEADER: u32 = 14;
/// The kernel's scheduler ticks (PSCHED_SHIFT 6).
const NS_PER_TICK: u64 = 64;
/// An HTB may catch up with so much lateness of its own timer; else it would fall behind its rate.
const CATCH_UP_NS: u64 = 2_048;

/// Bytes that a rate counts for each packet besides IP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Framing(pub i32);

impl Framing {
    pub fn beyond_ip(self) -> i32 {
        self.0
    }

    pub(super) fn beyond_ethernet(self) -> i32 {
        self.0 - ETHERNET_HEADER as i32
    }

    /// The same, or if that is less a byte more than a frame.
    pub(crate) fn longer_than_frame(self) -> Framing {
        Framing(self.0.max(ETHERNET_HEADER as i32 + 1))
    }
}

pub(super) fn fifo(words: &[&str], read: fn(&str) -> Option<u32>) -> Result<Vec<u8>, String> {
    match words {
        [] => Ok(Vec::new()),
        ["limit", limit] => read(limit)
            .map(|limit| limit.to_ne_bytes().to_vec())
            .ok_or_else(|| format!("\"{limit}\" is not a valid limit")),
        _ => Err("a FIFO takes \"limit\" and a number".to_owned()),
    }
}

/// `rate`, `burst` and `limit` or `latency`.
pub(super) fn tbf(words: &[&str]) -> Result<Vec<u8>, String> {
    let (mut rate, mut burst, mut limit, mut latency) = (None, None, None, None);
    for pair in words.chunks(2) {
        let [word, argument] = pair else {
            return Err(format!("\"{}\" needs a value", pair[0]));
        };
        let bad = || format!("\"{argument}\" is not a valid value of \"{word}\"");
        match *word {
            "rate" => rate = Some(value::bits_per_second(argument).ok_or_else(bad)? / 8),
            "burst" => burst = Some(value::bytes(argument).ok_or_else(bad)?),
            "limit" => limit = Some(value::bytes(argument).ok_or_else(bad)?),
            "latency" => latency = Some(value::micros(argument).ok_or_else(bad)?),
            _ => {
                return Err(format!(
                    "tbf has no option \"{word}\"; the options are rate, burst, limit, latency"
                ));
            }
        }
    }
    let (Some(rate), Some(burst)) = (rate, burst) else {
        return Err("tbf needs rate and burst".to_owned());
    };
    let waiting = |us: u32| (rate as f64 * f64::from(us) / 1e6) as u32 + burst;
    let limit = limit.or(latency.map(waiting));
    let limit = limit.ok_or("tbf needs limit or latency")?;
    let ticks = u64::from(burst) * 1_000_000_000 / rate.max(1) / NS_PER_TICK;
    let mut parameters = rate_spec(rate);
    parameters.extend_from_slice(&rate_spec(0));
    for word in [limit, u32::try_from(ticks).unwrap_or(u32::MAX), 0] {
        parameters.extend_from_slice(&word.to_ne_bytes());
    }
    let list = Attributes::new()
        .bytes(1, &parameters)
        .u64(4, rate)
        .u32(6, burst);
    Ok(list.to_bytes())
}

/// A TBF that holds one packet, however short, of up to `longest` bytes, and then nothing for hours. `limit` is what it tells a FIFO
/// in it.
pub(crate) fn one_packet(longest: u32, limit: u32) -> Vec<u8> {
    /// What each packet counts for more: a bucket that has let one go does not fill up to this by itself.
    const EACH: u16 = 60_000;
    let mut rate = rate_spec(1);
    rate[2..4].copy_from_slice(&EACH.to_ne_bytes());
    let mut parameters = rate;
    parameters.extend_from_slice(&rate_spec(0));
    for word in [limit, 0, 0] {
        parameters.extend_from_slice(&u32::to_ne_bytes(word));
    }
    let list = Attributes::new().bytes(1, &parameters).u32(6, longest);
    list.to_bytes()
}

/// An HTB that puts everything into class 1:1.
pub fn htb() -> Vec<u8> {
    let global: Vec<u8> = [3u32, 10, 1, 0, 0]
        .iter()
        .flat_map(|w| w.to_ne_bytes())
        .collect();
    Attributes::new().bytes(2, &global).to_bytes()
}

/// A class of that rate without a burst: it lets a packet go when the one before would have been sent.
pub fn htb_class(rate_bps: u64) -> Vec<u8> {
    let rate = rate_bps / 8;
    let ticks = (CATCH_UP_NS / NS_PER_TICK) as u32;
    let mut parameters = rate_spec(rate);
    parameters.extend_from_slice(&rate_spec(rate));
    for word in [ticks, ticks, 1514, 0, 0] {
        parameters.extend_from_slice(&u32::to_ne_bytes(word));
    }
    let list = Attributes::new()
        .bytes(1, &parameters)
        .u64(6, rate)
        .u64(7, rate);
    list.to_bytes()
}

/// `stab overhead N`: makes a discipline count IP length and framing instead of Ethernet frames.
pub fn size_table(framing: Framing) -> Attributes {
    let mut base = vec![0u8; 4];
    base.extend_from_slice(&framing.beyond_ethernet().to_ne_bytes());
    for word in [u32::from(LINKLAYER_ETHERNET), 0, 0, 0] {
        base.extend_from_slice(&word.to_ne_bytes());
    }
    Attributes::new().bytes(1, &base)
}

/// `struct tc_ratespec`.
fn rate_spec(bytes_per_second: u64) -> Vec<u8> {
    let layer = if bytes_per_second > 0 {
        LINKLAYER_ETHERNET
    } else {
        0
    };
    let mut spec = vec![0, layer, 0, 0, 0, 0, 0, 0];
    let rate = u32::try_from(bytes_per_second).unwrap_or(u32::MAX);
    spec.extend_from_slice(&rate.to_ne_bytes());
    spec
}
