//! What the user says of his line.

use clap::ValueEnum;
use std::path::PathBuf;
use unbloat_sqm::{Device, Framing, Qdisc};
use unbloat_units::Rate;

#[derive(clap::Args)]
pub struct Given {
    /// The device that faces the line [default: that of the default route]
    #[arg(long, value_name = "NAME")]
    pub interface: Option<Device>,

    #[command(flatten)]
    pub line: Line,

    /// Shape to this share of the line [default: 95; with --test 90 down and 95 up, as the test advises]
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u64).range(50..=100))]
    pub percent: Option<u64>,

    /// The shaper [default: the best that the kernel has]
    #[arg(long, value_enum)]
    pub qdisc: Option<Choice>,

    /// The device forwards for others behind address translation
    #[arg(long)]
    pub nat: bool,
}

/// Rates and framing.
#[derive(clap::Args)]
pub struct Line {
    /// Rates from a run of `unbloat test`: what the line delivered in each direction
    #[arg(long, value_name = "RUN", conflicts_with_all = ["capture", "down_bps", "up_bps"])]
    pub test: Option<PathBuf>,

    /// Rates from a run of `unbloat analyze`: the bandwidth that its flows found
    #[arg(long, value_name = "RUN", conflicts_with_all = ["down_bps", "up_bps"])]
    pub capture: Option<PathBuf>,

    /// The line's rate down: 50M, 50Mbit/s
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub down_bps: Option<Rate>,

    /// The line's rate up
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub up_bps: Option<Rate>,

    /// Find the line's cells out of delays over packet sizes: echo requests to a host behind the line, for some 75 s in which the line must be idle
    #[arg(long, value_name = "HOST", conflicts_with_all = ["line", "overhead"])]
    pub sweep: Option<String>,

    /// The same out of a CSV file with ip_bytes and rtt_ms
    #[arg(long, value_name = "FILE", conflicts_with_all = ["line", "overhead", "sweep"])]
    pub sweep_file: Option<PathBuf>,

    /// What the line is: ATM (ADSL, overhead 44), PTM (VDSL, 30), DOCSIS (18), Ethernet (38)
    #[arg(long, value_enum)]
    pub line: Option<Medium>,

    /// Bytes that the line adds to an IP packet
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true, value_parser = clap::value_parser!(i16).range(-64..=256))]
    pub overhead: Option<i16>,

    /// Bytes that a packet takes at least
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
    /// The kernel's CAKE
    Cake,
    /// fq_codel under HTB
    FqCodel,
    /// `unbloat shape`
    OwnCake,
    /// A short FIFO under HTB
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
    /// None: nothing was said of it.
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
        format!("{text:?} is no rate; write it like 50M or 50Mbit/s (k, M, G are bits per second)")
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
