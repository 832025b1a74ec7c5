//! What a bed costs: how long hosts take to be made, to be given a device and an address, and to go.

use std::time::Instant;
use unbloat_netns::{Bed, BedError, Host, Tun};

const HOSTS: usize = 50;

fn main() -> Result<(), BedError> {
    let bed = timed("sweep and begin", 1, Bed::new)?;
    let hosts: Vec<Host> = timed("make a host", HOSTS, || {
        let numbers = 0..HOSTS;
        numbers
            .map(|n| bed.host(&format!("host-{n}")))
            .collect::<Result<_, _>>()
    })?;
    let devices = timed("make a TUN device", HOSTS, || {
        let devices = hosts.iter().map(|host| host.tun("tun0", &Tun::default()));
        devices.collect::<Result<Vec<_>, _>>()
    })?;
    timed("add an address", HOSTS, || {
        let address = "10.45.0.1/32".parse().expect("an address");
        hosts
            .iter()
            .try_for_each(|host| host.address("tun0", address))
    })?;
    timed("run something within", HOSTS, || {
        hosts.iter().try_for_each(|host| host.within(|| ()))
    })?;
    timed("remove a host", HOSTS, || drop((devices, hosts)));
    Ok(())
}

fn timed<T>(what: &str, times: usize, job: impl FnOnce() -> T) -> T {
    let begin = Instant::now();
    let done = job();
    let took = begin.elapsed().as_secs_f64() * 1e3 / times as f64;
    println!("{what:<22} {took:>8.3} ms");
    done
}
