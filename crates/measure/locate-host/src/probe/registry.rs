//! The list of kinds of probes: one line each.

use super::Asker;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::str::FromStr;

macro_rules! kinds {
    ($($(#[$meaning:meta])* $name:literal => $kind:ident($module:ident),)*) => {
        /// What probes are.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind { $($(#[$meaning])* $kind,)* }

        impl Kind {
            pub const ALL: &[Kind] = &[$(Kind::$kind,)*];

            pub const fn name(self) -> &'static str {
                match self { $(Kind::$kind => $name,)* }
            }

            /// The privilege without which its socket cannot be opened.
            pub(crate) const fn need(self) -> &'static str {
                match self { $(Kind::$kind => super::$module::NEED,)* }
            }

            pub(crate) fn open(self, target: IpAddr, port: u16) -> io::Result<Asker> {
                match self { $(Kind::$kind => super::$module::open(target, port),)* }
            }
        }
    };
}

kinds! {
    /// To a port at which nobody listens.
    "udp" => Udp(udp),
    /// Echo requests.
    "icmp" => Icmp(icmp),
    /// SYNs, which are taken back when they are answered.
    "tcp" => Tcp(tcp),
}

impl Kind {
    /// What to try when it does not do.
    pub(crate) fn other(self) -> Kind {
        match self {
            Kind::Udp => Kind::Icmp,
            _ => Kind::Udp,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Kind, String> {
        let found = Kind::ALL.iter().find(|kind| kind.name() == text);
        found.copied().ok_or_else(|| {
            let known: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
            format!(
                "unknown probe kind {text:?}; use one of {}",
                known.join(", ")
            )
        })
    }
}
