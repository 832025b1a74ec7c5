//! The stand-in of the tests as a server for `bench/live/accuracy`: `services ADDRESS:PORT [slow]`. Prints the fingerprint of its certificate, and runs until
//! it is killed.

#[path = "../tests/stand_in/mod.rs"]
#[expect(dead_code, reason = "the tests use all of it")]
mod stand_in;

use stand_in::{Quirk, StandIn};
use std::net::TcpListener;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().expect("an address and a port");
    let quirk = match arguments.next().as_deref() {
        Some("slow") => Quirk::Slow,
        _ => Quirk::None,
    };
    let listener = TcpListener::bind(address).unwrap();
    let server = StandIn::serve(listener, quirk, Some(&[b"h2", b"http/1.1"]));
    let pin = server.pin.expect("it has a certificate");
    println!("{}", pin.map(|byte| format!("{byte:02x}")).concat());
    loop {
        std::thread::park();
    }
}
