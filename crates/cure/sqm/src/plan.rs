//! What shaper a line needs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use unbloat_units::{Both, Delta, Direction, Framing, Rate};

/// Of the measured rate: so much less that the queue stands in the shaper and not in the modem (CACM).
pub const SHARE_PERCENT: u64 = 95;
/// What is slower is no line that a shaper helps: one packet takes longer than 100 ms.
const LOWEST: Rate = Rate::kbps(120);
/// Of `IFNAMSIZ`, without the zero.
const LONGEST_NAME: usize = 15;

/// The name of a network device that may be put into a command or a configuration as it is.
///
/// Letters, digits and `. _ @ : -`, up to 15, not beginning with `-`: the kernel allows more, no distribution makes them.
#[derive(
    Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct Device(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{}\" is not a valid device name: use 1 to 15 letters, digits and . _ @ : -, beginning with a letter or digit",
    name.escape_debug()
)]
pub struct DeviceError {
    name: String,
}

impl Device {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The device through which what arrives is sent to be shaped, named as sqm-scripts does. A name that is too long for that is told
    /// apart from others alike by a hash.
    pub fn ifb(&self) -> Device {
        let name = format!("ifb4{}", self.0);
        if name.len() <= LONGEST_NAME {
            return Device(name);
        }
        // FNV-1a.
        let hash = self.0.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
        let end = &self.0[self.0.len() - 5..];
        Device(format!("ifb4{end}{:06x}", hash >> 8))
    }
}

impl FromStr for Device {
    type Err = DeviceError;

    fn from_str(name: &str) -> Result<Device, DeviceError> {
        let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"._@:-".contains(&byte);
        let begins = name
            .bytes()
            .next()
            .is_some_and(|b| b.is_ascii_alphanumeric());
        if begins && name.len() <= LONGEST_NAME && name.bytes().all(is_fit) {
            return Ok(Device(name.to_owned()));
        }
        let name = name.chars().take(80).collect();
        Err(DeviceError { name })
    }
}

impl TryFrom<String> for Device {
    type Error = DeviceError;

    fn try_from(name: String) -> Result<Device, DeviceError> {
        name.parse()
    }
}

impl From<Device> for String {
    fn from(device: Device) -> String {
        device.0
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The discipline that shapes, best first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Qdisc {
    /// The kernel's CAKE.
    Cake,
    /// fq_codel in a class of HTB.
    FqCodel,
    /// unbloat's own CAKE in user space, `unbloat shape`.
    OwnCake,
    /// A short FIFO in a class of HTB: low delay, but flows are not kept apart and bursts are dropped.
    Fifo,
}

impl Qdisc {
    /// Whether it counts each segment of what offloads made one packet: CAKE does, HTB does not.
    pub fn takes_packets_apart(self) -> bool {
        matches!(self, Qdisc::Cake | Qdisc::OwnCake)
    }

    /// Modules that a kernel needs for it.
    pub fn kinds(self) -> &'static [&'static str] {
        match self {
            Qdisc::Cake => &["cake"],
            Qdisc::FqCodel => &["htb", "fq_codel"],
            Qdisc::OwnCake => &[],
            Qdisc::Fifo => &["htb", "bfifo"],
        }
    }

    /// The best of the kernel's own for which all is there.
    pub fn best(offered: &[&str]) -> Option<Qdisc> {
        let mut kernels = [Qdisc::Cake, Qdisc::FqCodel, Qdisc::Fifo].into_iter();
        kernels.find(|qdisc| qdisc.kinds().iter().all(|kind| offered.contains(kind)))
    }
}

impl fmt::Display for Qdisc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Qdisc::Cake => "cake",
            Qdisc::FqCodel => "htb+fq_codel",
            Qdisc::OwnCake => "unbloat's cake",
            Qdisc::Fifo => "htb+short fifo",
        })
    }
}

/// A shaper for both directions of one device. None: that direction is left alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Plan {
    pub device: Device,
    #[serde(rename = "down_bps", with = "bps")]
    #[schemars(with = "Option<u64>")]
    pub down: Option<Rate>,
    #[serde(rename = "up_bps", with = "bps")]
    #[schemars(with = "Option<u64>")]
    pub up: Option<Rate>,
    pub framing: Framing,
    pub qdisc: Qdisc,
    /// The device forwards for others behind address translation: CAKE looks through it.
    pub nat: bool,
    /// What the device's queue counts of a frame before the IP packet. CAKE leaves it out by itself, HTB's size table has to be told.
    #[serde(default)]
    pub header_bytes: u8,
    /// The usual round trip, if it is longer than the 100 ms for which queue disciplines are made: with those they would drop too early.
    #[serde(
        rename = "rtt_us",
        with = "us",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<i64>")]
    pub rtt: Option<Delta>,
}

/// Of a frame of Ethernet, as a queue counts it.
pub const ETHERNET_HEADER_BYTES: u8 = 14;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    #[error("no direction to shape: give a download or an upload rate")]
    Nothing,
    #[error("{rate} {direction} is too slow to shape: the minimum is {LOWEST}")]
    TooSlow { rate: Rate, direction: Direction },
    #[error(
        "the kernel does not support an overhead of {} B with a minimum packet size of {} B: the overhead must be -64 to 256 B, the minimum at most 256 B",
        framing.overhead_bytes,
        framing.minimum_bytes
    )]
    Framing { framing: Framing },
}

/// Whether CAKE and the size tables of the kernel can count it (sch_cake.c, `TCA_CAKE_OVERHEAD` and `TCA_CAKE_MPU`).
pub(crate) fn is_countable(framing: Framing) -> bool {
    (-64..=256).contains(&framing.overhead_bytes) && framing.minimum_bytes <= 256
}

impl Plan {
    /// Rates as they are to be shaped.
    pub fn new(
        device: Device,
        rates: Both<Option<Rate>>,
        framing: Framing,
        qdisc: Qdisc,
    ) -> Result<Plan, PlanError> {
        let Both { down, up } = rates;
        if down.is_none() && up.is_none() {
            return Err(PlanError::Nothing);
        }
        for (direction, rate) in rates.entries() {
            if let Some(rate) = rate.filter(|rate| *rate < LOWEST) {
                return Err(PlanError::TooSlow { rate, direction });
            }
        }
        if !is_countable(framing) {
            return Err(PlanError::Framing { framing });
        }
        Ok(Plan {
            device,
            down,
            up,
            framing,
            qdisc,
            nat: false,
            header_bytes: 0,
            rtt: None,
        })
    }

    /// For a path of this round trip, if it is known.
    pub fn with_rtt(mut self, rtt: Option<Delta>) -> Plan {
        self.rtt = rtt.and_then(longer_rtt);
        self
    }

    /// From rates that were measured: 95 % of each.
    pub fn measured(
        device: Device,
        measured: Both<Option<Rate>>,
        framing: Framing,
        qdisc: Qdisc,
    ) -> Result<Plan, PlanError> {
        let share = |rate: Rate| Rate::bps(rate.as_bps() / 100 * SHARE_PERCENT);
        Plan::new(device, measured.map(|rate| rate.map(share)), framing, qdisc)
    }

    /// The framing for who counts frames with their header, as HTB's size table does: the header is not on the line, or is part of the
    /// overhead.
    pub(crate) fn framing_of_frames(&self) -> Framing {
        let more = match self.framing {
            Framing::NONE => 0,
            _ => i32::from(self.header_bytes),
        };
        Framing {
            overhead_bytes: self.framing.overhead_bytes - more,
            ..self.framing
        }
    }

    pub fn rate(&self, direction: Direction) -> Option<Rate> {
        Both::new(self.down, self.up)[direction]
    }
}

/// A round trip that queue disciplines have to be told, to the millisecond; none where they are made for it.
pub fn longer_rtt(rtt: Delta) -> Option<Delta> {
    /// Of CAKE and fq_codel (RFC 8289, section 4.2).
    const USUAL: Delta = Delta::ms(100);
    (rtt > USUAL).then(|| Delta::ms(rtt.as_ms().ceil() as i64))
}

/// A rate as a number of bits per second.
mod bps {
    use super::Rate;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(rate: &Option<Rate>, to: S) -> Result<S::Ok, S::Error> {
        rate.map(Rate::as_bps).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Rate>, D::Error> {
        Ok(Option::<u64>::deserialize(from)?.map(Rate::bps))
    }
}

/// A span as a number of microseconds.
mod us {
    use super::Delta;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(span: &Option<Delta>, to: S) -> Result<S::Ok, S::Error> {
        span.map(Delta::as_us).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Delta>, D::Error> {
        Ok(Option::<i64>::deserialize(from)?.map(Delta::us))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_mean_something_to_a_shell_or_to_tc_are_refused() {
        let long = "a".repeat(16);
        let hostile = [
            "", "-j", "a b", "a;b", "$(id)", "a\nb", "../x", "a/b", "`id`", "é", "a'b", &long, ".",
        ];
        for name in hostile {
            assert!(name.parse::<Device>().is_err(), "{name:?}");
        }
        for name in [
            "eth0",
            "wlan0-1",
            "eth0.35",
            "pppoe-wan",
            "br_lan",
            "veth1@if2",
        ] {
            assert_eq!(name.parse::<Device>().unwrap().as_str(), name);
        }
    }

    #[test]
    fn ifb_names_fit_the_kernel_and_differ_as_their_devices_do() {
        let ifb = |device: &str| device.parse::<Device>().unwrap().ifb().0;
        assert_eq!(ifb("pppoe-wan-1"), "ifb4pppoe-wan-1");
        let long = [
            "enxa0cec812eb2b",
            "enxa0cec812eb2c",
            "wan-a-of-a-home",
            "wan-b-of-a-home",
        ];
        let names: std::collections::BTreeSet<String> = long.map(ifb).into();
        assert_eq!(names.len(), long.len(), "{names:?}");
        assert!(names.iter().all(|name| name.parse::<Device>().is_ok()));
        assert_eq!(ifb(long[0]), "ifb42eb2bcdd07c", "the same in each run");
    }

    #[test]
    fn rates_are_95_percent_of_what_was_measured() {
        let rates = Both::new(Some(Rate::mbps(50)), Some(Rate::mbps(10)));
        let device: Device = "eth0".parse().unwrap();
        let plan = Plan::measured(device, rates, Framing::ATM, Qdisc::Cake).unwrap();
        assert_eq!(plan.down, Some(Rate::kbps(47_500)));
        assert_eq!(plan.up, Some(Rate::kbps(9_500)));
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
    }

    #[test]
    fn plans_that_cannot_be_are_refused() {
        let plan = |down, up, framing| {
            Plan::new(
                "eth0".parse().unwrap(),
                Both::new(down, up),
                framing,
                Qdisc::Fifo,
            )
            .unwrap_err()
        };
        assert_eq!(plan(None, None, Framing::NONE), PlanError::Nothing);
        let slow = plan(Some(Rate::kbps(100)), None, Framing::NONE);
        assert!(matches!(slow, PlanError::TooSlow { .. }));
        let odd = Framing {
            overhead_bytes: 300,
            ..Framing::NONE
        };
        let rate = Some(Rate::mbps(1));
        assert!(matches!(plan(rate, rate, odd), PlanError::Framing { .. }));
    }

    #[test]
    fn the_best_that_is_offered_is_taken() {
        assert_eq!(Qdisc::best(&["htb", "fq_codel", "cake"]), Some(Qdisc::Cake));
        assert_eq!(Qdisc::best(&["htb", "fq_codel"]), Some(Qdisc::FqCodel));
        assert_eq!(Qdisc::best(&["htb", "bfifo", "tbf"]), Some(Qdisc::Fifo));
        assert_eq!(Qdisc::best(&["fq_codel"]), None);
    }
}
