//! A section of sqm-scripts, as values.

use crate::uci::Section;
use unbloat_units::{Both, Cells, Framing};

/// What sqm-scripts take where none is named (`defaults.sh`). There is no such script.
const DEFAULT_QDISC: &str = "fq_codel";

/// CAKE's word for PTM, in `iqdisc_opts` and `eqdisc_opts`.
pub(crate) const PTM: &str = "ptm";

/// A `config queue`. Numbers that are none are kept as text, for [`crate::check`] to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shaper {
    pub name: String,
    pub line: usize,
    pub enabled: bool,
    pub interface: Option<String>,
    pub download_kbps: Number,
    pub upload_kbps: Number,
    pub qdisc: String,
    pub script: String,
    pub linklayer: String,
    pub overhead: Number,
    pub mpu: Number,
    pub adaptation: String,
    pub ingress_ecn: Option<String>,
    pub egress_target: Option<String>,
    pub options: Both<Option<String>>,
}

/// A number in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Number {
    Missing,
    Given(i64),
    /// Not a number.
    Odd(String),
}

impl Number {
    fn read(text: Option<&str>) -> Number {
        match text.map(str::trim) {
            None => Number::Missing,
            Some(text) => text
                .parse()
                .map_or_else(|_| Number::Odd(text.to_owned()), Number::Given),
        }
    }

    pub fn value(&self) -> Option<i64> {
        match self {
            Number::Given(value) => Some(*value),
            _ => None,
        }
    }
}

impl Shaper {
    /// The last option of a key counts, as for uci.
    pub fn read(section: &Section) -> Shaper {
        let get = |key: &str| {
            let mut found = section.options.iter().rev().filter(|e| e.key == key);
            found.next().map(|entry| entry.value.as_str())
        };
        let text = |key: &str, default: &str| get(key).unwrap_or(default).to_owned();
        Shaper {
            name: section
                .name
                .clone()
                .unwrap_or_else(|| "(no name)".to_owned()),
            line: section.line,
            // sqm-scripts compare numbers: "on" is not on.
            enabled: get("enabled") == Some("1"),
            interface: get("interface").map(str::to_owned),
            download_kbps: Number::read(get("download")),
            upload_kbps: Number::read(get("upload")),
            qdisc: text("qdisc", DEFAULT_QDISC),
            script: text("script", ""),
            linklayer: text("linklayer", "none"),
            overhead: Number::read(get("overhead")),
            mpu: Number::read(get("tcMPU")),
            adaptation: text("linklayer_adaptation_mechanism", "default"),
            ingress_ecn: get("ingress_ecn").map(str::to_owned),
            egress_target: get("etarget").map(str::to_owned),
            options: Both::new("iqdisc_opts", "eqdisc_opts").map(|key| get(key).map(str::to_owned)),
        }
    }

    /// What it says that a packet takes on the line; none where that makes no sense.
    pub fn framing(&self) -> Option<Framing> {
        let mut words = self
            .options
            .iter()
            .flatten()
            .flat_map(|o| o.split_whitespace());
        let cells = match self.linklayer.as_str() {
            "none" => return Some(Framing::NONE),
            "ethernet" if words.any(|word| word == PTM) => Cells::Ptm,
            "ethernet" => Cells::None,
            "atm" | "adsl" => Cells::Atm,
            _ => return None,
        };
        Some(Framing {
            cells,
            overhead_bytes: self.overhead.value().unwrap_or(0).try_into().ok()?,
            minimum_bytes: self.mpu.value().unwrap_or(0).try_into().ok()?,
        })
    }

    /// The options that tell a framing. For PTM sqm-scripts have none: CAKE is told it by [`PTM`].
    pub(crate) fn framing_options(framing: Framing) -> Vec<(&'static str, String)> {
        let layer = match framing.cells {
            _ if framing == Framing::NONE => "none",
            Cells::Atm => "atm",
            Cells::None | Cells::Ptm => "ethernet",
        };
        let mut options = vec![("linklayer", layer.to_owned())];
        if framing != Framing::NONE {
            options.push(("overhead", framing.overhead_bytes.to_string()));
        }
        if framing.minimum_bytes > 0 {
            options.push(("linklayer_advanced", "1".to_owned()));
            options.push(("tcMPU", framing.minimum_bytes.to_string()));
        }
        options
    }
}
