//! Faults in plain English: what, how much, what it costs, what to do.

use crate::links;
use crate::problems::{ProblemKind, Share};
use crate::{Copied, Health, Step};
use unbloat_units::{Bytes, Delta};

impl Health {
    pub(crate) fn sentence(&self, kind: ProblemKind) -> String {
        match kind {
            ProblemKind::UnreadLinkType => self.unread_link_type(),
            ProblemKind::OneDirection => self.only_one_direction(),
            ProblemKind::MissingBytes => self.missing_bytes(),
            ProblemKind::KernelDrops => self.drops(),
            ProblemKind::HeadersCut => format!(
                "{} of {} packets were cut within their headers, so they were not analysed; capture again with at least 128 bytes per packet (tcpdump -s 128).",
                self.snap.headers_cut, self.packets
            ),
            ProblemKind::OptionsCut => self.options_cut(),
            ProblemKind::ClockStep => self.clock_steps(),
            ProblemKind::OutOfOrder => format!(
                "{} packets ({}) are out of time order, by up to {}; round trips and rates within that time are uncertain. `reordercap` sorts the file.",
                self.order.late_packets,
                percent(Share(self.order.late_packets, self.packets)),
                Delta::ns(self.order.most_late_ns)
            ),
            ProblemKind::CapturedTwice => self.captured_twice(),
            ProblemKind::Damage => format!(
                "The capture is damaged and was read up to the damage: {}.",
                self.damage.join("; ")
            ),
            ProblemKind::Offload => self.offloaded(),
            ProblemKind::PayloadCut => format!(
                "{} of packets with payload were stored without it, so server names, DNS and HTTP are unknown; delays are not affected. Capture at least 256 bytes per packet to see them.",
                percent(Share(self.snap.payload_cut, self.snap.payload_packets))
            ),
        }
    }

    fn unread_link_type(&self) -> String {
        let links = self.unread_links.iter().map(|link| {
            let (n, name) = (link.number, links::name(link.number));
            let packets = if link.packets == 1 {
                "packet"
            } else {
                "packets"
            };
            format!("{} {packets} of link type {n} ({name})", link.packets)
        });
        let encrypted = match self.encrypted {
            0 => String::new(),
            n => format!(", {n} of them encrypted"),
        };
        let way_out = match self.unread_links.iter().any(|link| links::is_wifi(link.number)) {
            true => "capture on the host itself or on the wired side of the access point, or decrypt the frames first (airdecap-ng)".to_owned(),
            false => format!("unbloat reads {}; capture on an interface of one of these types", links::READ),
        };
        format!(
            "{} of {} packets could not be read: {}{encrypted}; {way_out}.",
            self.unread().0,
            self.packets,
            links.collect::<Vec<_>>().join(", "),
        )
    }

    fn only_one_direction(&self) -> String {
        let flows = &self.flows;
        let which = match (flows.only_down, flows.only_up) {
            (_, 0) => "towards the client",
            (0, _) => "towards the server",
            _ => "some towards the client, some towards the server",
        };
        format!(
            "{} of {} TCP flows ({}) were captured in one direction only, {which}: their round trips and bytes in flight are unknown. Capture where both directions pass, or mirror both.",
            flows.only_down + flows.only_up,
            flows.tcp_flows,
            percent(self.one_direction())
        )
    }

    fn missing_bytes(&self) -> String {
        format!(
            "{} ({}) of the TCP payload is missing from the capture: receivers acknowledged it, but it was not captured. Losses and rates are uncertain; use a larger capture buffer (tcpdump -B), a filter or a shorter snap length, or capture where all packets pass.",
            Bytes::new(self.flows.missing_bytes),
            percent(self.missing())
        )
    }

    fn drops(&self) -> String {
        let drops = self.dropped();
        format!(
            "The kernel dropped {} packets while capturing ({} of all), so counts are too low; use a larger capture buffer (tcpdump -B), a filter or a shorter snap length.",
            drops.0,
            percent(drops)
        )
    }

    fn options_cut(&self) -> String {
        format!(
            "The snap length cut the TCP options of {} packets ({}): timestamps, SACK and window scales are unknown there. Capture again with at least 128 bytes per packet (tcpdump -s 128).",
            self.snap.options_cut,
            percent(Share(self.snap.options_cut, self.tcp_packets))
        )
    }

    fn clock_steps(&self) -> String {
        let told = self.clock.first.iter().take(3).map(|step| said(*step));
        let mut told: Vec<String> = told.collect();
        if self.clock.steps > 3 {
            told.push(format!("{} more", self.clock.steps - 3));
        }
        format!(
            "The capture clock stepped: {}. All reported times are corrected for these steps.",
            told.join(", ")
        )
    }

    fn captured_twice(&self) -> String {
        let [down, up] =
            [self.copied.down, self.copied.up].map(|side: Copied| Share(side.copies, side.packets));
        let which = match (down.percent() >= 1.0, up.percent() >= 1.0) {
            (true, false) => format!("{} of the packets towards the client", percent(down)),
            (false, true) => format!("{} of the packets towards the server", percent(up)),
            _ => format!(
                "{} of the packets towards the client and {} of those towards the server",
                percent(down),
                percent(up)
            ),
        };
        format!(
            "{which} are copies of packets captured just before, as with a mirror port of both directions or `-i any`; they were ignored. Capture on one interface to avoid them."
        )
    }

    fn offloaded(&self) -> String {
        let offload = &self.offload;
        format!(
            "{} of TCP data packets are larger than on the wire (up to {}), because the interface splits or merges packets (TSO, GRO): delays and bytes are correct, packet counts are too low. `ethtool -K IFACE tso off gso off gro off` while capturing avoids it.",
            percent(Share(offload.large_packets, offload.data_packets)),
            Bytes::new(offload.largest_bytes)
        )
    }
}

fn said(step: Step) -> String {
    let by = Delta::ns(step.step_ns.saturating_abs());
    let way = if step.step_ns < 0 { "back" } else { "forward" };
    format!("{way} by {by} at {:.1} s", step.time_ns as f64 / 1e9)
}

/// Two significant digits below 10 %.
fn percent(share: Share) -> String {
    match share.percent() {
        x if x >= 10.0 => format!("{x:.0} %"),
        x if x >= 1.0 => format!("{x:.1} %"),
        x if x >= 0.01 => format!("{x:.2} %"),
        _ => "less than 0.01 %".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::{ClockHealth, Copied, Flows, Health, Sides, Step, UnreadLink};

    fn only(health: Health) -> String {
        let sentences = health.sentences();
        assert_eq!(sentences.len(), 1, "{sentences:?}");
        sentences[0].clone()
    }

    #[test]
    fn an_unread_link_type_is_named_by_number_with_the_way_out() {
        let of = |number, encrypted| {
            only(Health {
                packets: 12,
                encrypted,
                unread_links: vec![UnreadLink {
                    number,
                    packets: 12,
                }],
                ..Health::default()
            })
        };
        let frame_relay = of(107, 0);
        assert!(frame_relay.starts_with("12 of 12 packets could not be read: 12 packets of link type 107 (Frame Relay); unbloat reads Ethernet (1), raw IP"), "{frame_relay}");
        let air = of(127, 9);
        assert!(air.starts_with("12 of 12 packets could not be read: 12 packets of link type 127 (IEEE 802.11 with radio headers), 9 of them encrypted; capture on the host itself"), "{air}");
    }

    #[test]
    fn one_direction_says_which() {
        let flows = Flows {
            tcp_flows: 40,
            only_up: 38,
            ..Flows::default()
        };
        let sentence = only(Health {
            flows,
            ..Health::default()
        });
        assert!(
            sentence.starts_with(
                "38 of 40 TCP flows (95 %) were captured in one direction only, towards the server"
            ),
            "{sentence}"
        );
    }

    #[test]
    fn copies_say_which_direction_and_how_many() {
        let twice = Copied {
            packets: 2000,
            copies: 1000,
        };
        let once = Copied {
            packets: 1000,
            copies: 0,
        };
        let sentence = |down, up| {
            only(Health {
                packets: 3000,
                copied: Sides { down, up },
                ..Health::default()
            })
        };
        let down = sentence(twice, once);
        assert!(
            down.starts_with("50 % of the packets towards the client are copies"),
            "{down}"
        );
        let both = sentence(twice, twice);
        assert!(
            both.starts_with(
                "50 % of the packets towards the client and 50 % of those towards the server are"
            ),
            "{both}"
        );
    }

    #[test]
    fn steps_say_when_and_by_how_much() {
        let step = |at_s: i64, ms: i64| Step {
            time_ns: at_s * 1_000_000_000,
            step_ns: ms * 1_000_000,
            is_by_timestamps: true,
        };
        let first = vec![step(2, 300), step(9, -1500), step(11, 60), step(12, 70)];
        let clock = ClockHealth { steps: 5, first };
        let sentence = only(Health {
            clock,
            ..Health::default()
        });
        assert_eq!(
            sentence,
            "The capture clock stepped: forward by 300 ms at 2.0 s, back by 1.5 s at 9.0 s, forward by 60 ms at 11.0 s, 2 more. All reported times are corrected for these steps."
        );
    }
}
