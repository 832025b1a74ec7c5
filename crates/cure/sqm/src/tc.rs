//! A plan as commands of iproute2: exactly those that are executed, one vector of arguments each.
//!
//! # What we follow, and where we differ
//! sqm-scripts: ingress by an IFB device, HTB with bursts of 1 ms, fq_codel's target raised to 1.5 packet times on slow lines.
//!
//! | | sqm-scripts | ours | why |
//! |---|---|---|---|
//! | tiers | `simple.qos` has three of HTB | one, as `simplest.qos` | marks of others are not to be believed, and flow queues need none |
//! | FIFO | none | bytes of 20 ms, 16 packets at least | for kernels that have neither cake nor fq_codel |

use crate::plan::{Device, Plan, Qdisc};
use unbloat_units::{Cells, Delta, Direction, Framing, Rate};

/// With Ethernet's header.
const PACKET_BYTES: u64 = 1514;
/// fq_codel's target where packets are short beside it.
const TARGET: Delta = Delta::ms(5);
const INTERVAL: Delta = Delta::ms(100);
/// What a short FIFO holds. With 10 ms and 10 packets four CUBIC flows over round trips of 20 ms lost a sixth of their rate.
const FIFO: Delta = Delta::ms(20);
const FIFO_PACKETS: u64 = 16;
/// What makes several packets one, as ethtool names it.
const MERGING: [&str; 3] = ["tso", "gso", "gro"];
/// Of one packet of the host's own TCP, as most devices come (`gso_max_segs`).
const MOST_SEGMENTS: u32 = 65_535;

/// What fq_codel may hold, and how many queues it has.
pub(crate) const FQ_CODEL_PACKETS: u64 = 1001;
pub(crate) const FQ_CODEL_BYTES: u64 = 4 << 20;
pub(crate) const FQ_CODEL_FLOWS: u64 = 1024;
/// What HTB may send at once.
const BURST: Delta = Delta::ms(1);
/// "un" in ASCII. Not `1:`, which scripts give to theirs: a discipline of another kind cannot take over a handle.
const ROOT: &str = "756e:";
const CLASS: &str = "756e:1";
const LEAF: &str = "756f:";

/// A program with its arguments.
pub type Words = Vec<String>;

/// What is done, in order. [`Qdisc::OwnCake`] runs as a program of its own and needs one word of command only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Has packets pass one by one: HTB counts what offloads made one as one, and its size tables the framing of one. TCP of the host itself
    /// makes large packets for a device without offloads too.
    Split(Vec<Words>),
    /// Makes the IFB device.
    MakeIfb(Vec<Words>),
    /// Shapes what leaves by `device`.
    Shape { device: Device, words: Vec<Words> },
    /// Sends what arrives to the IFB device.
    Redirect(Vec<Words>),
    /// Runs as long as it is to shape.
    Run(Words),
}

impl Change {
    pub fn words(&self) -> &[Words] {
        match self {
            Change::Split(words)
            | Change::MakeIfb(words)
            | Change::Shape { words, .. }
            | Change::Redirect(words) => words,
            Change::Run(words) => std::slice::from_ref(words),
        }
    }
}

/// All changes of a plan. The redirection comes last, so that packets are sent to an IFB device that shapes already.
pub fn changes(plan: &Plan) -> Vec<Change> {
    if plan.qdisc == Qdisc::OwnCake {
        return vec![Change::Run(own(plan))];
    }
    let mut changes = Vec::new();
    if !plan.qdisc.takes_packets_apart() {
        changes.push(Change::Split(vec![
            offloads(&plan.device, "off"),
            most_segments(&plan.device, 1),
        ]));
    }
    if let Some(rate) = plan.up {
        changes.push(shape(plan, &plan.device, Direction::Up, rate));
    }
    if let Some(rate) = plan.down {
        let ifb = plan.device.ifb();
        changes.push(Change::MakeIfb(vec![
            words(&["ip", "link", "add", "name", ifb.as_str(), "type", "ifb"]),
            words(&["ip", "link", "set", "dev", ifb.as_str(), "up"]),
        ]));
        changes.push(shape(plan, &ifb, Direction::Down, rate));
        changes.push(redirect(&plan.device, &ifb));
    }
    changes
}

/// All commands of a plan.
pub fn commands(plan: &Plan) -> Vec<Words> {
    let changes = changes(plan);
    changes.iter().flat_map(|c| c.words().to_vec()).collect()
}

/// What takes it away again, where the kernel's own disciplines are to come back, and offloads were on, as they come.
pub fn removal(plan: &Plan) -> Vec<Words> {
    let changes = changes(plan);
    let mut commands: Vec<Words> = changes.iter().rev().filter_map(|c| undo(c, plan)).collect();
    if !plan.qdisc.takes_packets_apart() {
        commands.extend(merge(&plan.device));
    }
    commands
}

/// What takes one change of the plan away again. None: it goes with another, or it depends on how the device was.
pub fn undo(change: &Change, plan: &Plan) -> Option<Words> {
    let (device, ifb) = (&plan.device, plan.device.ifb());
    match change {
        Change::Shape { device: of, .. } if of == device => Some(words(&[
            "tc",
            "qdisc",
            "del",
            "dev",
            device.as_str(),
            "root",
        ])),
        Change::MakeIfb(_) => Some(words(&["ip", "link", "del", "dev", ifb.as_str()])),
        Change::Redirect(_) => Some(unredirect(device)),
        Change::Shape { .. } | Change::Split(_) | Change::Run(_) => None,
    }
}

/// Has the device make several packets one, as most do.
pub(crate) fn merge(device: &Device) -> [Words; 2] {
    [offloads(device, "on"), most_segments(device, MOST_SEGMENTS)]
}

/// The commands as lines of a shell: no word needs quoting.
pub fn text(commands: &[Words]) -> String {
    commands
        .iter()
        .map(|words| words.join(" ") + "\n")
        .collect()
}

fn shape(plan: &Plan, device: &Device, direction: Direction, rate: Rate) -> Change {
    let words = match plan.qdisc {
        Qdisc::Cake => vec![cake(plan, device, direction, rate)],
        _ => htb(plan, device, rate),
    };
    let device = device.clone();
    Change::Shape { device, words }
}

/// By ethtool.
fn offloads(device: &Device, state: &str) -> Words {
    let mut line = words(&["ethtool", "-K", device.as_str()]);
    line.extend(MERGING.iter().flat_map(|which| words(&[which, state])));
    line
}

fn most_segments(device: &Device, most: u32) -> Words {
    let (device, most) = (device.as_str(), most.to_string());
    words(&["ip", "link", "set", "dev", device, "gso_max_segs", &most])
}

fn cake(plan: &Plan, device: &Device, direction: Direction, rate: Rate) -> Words {
    let bandwidth = bit(rate);
    let mut line = words(&[
        "tc",
        "qdisc",
        "replace",
        "dev",
        device.as_str(),
        "root",
        "cake",
        "bandwidth",
        &bandwidth,
        "besteffort",
    ]);
    // "nonat" is the default, and refused by kernels without connection tracking.
    if plan.nat {
        line.push("nat".to_owned());
    }
    match direction {
        Direction::Down => line.extend(words(&["wash", "ingress"])),
        Direction::Up => line.extend(words(&["nowash", "egress"])),
    }
    line.extend(cake_framing(plan.framing));
    if let Some(rtt) = plan.rtt {
        line.extend(words(&["rtt", &cake_rtt(rtt)]));
    }
    line
}

/// CAKE's and our own word for a round trip.
pub fn cake_rtt(rtt: Delta) -> String {
    format!("{}us", rtt.as_us())
}

/// CAKE's words for what a packet takes; none for what it sees itself.
pub(crate) fn cake_framing(framing: Framing) -> Words {
    if framing == Framing::NONE {
        return words(&["raw"]);
    }
    let cells = match framing.cells {
        Cells::None => "noatm",
        Cells::Atm => "atm",
        Cells::Ptm => "ptm",
    };
    let overhead = framing.overhead_bytes.to_string();
    let mut line = words(&[cells, "overhead", &overhead]);
    if framing.minimum_bytes > 0 {
        line.extend(["mpu".to_owned(), framing.minimum_bytes.to_string()]);
    }
    line
}

fn htb(plan: &Plan, device: &Device, rate: Rate) -> Vec<Words> {
    let rate = htb_rate(plan.framing, rate);
    let device = device.as_str();
    let mut root = words(&[
        "tc", "qdisc", "replace", "dev", device, "root", "handle", ROOT,
    ]);
    root.extend(size_table(plan));
    root.extend(words(&["htb", "default", "1"]));
    let (speed, burst) = (bit(rate), format!("{}b", burst_bytes(rate)));
    let class = words(&[
        "tc", "class", "replace", "dev", device, "parent", ROOT, "classid", CLASS, "htb", "rate",
        &speed, "ceil", &speed, "burst", &burst, "cburst", &burst, "quantum", "1514",
    ]);
    let mut leaf = words(&[
        "tc", "qdisc", "replace", "dev", device, "parent", CLASS, "handle", LEAF,
    ]);
    leaf.extend(match plan.qdisc {
        Qdisc::FqCodel => fq_codel(rate, plan.rtt),
        _ => words(&["bfifo", "limit", &format!("{}b", fifo_bytes(rate))]),
    });
    vec![root, class, leaf]
}

/// The rate for HTB, which knows no PTM: 64 of 65.
pub(crate) fn htb_rate(framing: Framing, rate: Rate) -> Rate {
    match framing.cells {
        Cells::Ptm => Rate::bps(rate.as_bps() / 65 * 64),
        _ => rate,
    }
}

/// The kernel's table of sizes (`tc-stab(8)`).
fn size_table(plan: &Plan) -> Words {
    let framing = plan.framing_of_frames();
    if framing == Framing::NONE {
        return Words::new();
    }
    let layer = match framing.cells {
        Cells::Atm => "atm",
        _ => "ethernet",
    };
    let (mpu, overhead) = (
        framing.minimum_bytes.to_string(),
        framing.overhead_bytes.to_string(),
    );
    words(&[
        "stab",
        "mtu",
        "2047",
        "tsize",
        "512",
        "mpu",
        &mpu,
        "overhead",
        &overhead,
        "linklayer",
        layer,
    ])
}

fn fq_codel(rate: Rate, rtt: Option<Delta>) -> Words {
    let span = |span: Delta| format!("{}us", span.as_us());
    let (target, interval) = (span(target(rate)), span(interval(rate, rtt)));
    words(&[
        "fq_codel",
        "limit",
        &FQ_CODEL_PACKETS.to_string(),
        "flows",
        &FQ_CODEL_FLOWS.to_string(),
        "target",
        &target,
        "interval",
        &interval,
        "memory_limit",
        &FQ_CODEL_BYTES.to_string(),
        "ecn",
    ])
}

/// 5 ms, or what one and a half packets take: below that fq_codel would drop what merely waits for its turn.
pub(crate) fn target(rate: Rate) -> Delta {
    let packets = PACKET_BYTES * 8 * 3 / 2;
    let us = packets * 1_000_000 / rate.as_bps().max(1);
    Delta::us(us as i64).max(TARGET)
}

/// A round trip, the usual one if none is given, and what the target is longer by.
pub(crate) fn interval(rate: Rate, rtt: Option<Delta>) -> Delta {
    rtt.unwrap_or(INTERVAL) + target(rate) - TARGET
}

pub(crate) fn burst_bytes(rate: Rate) -> u64 {
    span_bytes(rate, BURST).max(PACKET_BYTES + 86)
}

pub(crate) fn fifo_bytes(rate: Rate) -> u64 {
    span_bytes(rate, FIFO).max(PACKET_BYTES * FIFO_PACKETS)
}

fn span_bytes(rate: Rate, span: Delta) -> u64 {
    rate.as_bps() / 8 * span.as_us() as u64 / 1_000_000
}

/// The command that shapes in user space.
fn own(plan: &Plan) -> Words {
    let mut line = words(&["unbloat", "shape", "--interface", plan.device.as_str()]);
    for (name, rate) in [("--rate-down", plan.down), ("--rate-up", plan.up)] {
        if let Some(rate) = rate {
            line.extend([name.to_owned(), format!("{}bit/s", rate.as_bps())]);
        }
    }
    if let Some(rtt) = plan.rtt {
        line.extend(["--rtt".to_owned(), cake_rtt(rtt)]);
    }
    if plan.framing != Framing::NONE {
        line.extend([
            "--overhead".to_owned(),
            plan.framing.overhead_bytes.to_string(),
        ]);
    }
    if plan.framing.minimum_bytes > 0 {
        line.extend(["--mpu".to_owned(), plan.framing.minimum_bytes.to_string()]);
    }
    match plan.framing.cells {
        Cells::None => {}
        Cells::Atm => line.extend(words(&["--cells", "atm"])),
        Cells::Ptm => line.extend(words(&["--cells", "ptm"])),
    }
    line
}

/// Has arriving packets pass by the IFB device again.
pub(crate) fn unredirect(device: &Device) -> Words {
    words(&["tc", "qdisc", "del", "dev", device.as_str(), "ingress"])
}

/// Has CAKE, where it is or comes to be, count what it drops: it has come over the line already.
pub(crate) fn cake_ingress(ifb: &Device) -> Words {
    words(&[
        "tc",
        "qdisc",
        "replace",
        "dev",
        ifb.as_str(),
        "root",
        "handle",
        ROOT,
        "cake",
        "ingress",
    ])
}

fn redirect(device: &Device, ifb: &Device) -> Change {
    let (device, ifb) = (device.as_str(), ifb.as_str());
    Change::Redirect(vec![
        words(&[
            "tc", "qdisc", "add", "dev", device, "handle", "ffff:", "ingress",
        ]),
        words(&[
            "tc", "filter", "add", "dev", device, "parent", "ffff:", "protocol", "all", "prio",
            "10", "u32", "match", "u32", "0", "0", "flowid", "1:1", "action", "mirred", "egress",
            "redirect", "dev", ifb,
        ]),
    ])
}

fn bit(rate: Rate) -> String {
    format!("{}bit", rate.as_bps())
}

fn words(line: &[&str]) -> Words {
    line.iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_units::Both;

    fn plan(qdisc: Qdisc) -> Plan {
        let rates = Both::new(Some(Rate::mbps(19)), Some(Rate::mbps(1)));
        Plan::new("eth0".parse().unwrap(), rates, Framing::ATM, qdisc).unwrap()
    }

    #[test]
    fn cake_is_told_rate_and_framing_each_way() {
        let text = text(&commands(&plan(Qdisc::Cake)));
        let expected = "\
tc qdisc replace dev eth0 root cake bandwidth 1000000bit besteffort nowash egress atm overhead 44
ip link add name ifb4eth0 type ifb
ip link set dev ifb4eth0 up
tc qdisc replace dev ifb4eth0 root cake bandwidth 19000000bit besteffort wash ingress atm overhead 44
tc qdisc add dev eth0 handle ffff: ingress
tc filter add dev eth0 parent ffff: protocol all prio 10 u32 match u32 0 0 flowid 1:1 action mirred egress redirect dev ifb4eth0
";
        assert_eq!(text, expected);
    }

    #[test]
    fn targets_grow_on_slow_lines() {
        assert_eq!(target(Rate::mbps(19)), Delta::ms(5));
        // 1.5 packets of 12,112 bits at 1 Mbit/s.
        assert_eq!(target(Rate::mbps(1)), Delta::us(18_168));
        let text = text(&commands(&plan(Qdisc::FqCodel)));
        assert!(text.contains("target 18168us interval 113168us"), "{text}");
    }

    #[test]
    fn a_size_table_is_told_what_a_frame_lacks_and_cake_what_a_packet_does() {
        let on_ethernet = |qdisc, overhead_bytes| {
            let framing = Framing {
                overhead_bytes,
                ..Framing::ATM
            };
            text(&commands(&Plan {
                framing,
                header_bytes: 14,
                ..plan(qdisc)
            }))
        };
        let table = |overhead: &str| {
            format!("stab mtu 2047 tsize 512 mpu 0 overhead {overhead} linklayer atm htb")
        };
        assert!(on_ethernet(Qdisc::Fifo, 44).contains(&table("30")));
        assert!(on_ethernet(Qdisc::FqCodel, 8).contains(&table("-6")));
        assert!(
            text(&commands(&plan(Qdisc::Fifo))).contains(&table("44")),
            "raw IP"
        );
        assert!(on_ethernet(Qdisc::Cake, 44).contains("atm overhead 44"));
    }

    #[test]
    fn what_htb_needs_of_offloads_is_taken_back() {
        let of = |commands: Vec<Words>| text(&commands);
        let htb = plan(Qdisc::Fifo);
        assert!(of(commands(&htb)).starts_with(
            "ethtool -K eth0 tso off gso off gro off\nip link set dev eth0 gso_max_segs 1\n"
        ));
        assert!(of(removal(&htb)).ends_with(
            "tc qdisc del dev eth0 root\nethtool -K eth0 tso on gso on gro on\nip link set dev eth0 gso_max_segs 65535\n"
        ));
    }

    #[test]
    fn a_fifo_is_short_but_holds_a_burst() {
        assert_eq!(fifo_bytes(Rate::mbps(19)), 47_500);
        assert_eq!(fifo_bytes(Rate::mbps(1)), 24_224);
    }

    #[test]
    fn our_own_cake_is_told_as_its_command() {
        let expected = "unbloat shape --interface eth0 --rate-down 19000000bit/s --rate-up 1000000bit/s --overhead 44 --cells atm\n";
        assert_eq!(text(&commands(&plan(Qdisc::OwnCake))), expected);
    }

    #[test]
    fn a_long_round_trip_is_told_to_every_discipline_that_knows_one() {
        let far = |qdisc| text(&commands(&plan(qdisc).with_rtt(Some(Delta::us(301_200)))));
        assert!(far(Qdisc::Cake).contains("overhead 44 rtt 302000us\n"));
        assert!(far(Qdisc::OwnCake).contains("--rtt 302000us"));
        assert!(
            far(Qdisc::FqCodel).contains("interval 315168us"),
            "{}",
            far(Qdisc::FqCodel)
        );
        let near = |qdisc| text(&commands(&plan(qdisc).with_rtt(Some(Delta::ms(40)))));
        for qdisc in [Qdisc::Cake, Qdisc::OwnCake, Qdisc::FqCodel] {
            assert_eq!(near(qdisc), text(&commands(&plan(qdisc))));
        }
    }

    #[test]
    fn one_direction_alone_touches_nothing_of_the_other() {
        let up = Plan {
            down: None,
            ..plan(Qdisc::Cake)
        };
        let texts = [text(&commands(&up)), text(&removal(&up))];
        assert!(!texts.concat().contains("ifb") && !texts.concat().contains("ingress"));
    }
}
