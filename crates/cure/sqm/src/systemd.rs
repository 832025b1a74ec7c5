//! Units of systemd that put a cure in place at each boot (systemd.unit(5), systemd.service(5)).

use crate::networkd::File;
use crate::plan::Device;
use std::fmt::Write;

const FOLDER: &str = "/etc/systemd/system";
const TARGET: &str = "multi-user.target";

/// A unit, and how it is started at boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    pub name: String,
    pub file: File,
    pub links: Vec<Link>,
}

/// A symbolic link that has a unit started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub path: String,
    pub target: String,
}

/// What a unit does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// Commands that end and leave their change, and those that take it back.
    Once {
        start: Vec<String>,
        stop: Vec<String>,
    },
    /// A program that runs on, and takes its change back when it ends.
    Running(String),
}

/// Commands are lines of a unit: their words are quoted already.
#[derive(Clone, Debug)]
pub struct Service<'a> {
    /// Distinguishes the units of one device.
    pub kind: &'a str,
    pub description: &'a str,
    pub device: &'a Device,
    /// Those without which it cannot work. Empty where systemd has no units for devices, as in a container: the device is there at boot.
    pub needs: Vec<Device>,
    pub work: Work,
}

impl Service<'_> {
    pub fn unit(&self) -> Unit {
        let name = format!("unbloat-{}-{}.service", self.kind, escaped(self.device));
        let devices: Vec<String> = self.needs.iter().map(device_unit).collect();
        let links = [TARGET.to_owned()].into_iter().chain(devices.clone());
        Unit {
            links: links
                .map(|by| Link {
                    path: format!("{FOLDER}/{by}.wants/{name}"),
                    target: format!("../{name}"),
                })
                .collect(),
            file: File {
                path: format!("{FOLDER}/{name}"),
                text: self.text(&devices),
            },
            name,
        }
    }

    fn text(&self, devices: &[String]) -> String {
        let mut text = format!(
            "[Unit]\nDescription={}\nDocumentation=man:unbloat-sqm(1)\n",
            self.description
        );
        if !devices.is_empty() {
            let all = devices.join(" ");
            let _ = write!(text, "BindsTo={all}\nAfter={all}\n");
        }
        text.push_str("StartLimitIntervalSec=60\nStartLimitBurst=5\n\n[Service]\n");
        match &self.work {
            Work::Once { start, stop } => {
                text.push_str("Type=oneshot\nRemainAfterExit=yes\n");
                for (key, lines) in [("ExecStart", start), ("ExecStop", stop)] {
                    for line in lines {
                        let _ = writeln!(text, "{key}={line}");
                    }
                }
            }
            Work::Running(start) => {
                let _ = write!(
                    text,
                    "Type=exec\nExecStart={start}\nRestart=on-failure\nRestartSec=5\nStandardOutput=null\n"
                );
            }
        }
        let _ = write!(
            text,
            "\n[Install]\nWantedBy={}\n",
            [&[TARGET.to_owned()], devices].concat().join(" ")
        );
        text
    }
}

fn device_unit(device: &Device) -> String {
    format!("sys-subsystem-net-devices-{}.device", escaped(device))
}

/// As systemd-escape(1) writes it.
fn escaped(device: &Device) -> String {
    let escaped = |c: char| match c {
        c if c.is_ascii_alphanumeric() || "_.:".contains(c) => c.to_string(),
        other => format!("\\x{:02x}", u32::from(other)),
    };
    device.as_str().chars().map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_follows_its_device_and_is_wanted_by_it_and_at_boot() {
        let device: Device = "pppoe-wan".parse().unwrap();
        let service = |needs| Service {
            kind: "shaper",
            description: "Shaper",
            device: &device,
            needs,
            work: Work::Running("\"/usr/bin/unbloat\" shape".to_owned()),
        };
        let unit = service(vec![device.clone()]).unit();
        assert_eq!(unit.name, "unbloat-shaper-pppoe\\x2dwan.service");
        assert_eq!(
            unit.links[1].path,
            "/etc/systemd/system/sys-subsystem-net-devices-pppoe\\x2dwan.device.wants/unbloat-shaper-pppoe\\x2dwan.service"
        );
        assert!(
            unit.file
                .text
                .contains("\nBindsTo=sys-subsystem-net-devices-pppoe\\x2dwan.device\n")
        );
        // In a container a unit that is bound to a device would never start.
        let contained = service(Vec::new()).unit();
        assert!(!contained.file.text.contains(".device"));
        assert_eq!(contained.links.len(), 1);
    }
}
