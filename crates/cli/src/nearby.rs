//! The server of a test without a server: one of the local network.

use crate::confine::{CapabilitySet, speak};
use crate::exit::Failure;
use crate::print::note;
use std::fmt::Write as _;
use std::io::{BufRead, IsTerminal, Write, stderr, stdin};
use std::net::SocketAddrV4;
use unbloat_discovery::{Server, find};

/// The only server of the local network, or the one that the user chooses in a terminal.
pub fn server() -> Result<SocketAddrV4, Failure> {
    note!("unbloat: looking for a server on the local network");
    let servers = speak(CapabilitySet::empty(), find)?;
    match &servers[..] {
        [] => Err("no server found on the local network; run `unbloat serve --announce` on another machine, or name a server: unbloat test HOST".into()),
        [one] => {
            note!("unbloat: found {} at {}", one.name, one.address);
            Ok(one.address)
        }
        several if stdin().is_terminal() && stderr().is_terminal() => chosen(several),
        several => Err(format!("several servers found on the local network; name one of them:{}", list(several, |_| {
            "unbloat test".to_owned()
        })).into()),
    }
}

fn chosen(servers: &[Server]) -> Result<SocketAddrV4, Failure> {
    let count = servers.len();
    note!(
        "Servers on the local network:{}",
        list(servers, |at| format!("{}", at + 1))
    );
    let _ = write!(stderr(), "Which one? [1-{count}] ");
    let mut line = String::new();
    let _ = stdin().lock().read_line(&mut line);
    let number: Option<usize> = line.trim().parse().ok();
    let server = number.and_then(|number| servers.get(number.checked_sub(1)?));
    Ok(server.ok_or("no server was chosen")?.address)
}

/// A line for each, with what is typed for it.
fn list(servers: &[Server], typed: impl Fn(usize) -> String) -> String {
    let mut lines = String::new();
    for (at, server) in servers.iter().enumerate() {
        let _ = write!(
            lines,
            "\n  {}  {}  ({}",
            typed(at),
            server.address,
            server.name
        );
        if let Some(print) = &server.fingerprint {
            let _ = write!(lines, ", certificate {}...", &print[..16]);
        }
        lines.push(')');
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_server_has_a_line_with_what_to_type() {
        let server = |name: &str, address: &str, fingerprint| Server {
            name: name.to_owned(),
            address: address.parse().unwrap(),
            fingerprint,
        };
        let servers = [
            server("box", "10.0.0.2:4043", Some("ab".repeat(32))),
            server("other", "10.0.0.3:4044", None),
        ];
        assert_eq!(
            list(&servers, |at| (at + 1).to_string()),
            "\n  1  10.0.0.2:4043  (box, certificate abababababababab...)\n  2  10.0.0.3:4044  (other)"
        );
    }
}
