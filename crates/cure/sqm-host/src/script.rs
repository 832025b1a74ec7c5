//! What a router's shell is given to read: one script for each task, for busybox and any other sh.
//!
//! Each ends by saying [`DONE`]; a connection that is cut, or a router that is none, does not. Each keeps its state in a folder of its own,
//! `STATE/unbloat-sqm-DEVICE`, which is there as long as the shaper is: `revert` takes the shaper back, `confirmed` stops the timer.

use crate::kind::Kind;
use crate::quote::{command, quote};
use std::time::Duration;
use unbloat_sqm::uci::{self, UciError};
use unbloat_sqm::{Device, Plan, tc};

/// The last line of each answer.
pub(crate) const DONE: &str = "unbloat-done";
/// The line of what a script gives up for.
pub(crate) const FAULT: &str = "unbloat-fault";

/// For sed: what makes several packets one, as far as it is on, each feature by its own name: `tso` is several, of which some may be off.
const MERGING: &str = r"-e 's/^[[:space:]]*\(tx-tcp[a-z0-9-]*segmentation\): on$/\1/p' -e 's/^\(generic-segmentation-offload\): on$/\1/p' -e 's/^\(generic-receive-offload\): on$/\1/p'";

/// Where state is kept: what uci holds lasts over a boot, what tc does is gone.
pub(crate) fn folder(kind: Kind, state: Option<&str>, device: &Device) -> String {
    let base = state.unwrap_or(match kind {
        Kind::OpenWrt => "/etc",
        Kind::Linux => "/run",
    });
    format!("{base}/unbloat-sqm-{device}")
}

/// Tells what the router is and has. Disciplines are tried on a device that is made for it.
pub(crate) fn look() -> String {
    format!(
        "\
if [ -x /etc/init.d/sqm ] && command -v uci >/dev/null; then echo kind openwrt; else echo kind linux; fi
command -v tc >/dev/null || {{ echo '{FAULT} there is no tc; install it'; exit 0; }}
for d in /sys/class/net/*; do echo \"device ${{d##*/}}\"; done
ip route show default 2>/dev/null | sed -n 's/.* dev \\([^ ]*\\).*/outward \\1/p' | head -n 1
if ip link add name ubtry0 type ifb 2>/dev/null; then
 echo offers ifb
 for q in cake fq_codel codel htb; do tc qdisc replace dev ubtry0 root $q 2>/dev/null && echo \"offers $q\"; done
 tc qdisc replace dev ubtry0 root bfifo limit 10000 2>/dev/null && echo offers bfifo
 ip link del dev ubtry0
fi
echo {DONE}
"
    )
}

/// The router's configuration of sqm.
pub(crate) fn export() -> String {
    format!(
        "uci export sqm || {{ echo; echo '{FAULT} there is no /etc/config/sqm'; exit 0; }}\necho {DONE}\n"
    )
}

/// Puts the shaper in place, after a timer that takes it back.
pub(crate) fn apply(
    kind: Kind,
    plan: &Plan,
    folder: &str,
    within: Duration,
) -> Result<String, UciError> {
    let (check, save, change) = match kind {
        Kind::OpenWrt => openwrt(plan, folder)?,
        Kind::Linux => linux(plan, folder),
    };
    let (state, revert) = (quote(folder), revert(kind, plan, folder));
    let seconds = within.as_secs();
    Ok(format!(
        "\
{check}
mkdir -m 700 {state} 2>/dev/null || {{ echo '{FAULT} it is shaped by unbloat already; remove that first'; exit 0; }}
{save}
cat >{state}/revert <<'UNBLOAT_END'
{revert}UNBLOAT_END
echo $$ >{state}/owner
( trap '' HUP INT TERM; sleep {seconds}; [ \"$(cat {state}/owner)\" = $$ ] && [ ! -e {state}/confirmed ] && sh {state}/revert ) </dev/null >/dev/null 2>&1 &
if ! {{
{change}}} </dev/null >{state}/said 2>&1; then
 said=$(head -c 300 {state}/said | tr '\\n' ' ')
 sh {state}/revert </dev/null >/dev/null 2>&1
 echo \"{FAULT} $said\"; exit 0
fi
echo {DONE}
"
    ))
}

/// Stops the timer, if the shaper is there still; from now on it outlasts a boot where it is of the configuration.
pub(crate) fn confirm(kind: Kind, folder: &str) -> String {
    let state = quote(folder);
    let commit = match kind {
        Kind::OpenWrt => {
            format!("uci commit sqm || {{ echo '{FAULT} uci could not commit it'; exit 0; }}\n")
        }
        Kind::Linux => String::new(),
    };
    format!(
        "[ -e {state}/revert ] || {{ echo '{FAULT} it has taken the change back already'; exit 0; }}\n{commit}: >{state}/confirmed && echo {DONE}\n"
    )
}

/// Takes the shaper back.
pub(crate) fn remove(folder: &str) -> String {
    let state = quote(folder);
    format!(
        "[ -e {state}/revert ] || {{ echo nothing; echo {DONE}; exit 0; }}\nsh {state}/revert </dev/null >/dev/null 2>&1\n[ -e {state} ] && {{ echo '{FAULT} the configuration could not be put back; it is in {folder}/before'; exit 0; }}\necho {DONE}\n"
    )
}

/// What stands on a device and its ifb.
pub(crate) fn status(device: &Device, folder: &str) -> String {
    let (ifb, state) = (device.ifb(), quote(folder));
    format!(
        "[ -e {state}/revert ] && echo shaped\necho \"queues $(tc -s -j qdisc show dev {} | tr -d '\\n')\"\nip link show dev {1} >/dev/null 2>&1 && echo \"queues $(tc -s -j qdisc show dev {1} | tr -d '\\n')\"\necho {DONE}\n",
        quote(device.as_str()),
        quote(ifb.as_str())
    )
}

fn openwrt(plan: &Plan, folder: &str) -> Result<(String, String, String), UciError> {
    let state = quote(folder);
    let check = format!(
        "[ -e /etc/config/sqm ] || {{ echo '{FAULT} there is no /etc/config/sqm; install sqm-scripts'; exit 0; }}"
    );
    let save = format!(
        "cp -p /etc/config/sqm {state}/before || {{ echo '{FAULT} the configuration cannot be saved'; rm -rf {state}; exit 0; }}"
    );
    let batch = uci::batch(plan)?;
    // That there was no section of the name is no fault.
    let delete = format!("uci -q delete sqm.{} ; ", uci::section_name(plan));
    let sets: String = batch
        .lines()
        .skip(1)
        .flat_map(|line| [line, "\n"])
        .collect();
    let change = format!(
        "{delete}uci batch <<'UNBLOAT_UCI'\n{sets}UNBLOAT_UCI\n[ $? = 0 ] && /etc/init.d/sqm enable && /etc/init.d/sqm restart\n"
    );
    Ok((check, save, change))
}

fn linux(plan: &Plan, folder: &str) -> (String, String, String) {
    let (device, state) = (quote(plan.device.as_str()), quote(folder));
    let (needs, save) = match plan.qdisc.takes_packets_apart() {
        true => (String::new(), String::new()),
        false => (
            format!(
                "command -v ethtool >/dev/null || {{ echo '{FAULT} there is no ethtool, which a shaper without cake needs; install it'; exit 0; }}\n"
            ),
            format!("ethtool -k {device} 2>/dev/null | sed -n {MERGING} >{state}/offloads"),
        ),
    };
    // Only what the kernel puts back by itself can be taken back by a script.
    let check = format!(
        "\
{needs}[ -e /sys/class/net/{device} ] || ip link show dev {device} >/dev/null 2>&1 || {{ echo '{FAULT} there is no such device'; exit 0; }}
tc qdisc show dev {device} | grep -q -v -e ' 0: ' -e '^$' && {{ echo '{FAULT} the device has queue disciplines already; remove them first (tc qdisc del dev DEVICE root)'; exit 0; }}"
    );
    let commands = tc::commands(plan);
    let lines: Vec<String> = commands.iter().map(|words| command(words)).collect();
    (check, save, lines.join(" &&\n") + "\n")
}

fn revert(kind: Kind, plan: &Plan, folder: &str) -> String {
    let state = quote(folder);
    match kind {
        Kind::OpenWrt => format!(
            "uci -q revert sqm; cp -p {state}/before /etc/config/sqm.unbloat && mv /etc/config/sqm.unbloat /etc/config/sqm && {{ /etc/init.d/sqm restart; rm -rf {state}; }}\n"
        ),
        Kind::Linux => {
            let device = quote(plan.device.as_str());
            let removal = tc::queues_removal(plan);
            let lines: String = removal
                .iter()
                .flat_map(|words| [command(words), "\n".to_owned()])
                .collect();
            let offloads = match plan.qdisc.takes_packets_apart() {
                true => String::new(),
                false => format!(
                    "while read -r it; do ethtool -K {device} \"$it\" on; done <{state}/offloads\n"
                ),
            };
            format!("{lines}{offloads}rm -rf {state}\n")
        }
    }
}
