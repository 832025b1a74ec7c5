//! Options that describe the line.

use crate::run_name::run_parser;
use clap::ValueEnum;
use std::path::PathBuf;
use unbloat_sqm::{Device, Qdisc};
use unbloat_units::{Delta, Framing, Rate};

#[derive(clap::Args)]
pub struct Given {
    /// Network interface towards the line [default: that of the default route]
    #[arg(long, value_name = "INTERFACE")]
    pub interface: Option<Device>,

    #[command(flatten)]
    pub line: Line,

    /// Shape to this percentage of the line rate [default: 95; with --test: 90 down, 95 up]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u64).range(50..=100))]
    pub percent: Option<u64>,

    /// Queue discipline of the shaper [default: the best that the kernel supports]
    #[arg(long, value_name = "QDISC", value_enum)]
    pub qdisc: Option<Choice>,

    /// Usual round-trip time [default: that of the test, if there is one; at least 100 ms]
    #[arg(long, value_name = "SPAN")]
    pub rtt: Option<Delta>,

    /// The interface translates addresses (NAT): distinguish the hosts behind it (`nat` of CAKE)
    #[arg(long)]
    pub nat: bool,
}

/// Rates and framing.
#[derive(clap::Args)]
pub struct Line {
    /// Use this run of `unbloat test`, the rate of its line in each direction
    #[arg(long, value_name = "RUN", value_parser = run_parser(), conflicts_with_all = ["rate_down", "rate_up"])]
    pub test: Option<PathBuf>,

    /// Downlink rate
    #[arg(long, value_name = "RATE")]
    pub rate_down: Option<Rate>,

    /// Uplink rate
    #[arg(long, value_name = "RATE")]
    pub rate_up: Option<Rate>,

    /// Detect ATM cells by echo requests of many sizes to a host behind the line. It takes about 75 s, and the line must be idle
    #[arg(long, value_name = "HOST", conflicts_with_all = ["line", "overhead"])]
    pub sweep: Option<String>,

    /// Link layer, with overhead in bytes: ATM (ADSL, 44), PTM (VDSL, 30), DOCSIS (18), Ethernet (38)
    #[arg(long, value_name = "LINE", value_enum)]
    pub line: Option<Medium>,

    /// Overhead of the line per IP packet
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, value_parser = clap::value_parser!(i32).range(-64..=256))]
    pub overhead: Option<i32>,

    /// Minimum size of a packet on the line
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(0..=256))]
    pub mpu: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Medium {
    None,
    Ethernet,
    Docsis,
    Atm,
    Ptm,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Choice {
    /// CAKE of the kernel
    Cake,
    /// fq_codel with HTB
    FqCodel,
    /// CAKE of `unbloat shape`, in user space
    OwnCake,
    /// Short FIFO with HTB
    Fifo,
}

impl From<Choice> for Qdisc {
    fn from(choice: Choice) -> Qdisc {
        match choice {
            Choice::Cake => Qdisc::Cake,
            Choice::FqCodel => Qdisc::FqCodel,
            Choice::OwnCake => Qdisc::OwnCake,
            Choice::Fifo => Qdisc::Fifo,
        }
    }
}

impl Line {
    /// None if no option for it was given.
    pub fn framing(&self) -> Option<Framing> {
        if self.line.is_none() && self.overhead.is_none() && self.mpu.is_none() {
            return None;
        }
        let framing = match self.line.unwrap_or(Medium::None) {
            Medium::None => Framing::NONE,
            Medium::Ethernet => Framing::ETHERNET,
            Medium::Docsis => Framing::DOCSIS,
            Medium::Atm => Framing::ATM,
            Medium::Ptm => Framing::PTM,
        };
        Some(Framing {
            overhead_bytes: self.overhead.unwrap_or(framing.overhead_bytes),
            minimum_bytes: self.mpu.unwrap_or(framing.minimum_bytes),
            ..framing
        })
    }
}
