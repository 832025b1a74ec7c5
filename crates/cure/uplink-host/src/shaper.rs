//! An HTB class in front of a device, with queues of its own.

use crate::error::UplinkError;
use crate::rtnetlink::Rates;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use tracing::debug;
use unbloat_undo::{Claim, Purpose, Resource, Step, recover};
use unbloat_units::Rate;

/// With nothing known the class lets everything pass.
pub(crate) const OPEN: Rate = Rate::mbps(10_000);

const CLEAR: &str = "qdisc del dev DEVICE root";
/// What is in the class. CoDel's interval is to be longer than what the sender has no part in, and a radio fades for seconds
/// (docs/uplink.md).
const FAIR: &[&str] = &[
    "qdisc add dev DEVICE root handle 1: htb default 1",
    "class add dev DEVICE parent 1: classid 1:1 htb rate 10gbit ceil 10gbit",
    "qdisc add dev DEVICE parent 1:1 handle 2: fq_codel target 200ms interval 3s",
];
/// Where the kernel has no fq_codel: packets of less than 128 bytes (acknowledgements, look-ups, the first of connections) go first.
const SHORT_FIRST: &[&str] = &[
    "qdisc add dev DEVICE root handle 1: htb default 20",
    "class add dev DEVICE parent 1: classid 1:1 htb rate 10gbit ceil 10gbit",
    "class add dev DEVICE parent 1:1 classid 1:10 htb rate 64kbit ceil 10gbit prio 0 quantum 1514",
    "class add dev DEVICE parent 1:1 classid 1:20 htb rate 64kbit ceil 10gbit prio 1 quantum 1514",
    "qdisc add dev DEVICE parent 1:10 handle 10: pfifo limit 1000",
    "qdisc add dev DEVICE parent 1:20 handle 20: pfifo limit 1000",
    "filter add dev DEVICE parent 1: protocol ip prio 1 u32 match u16 0x0000 0xff80 at 2 flowid 1:10",
    "filter add dev DEVICE parent 1: protocol ipv6 prio 2 u32 match u16 0x0000 0xff80 at 4 flowid 1:10",
];

/// Owns the queues of a device; dropped, it puts back what was there.
#[derive(Debug)]
pub struct Shaper {
    device: String,
    queue: &'static str,
    rates: Rates,
    rate: Rate,
    claim: Claim,
}

impl Shaper {
    /// Undoes what a killed command left, claims the queues of the device, and sets up the class, open.
    pub fn open(device: &str) -> Result<Shaper, UplinkError> {
        recover()?;
        let queues = Resource::Queues {
            device: device.to_owned(),
        };
        let index = index(device)?;
        let mut claim = Claim::take(&queues, &Purpose::this_command())?;
        claim.before(Step::root(device)?)?;
        // What is there stands in the way.
        let _ = tc(CLEAR, device, &claim);
        let queue = match all(FAIR, device, &claim) {
            Ok(()) => "fq_codel",
            Err(UplinkError::NoTc(error)) => return Err(UplinkError::NoTc(error)),
            Err(_) => {
                let _ = tc(CLEAR, device, &claim);
                all(SHORT_FIRST, device, &claim)?;
                "short packets first"
            }
        };
        let rates = Rates::open(index).map_err(|source| rate_failed(device, source))?;
        Ok(Shaper {
            device: device.to_owned(),
            queue,
            rates,
            rate: OPEN,
            claim,
        })
    }

    /// What decides who waits: `fq_codel`, or `short packets first`.
    pub fn queue(&self) -> &'static str {
        self.queue
    }

    pub fn rate(&self) -> Rate {
        self.rate
    }

    pub fn set(&mut self, rate: Rate) -> Result<(), UplinkError> {
        let told = self.rates.set(rate);
        told.map_err(|source| rate_failed(&self.device, source))?;
        self.rate = rate;
        Ok(())
    }

    /// Puts back what was there.
    pub fn remove(self) -> Result<(), UplinkError> {
        Ok(self.claim.undo()?)
    }
}

fn rate_failed(device: &str, source: io::Error) -> UplinkError {
    let device = device.to_owned();
    UplinkError::Rate { device, source }
}

fn all(commands: &[&str], device: &str, claim: &Claim) -> Result<(), UplinkError> {
    commands
        .iter()
        .try_for_each(|words| tc(words, device, claim))
}

/// What [`crate::Control`] would do, a step each, where the kernel has fq_codel.
pub fn steps(device: &str) -> Result<Vec<String>, UplinkError> {
    index(device)?;
    let all = [CLEAR].into_iter().chain(FAIR.iter().copied());
    let commands = all.map(|words| format!("tc {}", words.replace("DEVICE", device)));
    let rate = "set the rate of class 1:1 to what the modem drains".to_owned();
    Ok(commands.chain([rate]).collect())
}

/// `DEVICE` stands for the device: its name is one argument, whatever is in it. It holds the claim: where this process is killed meanwhile,
/// what it does is not undone before it is done.
fn tc(words: &str, device: &str, claim: &Claim) -> Result<(), UplinkError> {
    let arguments = words
        .split(' ')
        .map(|word| if word == "DEVICE" { device } else { word });
    let mut command = Command::new("tc");
    // Ctrl-C is for this process, which lets the change be made and then undoes it.
    command.args(arguments).process_group(0);
    claim.lend(&mut command);
    let done = command.output().map_err(UplinkError::NoTc)?;
    debug!(?command, code = done.status.code(), "command");
    match done.status.success() {
        true => Ok(()),
        false => Err(UplinkError::Tc {
            words: words.replace("DEVICE", device),
            said: String::from_utf8_lossy(&done.stderr).trim().to_owned(),
        }),
    }
}

pub(crate) fn index(device: &str) -> Result<u32, UplinkError> {
    unbloat_os::device::index(device).map_err(|_| UplinkError::NoDevice {
        device: device.to_owned(),
    })
}
