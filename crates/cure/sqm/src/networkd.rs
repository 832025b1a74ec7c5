//! A plan for systemd-networkd (systemd.network(5), systemd.netdev(5)).
//!
//! networkd shapes what leaves a device: `[CAKE]`, or `[HierarchyTokenBucket]` with a class and a queue below. It makes the IFB device
//! and shapes what leaves that. It has no setting for the filter that sends arriving packets there, none for CAKE's `ingress`, and none for the
//! offloads of one device: commands of `tc` and `ethtool` are left, which are told with it as a unit.

use crate::plan::{Device, Plan, Qdisc};
use crate::systemd::{Service, Unit, Work};
use crate::tc::{self, Change, Words};
use schemars::JsonSchema;
use serde::Serialize;
use unbloat_units::{Cells, Direction, Framing, Rate};

/// Of the root discipline, its class and the queue below: those of [`tc`].
const ROOT: &str = "756e";
const CLASS: &str = "756e:1";
const LEAF: &str = "756f";

/// A file, and where it belongs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct File {
    pub path: String,
    pub text: String,
}

/// What networkd cannot do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkdError {
    #[error("networkd cannot start a user-space shaper; run unbloat shape as a service")]
    OwnCake,
    #[error("networkd has no size tables for HTB; on ATM use cake or unbloat sqm apply")]
    SizeTable,
}

/// The files of a plan, and the unit for what networkd cannot do of it.
///
/// networkd takes the first .network file that matches a device and no other, so one of ours would take the device's addresses away, or
/// never be read. What shapes the device is a drop-in of the file that it has: `of_device` is that file's path, as `networkctl status`
/// tells it; without, the drop-in's folder is called `FILE.network.d`, to be named after it.
pub fn files(plan: &Plan, of_device: Option<&str>) -> Result<Vec<File>, NetworkdError> {
    match plan.qdisc {
        Qdisc::OwnCake => return Err(NetworkdError::OwnCake),
        Qdisc::Cake => {}
        _ if plan.framing != Framing::NONE => return Err(NetworkdError::SizeTable),
        _ => {}
    }
    let mut files = Vec::new();
    if let Some(rate) = plan.up {
        files.push(drop_in(plan, of_device, rate));
    }
    if let Some(rate) = plan.down {
        let ifb = plan.device.ifb();
        files.push(File {
            path: format!("/etc/systemd/network/50-unbloat-{ifb}.netdev"),
            text: format!("[NetDev]\nName={ifb}\nKind=ifb\n"),
        });
        files.push(network(plan, &ifb, rate));
    }
    files.extend(unit(plan).map(|unit| unit.file));
    Ok(files)
}

fn drop_in(plan: &Plan, of_device: Option<&str>, rate: Rate) -> File {
    let name = of_device.and_then(|path| path.rsplit('/').next());
    File {
        path: format!(
            "/etc/systemd/network/{}.d/50-unbloat.conf",
            name.unwrap_or("FILE.network")
        ),
        text: body(plan, Direction::Up, rate),
    }
}

/// Of the IFB device, which nobody else configures.
fn network(plan: &Plan, ifb: &Device, rate: Rate) -> File {
    let body = body(plan, Direction::Down, rate);
    File {
        path: format!("/etc/systemd/network/50-unbloat-{ifb}.network"),
        text: format!("[Match]\nName={ifb}\n\n{body}"),
    }
}

fn body(plan: &Plan, direction: Direction, rate: Rate) -> String {
    match plan.qdisc {
        Qdisc::Cake => cake(plan, direction, rate),
        _ => htb(plan, rate),
    }
}

/// networkd writes rates in decimal units.
fn cake(plan: &Plan, direction: Direction, rate: Rate) -> String {
    let wash = match direction {
        Direction::Down => "Wash=yes\n",
        Direction::Up => "Wash=no\n",
    };
    let nat = if plan.nat { "yes" } else { "no" };
    let rtt = plan
        .rtt
        .map_or_else(String::new, |rtt| format!("RTTSec={}\n", tc::cake_rtt(rtt)));
    let framing = match plan.framing {
        Framing::NONE => "UseRawPacketSize=yes\n".to_owned(),
        framing => {
            let cells = match framing.cells {
                Cells::None => "none",
                Cells::Atm => "atm",
                Cells::Ptm => "ptm",
            };
            let mpu = match framing.minimum_bytes {
                0 => String::new(),
                mpu => format!("MPUBytes={mpu}\n"),
            };
            let overhead = framing.overhead_bytes;
            format!("CompensationMode={cells}\nOverheadBytes={overhead}\n{mpu}")
        }
    };
    format!(
        "[CAKE]\nParent=root\nHandle={ROOT}\nBandwidth={}\nPriorityQueueingPreset=besteffort\nNAT={nat}\n{wash}{rtt}{framing}",
        rate.as_bps()
    )
}

/// As [`tc`] has it.
fn htb(plan: &Plan, rate: Rate) -> String {
    let speed = rate.as_bps();
    let burst = tc::burst_bytes(rate);
    let leaf = match plan.qdisc {
        Qdisc::FqCodel => format!(
            "[FairQueueingControlledDelay]\nParent={CLASS}\nHandle={LEAF}\nPacketLimit={}\nFlows={}\nTargetSec={}us\nIntervalSec={}us\n\
             MemoryLimitBytes={}\nECN=yes\n",
            tc::FQ_CODEL_PACKETS,
            tc::FQ_CODEL_FLOWS,
            tc::target(rate).as_us(),
            tc::interval(rate, plan.rtt).as_us(),
            tc::FQ_CODEL_BYTES
        ),
        _ => format!(
            "[BFIFO]\nParent={CLASS}\nHandle={LEAF}\nLimitBytes={}\n",
            tc::fifo_bytes(rate)
        ),
    };
    format!(
        "[HierarchyTokenBucket]\nParent=root\nHandle={ROOT}\nDefaultClass=1\n\n\
         [HierarchyTokenBucketClass]\nParent=root\nClassId={CLASS}\nRate={speed}\nCeilRate={speed}\nBufferBytes={burst}\n\
         CeilBufferBytes={burst}\nQuantumBytes=1514\n\n{leaf}"
    )
}

/// What networkd cannot do of a plan; none where it can do all.
fn unit(plan: &Plan) -> Option<Unit> {
    let (device, ifb) = (&plan.device, plan.device.ifb());
    let changes = tc::changes(plan);
    let left = changes
        .iter()
        .filter(|change| matches!(change, Change::Split(_) | Change::Redirect(_)));
    let mut start: Vec<Words> = left.flat_map(|change| change.words().to_vec()).collect();
    let mut needs = vec![device.clone()];
    let mut stop = Vec::new();
    if plan.down.is_some() {
        needs.push(ifb.clone());
        stop.push(tc::unredirect(device));
        if plan.qdisc == Qdisc::Cake {
            start.insert(0, tc::cake_ingress(&ifb));
        }
    }
    if !plan.qdisc.takes_packets_apart() {
        stop.extend(tc::merge(device));
    }
    if start.is_empty() {
        return None;
    }
    let lines = |all: Vec<Words>| {
        let line = |words: Words| format!("/usr/bin/env {}", words.join(" "));
        all.into_iter().map(line).collect()
    };
    let service = Service {
        kind: "shaper",
        description: &format!("Shaper of {device}: what systemd-networkd cannot do of it"),
        device,
        needs,
        work: Work::Once {
            start: lines(start),
            stop: lines(stop),
        },
    };
    Some(service.unit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use unbloat_units::Both;

    fn plan(qdisc: Qdisc, framing: Framing) -> Plan {
        let rates = Both::new(Some(Rate::mbps(19)), Some(Rate::mbps(1)));
        Plan::new("pppoe-wan".parse().unwrap(), rates, framing, qdisc).unwrap()
    }

    #[test]
    fn cake_is_networkds_own_and_the_redirection_is_a_unit() {
        let of_device = Some("/run/systemd/network/10-netplan-wan.network");
        let files = files(&plan(Qdisc::Cake, Framing::ATM), of_device).unwrap();
        let paths: Vec<&str> = files.iter().map(|f| f.path.as_str()).collect();
        assert_eq!(
            paths,
            [
                "/etc/systemd/network/10-netplan-wan.network.d/50-unbloat.conf",
                "/etc/systemd/network/50-unbloat-ifb4pppoe-wan.netdev",
                "/etc/systemd/network/50-unbloat-ifb4pppoe-wan.network",
                "/etc/systemd/system/unbloat-shaper-pppoe\\x2dwan.service",
            ]
        );
        assert!(files[0].text.contains("Bandwidth=1000000\n"));
        assert!(
            files[0]
                .text
                .contains("CompensationMode=atm\nOverheadBytes=44\n")
        );
        assert!(files[3].text.contains("redirect dev ifb4pppoe-wan\n"));
    }

    #[test]
    fn what_networkd_cannot_do_is_said() {
        let own = files(&plan(Qdisc::OwnCake, Framing::NONE), None);
        assert_eq!(own, Err(NetworkdError::OwnCake));
        let atm = files(&plan(Qdisc::FqCodel, Framing::ATM), None);
        assert_eq!(atm, Err(NetworkdError::SizeTable));
        assert!(files(&plan(Qdisc::FqCodel, Framing::NONE), None).is_ok());
    }

    #[test]
    fn no_file_of_ours_is_the_device_s_whole_configuration() {
        for of_device in [None, Some("/etc/systemd/network/wan.network")] {
            for qdisc in [Qdisc::Cake, Qdisc::FqCodel] {
                let files = files(&plan(qdisc, Framing::NONE), of_device).unwrap();
                let matching = files.iter().filter(|file| file.text.contains("[Match]"));
                let mut texts = matching.map(|file| file.text.as_str());
                assert!(texts.all(|text| text.contains("Name=ifb4pppoe-wan\n")));
                assert!(files[0].path.ends_with(".network.d/50-unbloat.conf"));
            }
        }
    }
}
