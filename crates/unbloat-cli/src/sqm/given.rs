//! Options that describe the line.

use clap::ValueEnum;
use std::path::PathBuf;
use unbloat_sqm::{Device, Framing, Qdisc};
use unbloat_units::Rate;

#[derive(clap::Args)]
pub struct Given {
    /// Network device that faces the line [default: that of the default route]
    #[arg(long, value_name = "NAME")]
    pub interface: Option<Device>,

    #[command(flatten)]
    pub line: Line,

    /// Shape to this percentage of the line rate [default: 95; with --test: 90 down, 95 up]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u64).range(50..=100))]
    pub percent: Option<u64>,

    /// Shaper [default: the best that the kernel supports]
    #[arg(long, value_enum)]
    pub qdisc: Option<Choice>,

    /// The device translates addresses (NAT): distinguish the hosts behind it (`nat` of CAKE)
    #[arg(long)]
    pub nat: bool,
}

/// Rates and framing.
#[derive(clap::Args)]
pub struct Line {
    /// Take the rates from a run of `unbloat test`: delivered rate in each direction
    #[arg(long, value_name = "RUN", conflicts_with_all = ["capture", "down_bps", "up_bps"])]
    pub test: Option<PathBuf>,

    /// Take the rates from a run of `unbloat analyze`: bandwidth estimated by its flows
    #[arg(long, value_name = "RUN", conflicts_with_all = ["down_bps", "up_bps"])]
    pub capture: Option<PathBuf>,

    /// Downlink rate of the line, for example 50M or 50Mbit/s
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub down_bps: Option<Rate>,

    /// Uplink rate of the line
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub up_bps: Option<Rate>,

    /// Detect ATM cells by echo requests of many sizes to a host behind the line; takes about 75 s, the line must be idle
    #[arg(long, value_name = "HOST", conflicts_with_all = ["line", "overhead"])]
    pub sweep: Option<String>,

    /// Detect ATM cells from a CSV file with columns ip_bytes and rtt_ms
    #[arg(long, value_name = "FILE", conflicts_with_all = ["line", "overhead", "sweep"])]
    pub sweep_file: Option<PathBuf>,

    /// Link layer, with overhead in bytes: ATM (ADSL, 44), PTM (VDSL, 30), DOCSIS (18), Ethernet (38)
    #[arg(long, value_enum)]
    pub line: Option<Medium>,

    /// Overhead of the line per IP packet, in bytes
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, value_parser = clap::value_parser!(i16).range(-64..=256))]
    pub overhead: Option<i16>,

    /// Minimum size of a packet on the line, in bytes
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u16).range(0..=256))]
    pub mpu: Option<u16>,
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

/// `50M` as in names with _bps, or with its unit.
fn rate(text: &str) -> Result<Rate, String> {
    let with_unit = match text.chars().last() {
        Some('k' | 'K') => format!("{}kbit/s", &text[..text.len() - 1]),
        Some('M') => format!("{}Mbit/s", &text[..text.len() - 1]),
        Some('G') => format!("{}Gbit/s", &text[..text.len() - 1]),
        _ => text.to_owned(),
    };
    with_unit.parse().map_err(|_| {
        format!("invalid rate {text:?}; use for example 50M or 50Mbit/s (k, M, G: kbit/s, Mbit/s, Gbit/s)")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_with_letters_and_with_units() {
        assert_eq!(rate("50M"), Ok(Rate::mbps(50)));
        assert_eq!(rate("1.5M"), Ok(Rate::kbps(1500)));
        assert_eq!(rate("800 kbit/s"), Ok(Rate::kbps(800)));
        for odd in ["50", "M", "", "é", "50MB", "-1M"] {
            assert!(rate(odd).is_err(), "{odd}");
        }
    }
}
