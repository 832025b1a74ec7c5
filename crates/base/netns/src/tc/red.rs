//! RED's options: the kernel is given logarithms and a table that `tc` computes from what people say.
//!
//! The arithmetic is that of iproute2 (tc/tc_red.c, tc/q_red.c), so that a line gives the same queue
//! here as there. One quirk comes along: the table of idle damping is computed in scheduler ticks of
//! 64 ns, while the kernel since 2.6.37 looks it up in microseconds, so the average decays 15.6 times
//! more slowly in idle times than meant.

use super::value;
use unbloat_os::netlink::Attributes;

const ECN: u8 = 1;
const HARDDROP: u8 = 2;
const ADAPTIVE: u8 = 4;
const TICKS_PER_US: f64 = 15.625;

/// What `tc qdisc ... red` takes.
#[derive(Clone, Debug, Default)]
struct Words {
    limit: u32,
    min: u32,
    max: u32,
    avpkt: u32,
    burst: u32,
    probability: f64,
    bandwidth_bps: u64,
    flags: u8,
}

pub(super) fn options(words: &[&str]) -> Result<Vec<u8>, String> {
    let words = read(words)?;
    let min_packets = f64::from(words.min) / f64::from(words.avpkt);
    let w_log = weight_log(f64::from(words.burst), min_packets)
        .ok_or_else(|| format!("burst {} is less than min / avpkt", words.burst))?;
    let p_log = slope_log(words.min, words.max, words.probability)
        .ok_or("probability is too small for max - min")?;
    let (cell_log, table) = idle_damping(w_log, words.avpkt, words.bandwidth_bps);
    let mut parameters = Vec::with_capacity(16);
    for value in [words.limit, words.min, words.max] {
        parameters.extend_from_slice(&value.to_ne_bytes());
    }
    parameters.extend_from_slice(&[w_log, p_log, cell_log, words.flags]);
    let max_p = (words.probability * 2f64.powi(32)).min(f64::from(u32::MAX)) as u32;
    let list = Attributes::new()
        .bytes(1, &parameters)
        .bytes(2, &table)
        .u32(3, max_p);
    Ok(list.to_bytes())
}

fn read(words: &[&str]) -> Result<Words, String> {
    let mut red = Words {
        probability: 0.02,
        bandwidth_bps: 10_000_000,
        ..Words::default()
    };
    let mut rest = words.iter();
    while let Some(&word) = rest.next() {
        let flag = match word {
            "ecn" => ECN,
            "harddrop" => HARDDROP,
            "adaptive" => ADAPTIVE,
            _ => 0,
        };
        red.flags |= flag;
        if flag != 0 {
            continue;
        }
        let argument = *rest
            .next()
            .ok_or_else(|| format!("\"{word}\" needs a value"))?;
        let bad = || format!("\"{argument}\" is not a valid value of \"{word}\"");
        match word {
            "limit" => red.limit = value::bytes(argument).ok_or_else(bad)?,
            "min" => red.min = value::bytes(argument).ok_or_else(bad)?,
            "max" => red.max = value::bytes(argument).ok_or_else(bad)?,
            "avpkt" => red.avpkt = value::bytes(argument).ok_or_else(bad)?,
            "burst" => red.burst = value::count(argument).ok_or_else(bad)?,
            "probability" => red.probability = value::share(argument).ok_or_else(bad)?,
            "bandwidth" => red.bandwidth_bps = value::bits_per_second(argument).ok_or_else(bad)?,
            _ => {
                let known = "limit, min, max, avpkt, burst, probability, bandwidth, ecn, harddrop, adaptive";
                return Err(format!(
                    "red has no option \"{word}\"; the options are {known}"
                ));
            }
        }
    }
    fill_in(red)
}

/// What tc puts in place of what was not said.
fn fill_in(mut red: Words) -> Result<Words, String> {
    if red.limit == 0 || red.avpkt == 0 {
        return Err("red needs limit and avpkt".to_owned());
    }
    if red.max == 0 {
        red.max = if red.min > 0 {
            red.min * 3
        } else {
            red.limit / 4
        };
    }
    if red.min == 0 {
        red.min = red.max / 3;
    }
    if red.burst == 0 {
        red.burst = (2 * red.min + red.max) / (3 * red.avpkt);
    }
    if red.min >= red.max {
        return Err("red needs min below max".to_owned());
    }
    Ok(red)
}

/// Log of the average's weight: a burst of that many packets onto an empty queue just reaches `min`
/// (Floyd and Jacobson 1993, section 5.1).
fn weight_log(burst: f64, min_packets: f64) -> Option<u8> {
    let allowed = burst + 1.0 - min_packets;
    if allowed < 1.0 {
        return None;
    }
    (1..32u8).find(|&log| {
        let weight = 0.5f64.powi(i32::from(log));
        allowed <= (1.0 - (1.0 - weight).powf(burst)) / weight
    })
}

/// How often the slope of the probability can be doubled before it exceeds one per byte.
fn slope_log(min: u32, max: u32, probability: f64) -> Option<u8> {
    let slope = probability / f64::from(max - min);
    (0..32u8).find(|&log| slope * 2f64.powi(i32::from(log)) > 1.0)
}

/// By how many binary places the average shrinks after an idle time, in cells of `1 << log`.
fn idle_damping(w_log: u8, avpkt: u32, bandwidth_bps: u64) -> (u8, [u8; 256]) {
    let packet_ticks = f64::from(avpkt) * 8e6 / bandwidth_bps as f64 * TICKS_PER_US;
    let per_tick = -(1.0 - 0.5f64.powi(i32::from(w_log))).ln() / packet_ticks;
    let longest = 31.0 / per_tick;
    let cell_log = (0..32u8)
        .find(|&log| longest / 2f64.powi(i32::from(log)) < 512.0)
        .unwrap_or(31);
    let mut table = [31u8; 256];
    for (cell, shift) in table.iter_mut().enumerate().take(255) {
        *shift = (((cell as u64) << cell_log) as f64 * per_tick).min(31.0) as u8;
    }
    table[0] = 0;
    (cell_log, table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_os::netlink::attribute;

    /// The message that `tc` of iproute2 6.1 sends for this line, as strace shows it.
    #[test]
    fn a_line_gives_what_tc_makes_of_it() {
        let line = "limit 400000 min 30000 max 90000 avpkt 1000 burst 55 probability 0.02 bandwidth 10mbit ecn";
        let words: Vec<_> = line.split(' ').collect();
        let options = options(&words).unwrap();
        let parameters = attribute(&options, 1).unwrap();
        assert_eq!(parameters[12..], [5, 22, 15, ECN]);
        let table = attribute(&options, 2).unwrap();
        let first = |shift| table.iter().position(|&s| s == shift);
        assert_eq!(
            [1, 2, 3, 21, 31].map(first),
            [13, 25, 37, 253, 255].map(Some)
        );
        assert_eq!(
            attribute(&options, 3),
            Some(&0x051e_b851u32.to_ne_bytes()[..])
        );
    }
}
