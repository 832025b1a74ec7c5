//! What is wrong with a configuration of sqm-scripts: each finding with its reason and what to do.

use crate::plan::is_countable;
use crate::plan::{Device, ETHERNET_HEADER_BYTES, SHARE_PERCENT};
use crate::section::{Number, Shaper};
use crate::uci::Section;
use schemars::JsonSchema;
use serde::Serialize;
use unbloat_units::{Both, Cells, Framing, Rate};

/// What is known besides the configuration; what is not is not judged.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    pub measured: Both<Option<Rate>>,
    /// Of the line.
    pub framing: Option<Framing>,
    /// The devices that there are.
    pub devices: Option<Vec<String>>,
    /// Devices of default routes, of whichever routing table; the usual one first.
    pub outward: Vec<String>,
    /// Devices whose queue counts Ethernet's header as part of a packet.
    pub ethernet: Vec<String>,
    /// Queue disciplines that the kernel has.
    pub offered: Option<Vec<String>>,
    /// What has a device's hardware forward packets past the queue disciplines, and how that is switched off.
    pub bypass: Option<Bypass>,
}

/// A setting by which hardware forwards packets, which no queue discipline then sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bypass {
    /// `flow_offloading_hw` of OpenWrt's firewall.
    Uci,
    /// A flowtable of nftables with `flags offload`.
    Flowtable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The shaper does not work, or does nothing for delay.
    Wrong,
    /// It works less well than it could.
    Weak,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    pub severity: Severity,
    pub section: String,
    pub option: &'static str,
    pub reason: String,
    pub fix: String,
}

/// Judges all sections. Those of a kind that is not `queue` are sqm's own business.
pub fn check(sections: &[Section], facts: &Facts) -> Vec<Finding> {
    let queues = sections.iter().filter(|section| section.kind == "queue");
    let shapers: Vec<Shaper> = queues.map(Shaper::read).collect();
    let mut findings = Vec::new();
    let first = || shapers.first().map_or("sqm", |s| s.name.as_str());
    if let Some(bypass) = facts.bypass {
        findings.push(bypass.finding(first()));
    }
    if shapers.iter().all(|shaper| !shaper.enabled) {
        findings.push(Finding {
            severity: Severity::Wrong,
            section: first().to_owned(),
            option: "enabled",
            reason: "no section is enabled: nothing is shaped".to_owned(),
            fix: "set enabled to 1 and restart sqm".to_owned(),
        });
    }
    for (index, shaper) in shapers.iter().enumerate() {
        let mut judge = Judge {
            shaper,
            facts,
            findings: &mut findings,
        };
        judge.interface(&shapers[..index]);
        judge.rates();
        judge.qdisc();
        judge.framing();
        judge.details();
    }
    findings.sort_by_key(|finding| finding.severity);
    findings
}

impl Bypass {
    fn finding(self, section: &str) -> Finding {
        let (what, fix) = match self {
            Bypass::Uci => (
                "the firewall's flow_offloading_hw is on",
                "uci set firewall.@defaults[0].flow_offloading_hw=0; uci commit firewall; /etc/init.d/firewall restart",
            ),
            Bypass::Flowtable => (
                "nftables has a flowtable with `flags offload`",
                "remove `flags offload` from the flowtable (nft list flowtables names it)",
            ),
        };
        Finding {
            severity: Severity::Wrong,
            section: section.to_owned(),
            option: "interface",
            reason: format!(
                "{what}: hardware forwards packets past the shaper, which then does not limit them"
            ),
            fix: fix.to_owned(),
        }
    }
}

struct Judge<'a> {
    shaper: &'a Shaper,
    facts: &'a Facts,
    findings: &'a mut Vec<Finding>,
}

impl Judge<'_> {
    fn wrong(&mut self, option: &'static str, reason: String, fix: String) {
        self.found(Severity::Wrong, option, reason, fix);
    }

    fn weak(&mut self, option: &'static str, reason: String, fix: String) {
        self.found(Severity::Weak, option, reason, fix);
    }

    fn found(&mut self, severity: Severity, option: &'static str, reason: String, fix: String) {
        self.findings.push(Finding {
            severity,
            section: self.shaper.name.clone(),
            option,
            reason,
            fix,
        });
    }

    fn interface(&mut self, before: &[Shaper]) {
        const OPTION: &str = "interface";
        let outward = &self.facts.outward;
        let to_outward = || match outward.first() {
            Some(device) => format!("set it to {device}, where the default route goes"),
            None => {
                "set it to the device that faces the provider (ip route show default)".to_owned()
            }
        };
        let Some(name) = &self.shaper.interface else {
            self.wrong(OPTION, "no device is named".to_owned(), to_outward());
            return;
        };
        if let Err(error) = name.parse::<Device>() {
            self.wrong(OPTION, error.to_string(), to_outward());
            return;
        }
        let is_there = |devices: &Vec<String>| devices.contains(name);
        if self
            .facts
            .devices
            .as_ref()
            .is_some_and(|devices| !is_there(devices))
        {
            self.wrong(OPTION, format!("there is no device {name}"), to_outward());
        } else if !outward.is_empty() && !outward.contains(name) {
            let reason = format!(
                "no default route uses {name}: on a LAN-side device download and upload are swapped, and traffic of other devices is not shaped"
            );
            self.wrong(OPTION, reason, to_outward());
        }
        let same = before
            .iter()
            .any(|s| s.enabled && s.interface.as_ref() == Some(name));
        if same && self.shaper.enabled {
            let reason =
                format!("another section already shapes {name}: the later section replaces it");
            self.wrong(OPTION, reason, "disable one of the two".to_owned());
        }
    }

    fn rates(&mut self) {
        let Both { down, up } = self.facts.measured;
        let shaper = self.shaper;
        self.rate("download", &shaper.download_kbps, down);
        self.rate("upload", &shaper.upload_kbps, up);
    }

    fn rate(&mut self, option: &'static str, number: &Number, measured: Option<Rate>) {
        let best = measured.map(|rate| rate.as_bps() / 100 * SHARE_PERCENT / 1000);
        let set = match best {
            Some(kbps) => format!("set it to {kbps} (95 % of the measured rate)"),
            None => "measure the rate (unbloat test) and set 95 % of it, in kbit/s".to_owned(),
        };
        let kbps = match number {
            Number::Given(kbps) if *kbps > 0 => *kbps as u64,
            Number::Given(0) | Number::Missing => {
                let reason =
                    format!("no rate: {option} is not shaped, so its queue stays in the modem");
                return self.wrong(option, reason, set);
            }
            Number::Given(kbps) => return self.wrong(option, format!("{kbps} is not a rate"), set),
            Number::Odd(text) => {
                let reason = format!("\"{}\" is not a number of kbit/s", text.escape_debug());
                return self.wrong(option, reason, set);
            }
        };
        let (Some(measured), Some(best)) = (measured, best) else {
            if kbps < 120 {
                let reason = format!("{kbps} kbit/s is too low: the unit is kbit/s, not Mbit/s");
                self.wrong(option, reason, set);
            }
            return;
        };
        let line = measured.as_bps() / 1000;
        if kbps > line {
            let reason = format!(
                "{kbps} kbit/s is above the measured {line} kbit/s: the queue stays in the modem and the shaper has no effect"
            );
            self.wrong(option, reason, set);
        } else if kbps > best + line * 3 / 100 {
            let reason = format!(
                "{kbps} kbit/s is too close to the measured {line} kbit/s for the modem's queue to stay empty"
            );
            self.weak(option, reason, set);
        } else if kbps < line / 100 {
            let reason = format!(
                "{kbps} kbit/s is less than a hundredth of the measured {line} kbit/s: the unit is kbit/s, not Mbit/s"
            );
            self.wrong(option, reason, set);
        } else if kbps < line * 80 / 100 {
            let reason =
                format!("{kbps} kbit/s wastes more than a fifth of the measured {line} kbit/s");
            self.weak(option, reason, set);
        }
    }

    fn qdisc(&mut self) {
        let (qdisc, script) = (self.shaper.qdisc.as_str(), self.shaper.script.as_str());
        let is_cake = matches!(qdisc, "cake" | "cake_mq");
        let is_cake_script = matches!(script, "piece_of_cake.qos" | "layer_cake.qos");
        if is_cake != is_cake_script && is_known_script(script) {
            let (reason, fix) = match is_cake {
                true => (
                    format!(
                        "{script} builds HTB or TBF, which is not meant to be combined with {qdisc}"
                    ),
                    "set script to piece_of_cake.qos",
                ),
                false => (
                    format!("{script} always uses cake and ignores qdisc, here {qdisc}"),
                    "set qdisc to cake, or script to simplest.qos",
                ),
            };
            self.wrong("script", reason, fix.to_owned());
        }
        if !is_known_script(script) {
            let fix = "set it to piece_of_cake.qos (cake) or simplest.qos (fq_codel)".to_owned();
            match script {
                "" => self.wrong(
                    "script",
                    "no script is given: nothing is shaped".to_owned(),
                    fix,
                ),
                other => {
                    let other = other.escape_debug();
                    let reason = format!("script \"{other}\" is unknown to this check");
                    self.weak("script", reason, fix);
                }
            }
        }
        match qdisc {
            "cake" | "cake_mq" | "fq_codel" => {}
            "codel" | "pie" | "sfq" => {
                let reason = match qdisc {
                    "sfq" => "sfq isolates flows, but lets each flow's queue grow".to_owned(),
                    _ => format!("{qdisc} keeps the queue short, but does not isolate flows"),
                };
                self.weak("qdisc", reason, "set it to cake or fq_codel".to_owned());
            }
            other => {
                let reason = format!(
                    "sqm-scripts cannot shape with queue discipline \"{}\"",
                    other.escape_debug()
                );
                self.wrong("qdisc", reason, "set it to cake or fq_codel".to_owned());
            }
        }
        if qdisc == "cake_mq" {
            self.cake_mq();
        }
        let lacks = |offered: &Vec<String>| !offered.iter().any(|kind| kind == qdisc);
        if self.facts.offered.as_ref().is_some_and(lacks) {
            let reason = format!("the kernel has no {}", qdisc.escape_debug());
            let fix = format!(
                "install kmod-sched-{}",
                if is_cake { "cake" } else { "core" }
            );
            self.wrong("qdisc", reason, fix);
        }
    }

    /// sqm-scripts PR 184, qosmate issue 109.
    fn cake_mq(&mut self) {
        let reason = "cake_mq runs one instance for each hardware queue: if all packets use one queue it is not faster, and its ifb needs several queues";
        let fix = "set qdisc to cake, unless one CPU is too slow for the rate";
        self.weak("qdisc", reason.to_owned(), fix.to_owned());
        let options = self.shaper.options.iter().flatten();
        let all: String = options.flat_map(|o| [o.as_str(), " "]).collect();
        if all.contains("autorate-ingress") {
            self.wrong(
                "iqdisc_opts",
                "cake_mq rejects autorate-ingress: the shaper does not start".to_owned(),
                "remove autorate-ingress from iqdisc_opts".to_owned(),
            );
        }
    }

    fn framing(&mut self) {
        if let Number::Odd(text) = &self.shaper.overhead {
            let reason = format!("\"{}\" is not a number of bytes", text.escape_debug());
            self.wrong(
                "overhead",
                reason,
                "set it to the number of bytes that the line adds to each packet".to_owned(),
            );
            return;
        }
        let Some(found) = self
            .shaper
            .framing()
            .filter(|framing| is_countable(*framing))
        else {
            let reason = format!(
                "the kernel does not support linklayer \"{}\" with overhead {:?}",
                self.shaper.linklayer.escape_debug(),
                self.shaper.overhead.value()
            );
            let fix = "set linklayer to ethernet or atm, overhead from -64 to 256, tcMPU up to 256";
            self.wrong("linklayer", reason, fix.to_owned());
            return;
        };
        let is_cake = self.shaper.qdisc.starts_with("cake");
        self.counted_twice(is_cake);
        if self.shaper.adaptation == "cake" && !is_cake {
            let reason = format!(
                "{} cannot account for the link layer, only cake can",
                self.shaper.qdisc.escape_debug()
            );
            let fix = "set linklayer_adaptation_mechanism to default";
            self.wrong("linklayer_adaptation_mechanism", reason, fix.to_owned());
        }
        // What sqm-scripts give to the kernel's size table is added to the frame.
        let is_of_frames = !is_cake && found != Framing::NONE;
        let interface = self.shaper.interface.as_ref();
        let header = match interface.is_some_and(|name| self.facts.ethernet.contains(name)) {
            true if is_of_frames => i32::from(ETHERNET_HEADER_BYTES),
            _ => 0,
        };
        let counted = Framing {
            overhead_bytes: found.overhead_bytes + header,
            ..found
        };
        match self.facts.framing {
            Some(line) => self.framing_of(counted, line, header),
            None if found == Framing::NONE => {
                let reason = "no overhead is counted: with small packets the line carries more than the shaper counts";
                let fix = "set linklayer and overhead: ADSL atm 44, VDSL ethernet 34, DOCSIS ethernet 18 (tcMPU 64), fibre ethernet 44";
                self.weak("linklayer", reason.to_owned(), fix.to_owned());
            }
            None => {}
        }
    }

    /// By the kernel's size table and by CAKE.
    fn counted_twice(&mut self, is_cake: bool) {
        const COUNTS: [&str; 5] = ["overhead", "atm", "ptm", "mpu", "conservative"];
        let options = self.shaper.options.iter().flatten();
        let mut words = options.flat_map(|option| option.split_whitespace());
        let has_table = self.shaper.adaptation == "tc_stab" && self.shaper.linklayer != "none";
        if is_cake && has_table && words.any(|word| COUNTS.contains(&word)) {
            self.wrong(
                "linklayer_adaptation_mechanism",
                "the overhead is counted twice: by tc_stab, and by cake as iqdisc_opts or eqdisc_opts say"
                    .to_owned(),
                "set it to default, and remove the framing from iqdisc_opts and eqdisc_opts".to_owned(),
            );
        }
    }

    /// `header` bytes of what is counted are not told but added by the kernel.
    fn framing_of(&mut self, found: Framing, line: Framing, header: i32) {
        let told = |framing: Framing| {
            let options = Shaper::framing_options(Framing {
                overhead_bytes: framing.overhead_bytes - header,
                ..framing
            });
            let words: Vec<String> = options.iter().map(|(k, v)| format!("{k} {v}")).collect();
            format!("set {}", words.join(", "))
        };
        let small = |framing: Framing| framing.wire_bytes(60);
        if found.cells != line.cells && (found.cells == Cells::Atm || line.cells == Cells::Atm) {
            let reason = match line.cells {
                Cells::Atm => "the line is ATM: small packets take up to twice what the shaper counts, and the queue moves into the modem".to_owned(),
                _ => "the line is not ATM: up to a tenth of its rate is wasted, more with small packets".to_owned(),
            };
            self.wrong("linklayer", reason, told(line));
        } else if small(found) < small(line) {
            let reason = format!(
                "a packet of 60 B takes {} B on the line and is counted as {}: with many small packets the queue moves into the modem",
                small(line),
                small(found)
            );
            self.weak("overhead", reason, told(line));
        } else if found.overhead_bytes > line.overhead_bytes + 16 {
            let reason = format!(
                "{} B are counted for each packet, but the line adds {} B",
                found.overhead_bytes, line.overhead_bytes
            );
            self.weak("overhead", reason, told(line));
        }
    }

    fn details(&mut self) {
        let up = self.shaper.upload_kbps.value().filter(|kbps| *kbps > 0);
        let target = self.shaper.egress_target.as_deref();
        let is_fixed = target.and_then(|t| t.trim().strip_suffix("ms")?.trim().parse::<f64>().ok());
        if let (Some(kbps), Some(target_ms), "fq_codel" | "codel") =
            (up, is_fixed, self.shaper.qdisc.as_str())
        {
            let least = crate::tc::target(Rate::kbps(kbps as u64)).as_ms();
            if target_ms < least {
                let reason = format!(
                    "at {kbps} kbit/s one packet takes {:.0} ms: a target of {target_ms} ms drops packets without a queue",
                    least / 1.5
                );
                self.weak("etarget", reason, "set it to auto".to_owned());
            }
        }
        if self.shaper.ingress_ecn.as_deref() == Some("NOECN") {
            let reason = "incoming packets are dropped although an ECN mark would do: they have already crossed the line";
            self.weak("ingress_ecn", reason.to_owned(), "set it to ECN".to_owned());
        }
    }
}

fn is_known_script(script: &str) -> bool {
    const KNOWN: [&str; 5] = [
        "piece_of_cake.qos",
        "layer_cake.qos",
        "simple.qos",
        "simplest.qos",
        "simplest_tbf.qos",
    ];
    KNOWN.contains(&script)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uci;

    const GOOD: &str = "config queue 'wan'
 option enabled '1'
 option interface 'pppoe-wan'
 option download '19000'
 option upload '950'
 option qdisc 'cake'
 option script 'piece_of_cake.qos'
 option linklayer 'atm'
 option overhead '44'
";

    fn facts() -> Facts {
        Facts {
            measured: Both::new(Some(Rate::mbps(20)), Some(Rate::mbps(1))),
            framing: Some(Framing::ATM),
            devices: Some(vec!["pppoe-wan".to_owned(), "br-lan".to_owned()]),
            outward: vec!["pppoe-wan".to_owned()],
            offered: Some(["cake", "fq_codel", "codel"].map(str::to_owned).to_vec()),
            ..Facts::default()
        }
    }

    /// Findings on the good configuration with lines put at its end, where the last one counts.
    fn findings(more: &str) -> Vec<Finding> {
        check(&uci::read(&format!("{GOOD}{more}")).unwrap(), &facts())
    }

    #[test]
    fn a_good_configuration_has_no_findings() {
        assert_eq!(findings(""), []);
    }

    #[test]
    fn each_fault_is_found_with_reason_and_fix() {
        let faults = [
            ("option enabled 0", "enabled", "nothing is shaped"),
            ("option interface 'eth9'", "interface", "no device eth9"),
            ("option interface 'br-lan'", "interface", "swapped"),
            (
                "option interface '$(reboot)'",
                "interface",
                "not a valid device name",
            ),
            ("option download '0'", "download", "not shaped"),
            ("option upload ''", "upload", "not a number"),
            ("option download '21000'", "download", "above"),
            ("option download '20000'", "download", "too close"),
            ("option download '20'", "download", "Mbit/s"),
            ("option download '12000'", "download", "wastes"),
            ("option script 'simple.qos'", "script", "HTB or TBF"),
            ("option qdisc 'fq_codel'", "script", "always uses cake"),
            ("option script ''", "script", "nothing is shaped"),
            (
                "option script 'mine.qos'",
                "script",
                "unknown to this check",
            ),
            ("option enabled 'on'", "enabled", "nothing is shaped"),
            ("option qdisc 'codel'", "qdisc", "isolate flows"),
            ("option qdisc 'cake_mq'", "qdisc", "hardware queue"),
            (
                "option qdisc 'cake_mq'\n option iqdisc_opts 'autorate-ingress'",
                "iqdisc_opts",
                "rejects",
            ),
            ("option qdisc 'hfsc'", "qdisc", "cannot shape with"),
            (
                "option linklayer 'ethernet'",
                "linklayer",
                "the line is ATM",
            ),
            ("option overhead '8'", "overhead", "is counted as"),
            ("option overhead '500'", "linklayer", "does not support"),
            ("option overhead 'lots'", "overhead", "not a number"),
            ("option ingress_ecn 'NOECN'", "ingress_ecn", "mark would do"),
            (
                "option qdisc 'fq_codel'\n option script 'simple.qos'\n option etarget '5ms'",
                "etarget",
                "one packet takes 13 ms",
            ),
            (
                "option qdisc 'fq_codel'\n option script 'simple.qos'\n option linklayer_adaptation_mechanism cake",
                "linklayer_adaptation_mechanism",
                "only cake can",
            ),
            (
                "option linklayer_adaptation_mechanism tc_stab\n option eqdisc_opts 'overhead 40 atm'",
                "linklayer_adaptation_mechanism",
                "counted twice",
            ),
        ];
        for (line, option, reason) in faults {
            let found = findings(&format!(" {line}\n"));
            assert!(
                found
                    .iter()
                    .any(|f| f.option == option && f.reason.contains(reason) && !f.fix.is_empty()),
                "{line}: {found:#?}"
            );
        }
    }

    #[test]
    fn what_is_not_known_is_not_judged() {
        let text = GOOD.replace("'44'", "'8'").replace("19000", "50000");
        assert_eq!(check(&uci::read(&text).unwrap(), &Facts::default()), []);
        let bare = GOOD.replace("'atm'", "'none'");
        let found = check(&uci::read(&bare).unwrap(), &Facts::default());
        assert!(
            found
                .iter()
                .any(|f| f.option == "linklayer" && f.severity == Severity::Weak)
        );
    }

    #[test]
    fn every_way_out_is_one() {
        let text = GOOD.replace("pppoe-wan", "wwan0");
        for (ways, is_wrong) in [(&["pppoe-wan"][..], true), (&["pppoe-wan", "wwan0"], false)] {
            let known = Facts {
                devices: None,
                outward: ways.iter().map(|way| (*way).to_owned()).collect(),
                ..facts()
            };
            let found = check(&uci::read(&text).unwrap(), &known);
            assert_eq!(found.iter().any(|f| f.option == "interface"), is_wrong);
        }
    }

    #[test]
    fn hardware_that_forwards_past_the_queues_is_one_finding() {
        let twice = format!("{GOOD}{}", GOOD.replace("pppoe-wan", "br-lan"));
        for (bypass, word) in [
            (Bypass::Uci, "uci set"),
            (Bypass::Flowtable, "flags offload"),
        ] {
            let known = Facts {
                bypass: Some(bypass),
                ..facts()
            };
            let found = check(&uci::read(&twice).unwrap(), &known);
            let of_it: Vec<&Finding> = found
                .iter()
                .filter(|f| f.reason.contains("past the shaper"))
                .collect();
            assert!(
                matches!(of_it[..], [one] if one.fix.contains(word)),
                "{found:#?}"
            );
        }
    }

    #[test]
    fn a_size_table_counts_the_frame_of_ethernet() {
        let told = |overhead: &str| {
            GOOD.replace("'cake'", "'fq_codel'")
                .replace("piece_of_cake", "simplest")
                .replace("'44'", overhead)
        };
        let known = Facts {
            ethernet: vec!["pppoe-wan".to_owned()],
            ..facts()
        };
        let found = |overhead| check(&uci::read(&told(overhead)).unwrap(), &known);
        assert_eq!(found("'30'"), []);
        let low = found("'8'");
        assert!(
            low.iter().any(|f| f.fix.contains("overhead 30")),
            "{low:#?}"
        );
    }

    #[test]
    fn two_sections_for_one_device_are_one_too_many() {
        let twice = format!("{GOOD}{}", GOOD.replace("'wan'", "'wan2'"));
        let found = check(&uci::read(&twice).unwrap(), &facts());
        assert!(
            found
                .iter()
                .any(|f| f.section == "wan2" && f.reason.contains("another section"))
        );
    }
}
