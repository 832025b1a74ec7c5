//! What the programs are told and what they keep: the structures of `bpf/law.h`, `bpf/drwa.h`, `bpf/rledbat.h` and
//! `bpf/window.bpf.c`, member by member.

use aya::Pod;
use unbloat_tcp::receive_window::Config;
use unbloat_units::Delta;

/// A law and its parameters.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Params {
    policy: u32,
    lambda_eighths: u32,
    lambda_unfilled_eighths: u16,
    alpha_eighths: u16,
    is_eager: u16,
    extra_segments: u16,
    dip_every_us: u64,
    initial: u32,
    max: u32,
    target_us: u32,
    slows_down: u32,
}

impl Params {
    /// None: the programs have no such law.
    pub(crate) fn of(law: &Config) -> Option<Params> {
        match law {
            Config::Drwa(params) => Some(Params {
                policy: 0,
                lambda_eighths: params.lambda_eighths,
                lambda_unfilled_eighths: small(params.lambda_unfilled_eighths),
                alpha_eighths: small(params.alpha_eighths),
                is_eager: params.eager.into(),
                extra_segments: params.extra_segments,
                dip_every_us: us(params.dip_every),
                initial: size(params.initial.as_u64()),
                max: size(params.max.as_u64()),
                ..Params::default()
            }),
            Config::RLedbat(params) => Some(Params {
                policy: 1,
                initial: size(params.initial.as_u64()),
                max: size(params.max.as_u64()),
                target_us: us(params.control.target).min(1 << 30) as u32,
                slows_down: params.control.slowdown.into(),
                ..Params::default()
            }),
            _ => None,
        }
    }
}

fn us(span: Delta) -> u64 {
    span.as_us().max(0) as u64
}

fn small(value: u32) -> u16 {
    value.try_into().unwrap_or(u16::MAX)
}

fn size(bytes: u64) -> u32 {
    bytes.min(1 << 30) as u32
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Drwa {
    pub(crate) cwnd_estimate: u64,
    pub(crate) rtt_us8: u64,
    since_us: u64,
    since_read: u64,
    edge: u64,
    allowed: u64,
    filled: u64,
    next_dip_us: u64,
    seen_from_us: u64,
    pub(crate) dip_end_us: u64,
    rtt_before_dip_us: u64,
    least_before_dip_us: u64,
    settled_us: u64,
    pub(crate) min_rtt_us: [u32; 2],
    seen_us: u32,
    is_early: u32,
    window: u32,
    pub(crate) dips: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rledbat {
    window: u64,
    threshold: u64,
    mss: u64,
    minute_end_us: u64,
    slow_us: u64,
    slow_until_us: u64,
    reduced_until_us: u64,
    round_us: u64,
    round_received: u64,
    pub(crate) base_us: [u32; 10],
    recent_us: [u32; 4],
    minute: u32,
    samples: u32,
    slowdown: u32,
    is_used: u32,
    pub(crate) rtt_us8: u32,
    zero: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept {
    pub(crate) local: [u8; 16],
    pub(crate) remote: [u8; 16],
    pub(crate) local_port: u16,
    pub(crate) remote_port: u16,
    pub(crate) version: u32,
    pub(crate) ifindex: u32,
    pub(crate) window: u32,
    pub(crate) started_us: u64,
    pub(crate) seen_us: u64,
    pub(crate) received: u64,
    pub(crate) rtt_us: u32,
    last_echo: u32,
    out_of_order: u32,
    pub(crate) has_timestamps: u32,
    round_end: u64,
    round_start_us: u64,
    pub(crate) drwa: Drwa,
    pub(crate) rledbat: Rledbat,
}

/// A connection by a router: `struct key` of `bpf/router.bpf.c`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct RouteKey {
    pub(crate) host: [u8; 16],
    pub(crate) sender: [u8; 16],
    pub(crate) host_port: u16,
    pub(crate) sender_port: u16,
    pub(crate) version: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Routed {
    pub(crate) is_known: u32,
    scale: u32,
    pub(crate) has_timestamps: u32,
    edge: u32,
    has_edge: u32,
    pub(crate) window: u32,
    acked: u32,
    has_acked: u32,
    mss: u32,
    sent_value: u32,
    sent_us: u64,
    is_timing: u32,
    pub(crate) rtt_us: u32,
    pub(crate) started_us: u64,
    seen_us: u64,
    pub(crate) received: u64,
    rewritten: u64,
    pub(crate) drwa: Drwa,
}

// SAFETY: they are integers in C's order without gaps, and any integers make one.
unsafe impl Pod for RouteKey {}
// SAFETY: as above.
unsafe impl Pod for Routed {}
// SAFETY: as above.
unsafe impl Pod for Params {}
// SAFETY: as above.
unsafe impl Pod for Kept {}
