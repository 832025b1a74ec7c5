//! Which controls there are.

use crate::error::{ControlError, system};
use crate::loaded::Loaded;
use socket2::{Domain, Socket, Type};
use std::io;

/// A congestion control that can be loaded into the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    name: &'static str,
    object: &'static [u8],
}

macro_rules! controls {
    ($($name:literal,)*) => {
        impl Control {
            /// Names, as Linux calls its own ones.
            pub const NAMES: &[&str] = &[$($name,)*];

            /// The control that Linux calls so.
            pub fn named(name: &str) -> Option<Control> {
                match name {
                    $($name => Some(Control {
                        name: $name,
                        object: include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".o")),
                    }),)*
                    _ => None,
                }
            }
        }
    };
}

controls! { "vegas", "bic", "htcp", "highspeed", "westwood", }

impl Control {
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Loads it, for all namespaces, whether or not the kernel has one of its own.
    ///
    /// The capabilities are wanted of the first user namespace; the network namespace of the caller
    /// does not matter.
    pub fn load(&self) -> Result<Loaded, ControlError> {
        Loaded::load(self.name, self.object)
    }
}

/// A congestion control that sockets can choose while this lives.
#[derive(Debug)]
pub enum Provided {
    /// The kernel's own.
    Own(String),
    Loaded(Loaded),
}

impl Provided {
    /// For TCP_CONGESTION.
    pub fn name(&self) -> &str {
        match self {
            Provided::Own(name) => name,
            Provided::Loaded(loaded) => loaded.name(),
        }
    }
}

/// The congestion control that Linux calls `name`: the kernel's own, for which it may load a module, or
/// else ours.
pub fn provide(name: &str) -> Result<Provided, ControlError> {
    if kernel_has(name)? {
        return Ok(Provided::Own(name.to_owned()));
    }
    let control = Control::named(name).ok_or_else(|| ControlError::Unknown {
        name: name.to_owned(),
    })?;
    control.load().map(Provided::Loaded)
}

/// What can be had by [`provide`]: the kernel's own controls that are there by now, and ours.
pub fn available() -> Result<Vec<String>, ControlError> {
    const LIST: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
    let list = std::fs::read_to_string(LIST)
        .map_err(system("reading net.ipv4.tcp_available_congestion_control"))?;
    let own = list
        .split_whitespace()
        .filter(|name| !name.starts_with("ub_"));
    let ours = Control::NAMES.iter().copied();
    let mut all: Vec<String> = own.chain(ours).map(str::to_owned).collect();
    all.sort();
    all.dedup();
    Ok(all)
}

/// A socket is asked, because the list does not say which modules lie ready.
fn kernel_has(name: &str) -> Result<bool, ControlError> {
    let ask = || {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
        socket.set_tcp_congestion(name.as_bytes())
    };
    match ask() {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        // It is there, and for others.
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => Ok(true),
        Err(e) => Err(system("choosing a congestion control")(e)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reno_is_the_kernels_own() {
        assert!(matches!(provide("reno"), Ok(Provided::Own(name)) if name == "reno"));
    }

    #[test]
    fn a_name_that_nobody_knows_is_said_so() {
        let error = provide("nonesuch").unwrap_err().to_string();
        assert!(error.contains("no congestion control nonesuch"), "{error}");
        assert!(error.contains("westwood"), "{error}");
        assert_eq!(Control::named("nonesuch"), None);
    }

    #[test]
    fn available_are_the_kernels_and_ours() {
        let all = available().unwrap();
        assert!(all.iter().any(|name| name == "reno"));
        assert!(
            Control::NAMES
                .iter()
                .all(|name| all.iter().any(|n| n == name))
        );
    }
}
