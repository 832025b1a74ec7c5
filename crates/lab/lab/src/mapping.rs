//! What the kernel can be told of a flow's TCP, what it cannot, and what it does otherwise.
//!
//! Nothing is left out silently: what has no counterpart in the kernel is either refused ([`LabError::OnlySim`]) or named among the
//! *differences* of the run.

use crate::error::LabError;
use std::collections::{BTreeMap, BTreeSet};
use unbloat_experiment::scenario::Flow;
use unbloat_tcp::congestion::Config as Control;
use unbloat_tcp::receive_window::Config as Window;
use unbloat_tcp::receiver::Params as Receiver;
use unbloat_tcp::sender::{EcnMode, Params as Sender};
use unbloat_units::{Bytes, Delta};
use unbloat_workload::Config as Workload;
use unbloat_workload_host::Tcp;

/// What memory of a send buffer holds of payload, where TCP queues one segment at a time: 1,448 bytes cost 2,280 in the guest's 6.12, whose
/// sockets of 318,232 and 1,034,254 bytes hold 140 and 454 segments (`sk_wmem_queued`, `SKB_TRUESIZE`).
const MEMORY_OF: (u64, u64) = (2_280, 1_448);
/// TCP and IP headers with timestamps, and the largest packet of the lab's devices.
const OPTIONS: u32 = 12;
const FULL_MSS: u32 = 1_448;
/// Receive memory per window with which a window is never short of memory.
const MEMORY_PER_WINDOW: u64 = 4;

/// A congestion control by its names in scenarios and in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ControlName {
    pub scenario: &'static str,
    pub kernel: &'static str,
}

/// The kernel's name of a congestion control of scenarios; none: the kernel never had it.
pub fn kernel_control(name: &str) -> Option<ControlName> {
    const NAMES: [(&str, &str); 8] = [
        ("newreno", "reno"),
        ("cubic", "cubic"),
        ("bbr", "bbr"),
        ("vegas", "vegas"),
        ("bic", "bic"),
        ("htcp", "htcp"),
        ("hstcp", "highspeed"),
        ("westwood", "westwood"),
    ];
    let found = NAMES.into_iter().find(|(scenario, _)| *scenario == name);
    found.map(|(scenario, kernel)| ControlName { scenario, kernel })
}

/// One of the kernel's settings for TCP.
#[derive(Clone, Debug, PartialEq)]
struct Setting {
    value: String,
    /// It is what hosts have anyway.
    is_default: bool,
}

/// A law that a BPF program holds the receive windows of some flow by.
#[derive(Debug)]
pub struct HeldWindow {
    pub law: Window,
    /// Whose sockets: the server's (0) or the client's (1).
    pub side: usize,
    /// Number of the flow.
    pub flow: usize,
}

/// What sockets and hosts are told.
#[derive(Debug, Default)]
pub struct Mapping {
    /// By flow: of the server's socket, which sends downwards, then the client's.
    pub tcp: Vec<[Tcp; 2]>,
    /// By side (server, client) and number of the host.
    settings: BTreeMap<(usize, u32), BTreeMap<&'static str, Setting>>,
    /// Ticks of timestamps, by side and number of the host.
    pub(crate) ticks: BTreeMap<(usize, u32), Delta>,
    pub differences: BTreeSet<String>,
    pub controls: BTreeSet<ControlName>,
    pub windows: Vec<HeldWindow>,
    /// With a flow that has a send buffer of its own.
    bounded: BTreeSet<(usize, u32)>,
}

impl Mapping {
    pub fn of(flows: &[Flow]) -> Result<Mapping, LabError> {
        let mut mapping = Mapping::default();
        for flow in flows {
            if flow.readers.iter().any(Option::is_some) {
                return Err(LabError::OnlySim {
                    flow: flow.name.clone(),
                    what: "read_rate".to_owned(),
                });
            }
            if matches!(flow.workload, Workload::Traceroute(_)) {
                return Err(LabError::NoRouters(flow.name.clone()));
            }
            // The one end sends downwards and receives upwards.
            let ends = [
                (&flow.senders.down, &flow.receivers.up, flow.server.0),
                (&flow.senders.up, &flow.receivers.down, flow.client.0),
            ];
            let [server, client] = [0, 1].map(|side| {
                let (sender, receiver, host) = ends[side];
                mapping.end(&flow.name, sender, receiver, (side, host))
            });
            mapping.tcp.push([server?, client?]);
            let hosts = [flow.server.0, flow.client.0].into_iter().enumerate();
            for ((side, host), tick) in hosts.zip(flow.timestamp_ticks) {
                let before = mapping.ticks.insert((side, host), tick);
                if before.is_some_and(|before| before != tick) {
                    let text = format!("timestamp_tick is {tick} for all flows of its host");
                    mapping.differ(&flow.name, text);
                }
            }
        }
        Ok(mapping)
    }

    fn end(
        &mut self,
        flow: &str,
        sender: &Sender,
        receiver: &Receiver,
        host: (usize, u32),
    ) -> Result<Tcp, LabError> {
        let control = self.control(flow, &sender.congestion)?;
        self.host_settings(flow, sender, receiver, host)?;
        self.cannot(flow, sender, receiver);
        let (receive_buffer, window_clamp) = self.window(flow, receiver, host)?;
        let default = Sender::default();
        let memory = |bytes: u64| Bytes::new(bytes * MEMORY_OF.0 / MEMORY_OF.1);
        let is_bounded = sender.send_buffer != default.send_buffer;
        if is_bounded {
            self.bounded.insert(host);
        }
        Ok(Tcp {
            congestion_control: Some(control.kernel.to_owned()),
            send_buffer: is_bounded.then(|| memory(sender.send_buffer)),
            receive_buffer,
            window_clamp,
            mss: (sender.mss != FULL_MSS)
                .then(|| sender.mss + if sender.timestamps { OPTIONS } else { 0 }),
        })
    }

    fn control(&mut self, flow: &str, config: &Control) -> Result<ControlName, LabError> {
        let name = kernel_control(config.name()).ok_or_else(|| LabError::OnlySim {
            flow: flow.to_owned(),
            what: format!("cc = {:?}", config.name()),
        })?;
        if Control::named(config.name()).as_ref() != Some(config) {
            self.differ(
                flow,
                format!(
                    "parameters of cc {:?} are those of the kernel",
                    config.name()
                ),
            );
        }
        self.controls.insert(name);
        Ok(name)
    }

    fn window(
        &mut self,
        flow: &str,
        receiver: &Receiver,
        host: (usize, u32),
    ) -> Result<(Option<Bytes>, Option<Bytes>), LabError> {
        match &receiver.rule {
            Window::Static(params) => {
                let memory = Bytes::new(params.window.as_u64() * MEMORY_PER_WINDOW);
                Ok((Some(memory), Some(params.window)))
            }
            Window::Drs(params) => {
                let default = unbloat_tcp::receive_window::drs::Params::default();
                if params.initial != default.initial.min(params.max) {
                    self.differ(flow, "the first receive window is the kernel's".to_owned());
                }
                if params.max > default.max {
                    let most = params.max.as_u64() * 2;
                    self.set(
                        flow,
                        host,
                        "tcp_rmem",
                        format!("4096 131072 {most}"),
                        String::new(),
                    );
                }
                Ok((None, (params.max != default.max).then_some(params.max)))
            }
            Window::Drwa(_) | Window::RLedbat(_) => {
                self.windows.push(HeldWindow {
                    law: receiver.rule.clone(),
                    side: host.0,
                    flow: self.tcp.len(),
                });
                Ok((None, None))
            }
            other => Err(LabError::OnlySim {
                flow: flow.to_owned(),
                what: format!("receive_window = {:?}", other.name()),
            }),
        }
    }

    /// What holds for all sockets of a host.
    fn host_settings(
        &mut self,
        flow: &str,
        sender: &Sender,
        receiver: &Receiver,
        host: (usize, u32),
    ) -> Result<(), LabError> {
        let default = Sender::default();
        let ecn = match sender.ecn {
            EcnMode::Off => "2",
            EcnMode::Classic => "1",
            EcnMode::Accurate => {
                return Err(LabError::OnlySim {
                    flow: flow.to_owned(),
                    what: "ecn = \"accurate\"".to_owned(),
                });
            }
        };
        let flag = |on: bool| u8::from(on).to_string();
        let two = |on: bool| (u8::from(on) * 2).to_string();
        let three = |on: bool| (u8::from(on) * 3).to_string();
        let us = |span: Delta| span.as_us().to_string();
        let ms = |span: Delta| (span.as_us() / 1_000).to_string();
        let settings = [
            ("tcp_ecn", ecn.to_owned(), "2".to_owned()),
            (
                "tcp_timestamps",
                flag(sender.timestamps),
                flag(default.timestamps),
            ),
            (
                "tcp_slow_start_after_idle",
                flag(sender.slow_start_after_idle),
                flag(default.slow_start_after_idle),
            ),
            (
                "tcp_reordering",
                sender.reordering.to_string(),
                default.reordering.to_string(),
            ),
            (
                "tcp_max_reordering",
                sender.max_reordering.to_string(),
                default.max_reordering.to_string(),
            ),
            (
                "tcp_early_retrans",
                three(sender.loss_probe),
                three(default.loss_probe),
            ),
            ("tcp_frto", two(sender.frto), two(default.frto)),
            ("tcp_rto_min_us", us(sender.rto.min), us(default.rto.min)),
            ("tcp_rto_max_ms", ms(sender.rto.max), ms(default.rto.max)),
            (
                "tcp_comp_sack_nr",
                receiver.compressed_acks.to_string(),
                Receiver::default().compressed_acks.to_string(),
            ),
        ];
        for (key, value, kernels) in settings {
            self.set(flow, host, key, value, kernels);
        }
        Ok(())
    }

    /// What the kernel has no word for.
    fn cannot(&mut self, flow: &str, sender: &Sender, receiver: &Receiver) {
        let default = Sender::default();
        let read = Receiver::default();
        let kernels = [
            (
                "initial_window",
                sender.initial_window != default.initial_window,
            ),
            ("rto_initial", sender.rto.initial != default.rto.initial),
            (
                "rtt_from_sacks",
                sender.rtt_from_sacks != default.rtt_from_sacks,
            ),
            ("pacing", sender.pacing != default.pacing),
            ("kernel_hz", sender.hz != default.hz),
            ("window_scale", receiver.window_scale != read.window_scale),
            (
                "ack_every_segment",
                receiver.ack_every_segment != read.ack_every_segment,
            ),
        ];
        for (key, _) in kernels.into_iter().filter(|(_, differs)| *differs) {
            self.differ(flow, format!("{key} is the kernel's own"));
        }
    }

    /// Two flows of a host may want different things: the last one has its way, and that is told.
    fn set(
        &mut self,
        flow: &str,
        host: (usize, u32),
        key: &'static str,
        value: String,
        kernels: String,
    ) {
        let known = self.settings.entry(host).or_default();
        let setting = Setting {
            is_default: value == kernels,
            value,
        };
        let text = format!("{key} is {} for all flows of its host", setting.value);
        let before = known.insert(key, setting.clone());
        if before.is_some_and(|before| before.value != setting.value) {
            self.differ(flow, text);
        }
    }

    /// What is to be set at a host, as paths below /proc/sys.
    pub fn settings_of(&self, host: (usize, u32)) -> impl Iterator<Item = (String, &str)> {
        let settings = self.settings.get(&host).into_iter().flatten();
        let changed = settings.filter(|(_, setting)| !setting.is_default);
        changed.map(|(key, setting)| (format!("net/ipv4/{key}"), setting.value.as_str()))
    }

    /// Whether a send buffer holds back a sender at this host.
    pub fn is_bounded(&self, host: (usize, u32)) -> bool {
        self.bounded.contains(&host)
    }

    fn differ(&mut self, flow: &str, what: String) {
        self.differences.insert(format!("{flow}: {what}"));
    }
}
