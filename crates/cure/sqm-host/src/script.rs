//! What a router's shell is given to read: one script for each task, for busybox and any other sh.
//!
//! Each ends by saying [`DONE`]; a connection that is cut, or a router that is none, does not. Each keeps its state in a folder of its own,
//! `STATE/unbloat-sqm-DEVICE`, which is there as long as the shaper is: `revert` takes the shaper back, `confirmed` stops the timer.

use crate::kind::Kind;
use crate::quote::{command, quote};
use std::time::Duration;
use unbloat_sqm::tc::Change;
use unbloat_sqm::uci::{self, UciError};
use unbloat_sqm::{Device, Plan, tc};

/// The last line of each answer.
pub(crate) const DONE: &str = "unbloat-done";
/// The line of what a script gives up for.
pub(crate) const FAULT: &str = "unbloat-fault";

/// The lines of what is in the way of a shaper.
pub(crate) const ROOT: &str = "has-root";
pub(crate) const ENTRY: &str = "has-entry";
pub(crate) const IFB: &str = "has-ifb";
pub(crate) const OWNER: &str = "ifb-of";

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
for d in /sys/class/net/*; do echo \"device ${{d##*/}}\"; [ \"$(cat \"$d/type\" 2>/dev/null)\" = 1 ] && echo \"ethernet ${{d##*/}}\"; done
{{ ip route show default; ip -6 route show default; ip route show table all default; ip -6 route show table all default; }} 2>/dev/null |
 sed -n 's/^default .*dev \\([^ ]*\\).*/outward \\1/p' | head -n {MOST_ROUTES}
if said=$(ip link add name ubtry0 type ifb 2>&1); then
 echo offers ifb
 for q in 'cake bandwidth 1mbit' 'fq_codel target 5ms' 'codel target 5ms' 'htb default 1' 'bfifo limit 10000'; do tc qdisc replace dev ubtry0 root $q 2>/dev/null && echo \"offers ${{q%% *}}\"; done
 ip link del dev ubtry0
else
 echo \"refused ip link add type ifb: $(echo \"$said\" | head -c 200 | tr '\\n' ' ')\"
fi
[ \"$(uci -q get firewall.@defaults[0].flow_offloading)$(uci -q get firewall.@defaults[0].flow_offloading_hw)\" = 11 ] && echo bypass uci
nft list flowtables 2>/dev/null | grep -q 'flags offload' && echo bypass flowtable
echo {DONE}
"
    )
}

/// Of default routes, of whichever table.
const MOST_ROUTES: u32 = 64;

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
    let (save, change) = match kind {
        Kind::OpenWrt => openwrt(plan, folder)?,
        Kind::Linux => linux(plan, folder),
    };
    let check = free(kind, plan, folder);
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

/// Asks whether [`apply`] would find the device free of what cannot be restored.
pub(crate) fn check(kind: Kind, plan: &Plan, folder: &str) -> String {
    format!("{}\necho {DONE}\n", free(kind, plan, folder))
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

/// What stands on a device, and on that to which what arrives is sent, whoever named it.
pub(crate) fn status(device: &Device, folder: &str) -> String {
    let (device, state) = (quote(device.as_str()), quote(folder));
    format!(
        "\
[ -e {state}/revert ] && echo shaped
echo \"queues $(tc -s -j qdisc show dev {device} | tr -d '\\n')\"
ifb=$(tc filter show dev {device} ingress 2>/dev/null | sed -n 's/.*to device \\([^)]*\\)).*/\\1/p' | head -n 1)
[ -n \"$ifb\" ] && echo \"ifb $ifb\" && echo \"queues $(tc -s -j qdisc show dev \"$ifb\" | tr -d '\\n')\"
echo {DONE}
"
    )
}

fn openwrt(plan: &Plan, folder: &str) -> Result<(String, String), UciError> {
    let state = quote(folder);
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
    Ok((save, change))
}

/// Ends a script before it changes anything, with a line of what is in the way.
fn free(kind: Kind, plan: &Plan, folder: &str) -> String {
    let (device, state) = (quote(plan.device.as_str()), quote(folder));
    let mut text = format!(
        "[ ! -e {state} ] || {{ echo '{FAULT} it is shaped by unbloat already; remove that first'; exit 0; }}\n"
    );
    if kind == Kind::OpenWrt {
        text += &format!(
            "[ -e /etc/config/sqm ] || {{ echo '{FAULT} there is no /etc/config/sqm; install sqm-scripts'; exit 0; }}\n"
        );
        return text;
    }
    if !plan.qdisc.takes_packets_apart() {
        text += &format!(
            "command -v ethtool >/dev/null || {{ echo '{FAULT} there is no ethtool, which a shaper without cake needs; install it'; exit 0; }}\n"
        );
    }
    text += &format!(
        "[ -e /sys/class/net/{device} ] || ip link show dev {device} >/dev/null 2>&1 || {{ echo '{FAULT} there is no such device'; exit 0; }}\n"
    );
    // Only what the kernel puts back by itself can be taken back by a script.
    if plan.up.is_some() {
        text += &format!(
            "\
q=$(tc qdisc show dev {device} | sed -n -e '/ 0: /d' -e '/^qdisc ingress /d' -e '/^qdisc clsact /d' -e 's/^qdisc \\([^ ]*\\) .*/\\1/p' | head -n 1)
[ -z \"$q\" ] || {{ echo \"{ROOT} $q\"; echo {DONE}; exit 0; }}
"
        );
    }
    if plan.down.is_some() {
        let ifb = plan.device.ifb();
        let ifb_word = quote(ifb.as_str());
        text += &format!(
            "\
q=$(tc qdisc show dev {device} | sed -n -e 's/^qdisc \\(ingress\\) .*/\\1/p' -e 's/^qdisc \\(clsact\\) .*/\\1/p' | head -n 1)
[ -z \"$q\" ] || {{ echo \"{ENTRY} $q\"; echo {DONE}; exit 0; }}
if ip link show dev {ifb_word} >/dev/null 2>&1; then
 echo '{IFB} {ifb}'
 for d in $(tc qdisc show | sed -n -e 's/^qdisc ingress [^ ]* dev \\([^ ]*\\) .*/\\1/p' -e 's/^qdisc clsact [^ ]* dev \\([^ ]*\\) .*/\\1/p'); do
  tc filter show dev \"$d\" ingress 2>/dev/null | grep -q -F 'to device {ifb})' && echo \"{OWNER} $d\"
 done
 echo {DONE}; exit 0
fi
"
        );
    }
    text
}

fn linux(plan: &Plan, folder: &str) -> (String, String) {
    let (device, state) = (quote(plan.device.as_str()), quote(folder));
    let save = match plan.qdisc.takes_packets_apart() {
        true => String::new(),
        false => format!(
            "\
ethtool -k {device} 2>/dev/null | sed -n {MERGING} >{state}/offloads
ip -d link show dev {device} 2>/dev/null | sed -n 's/.* gso_max_segs \\([0-9]*\\).*/\\1/p' >{state}/segments"
        ),
    };
    let changes = tc::changes(plan);
    let lines: Vec<String> = changes
        .iter()
        .enumerate()
        .map(|(number, change)| {
            let words = change.words();
            match (change, words) {
                // An ip that does not tell it cannot set it.
                (Change::Split(_), [offloads, segments]) => format!(
                    "{} &&\n{{ [ ! -s {state}/segments ] || {}; }}",
                    command(offloads),
                    command(segments)
                ),
                (_, [first, rest @ ..]) => {
                    let rest = rest.iter().map(|line| format!(" &&\n{}", command(line)));
                    let mark = format!("{state}/did{number}");
                    let first = command(first);
                    format!(
                        ": >{mark} && {{ {first} || {{ rm {mark}; false; }}; }}{}",
                        rest.collect::<String>()
                    )
                }
                (_, []) => ":".to_owned(),
            }
        })
        .collect();
    (save, lines.join(" &&\n") + "\n")
}

/// What was not done is not taken back: it may be somebody else's.
fn revert(kind: Kind, plan: &Plan, folder: &str) -> String {
    let state = quote(folder);
    if kind == Kind::OpenWrt {
        return format!(
            "uci -q revert sqm; cp -p {state}/before /etc/config/sqm.unbloat && mv /etc/config/sqm.unbloat /etc/config/sqm && {{ /etc/init.d/sqm restart; rm -rf {state}; }}\n"
        );
    }
    let device = quote(plan.device.as_str());
    let mut lines = Vec::new();
    for (number, change) in tc::changes(plan).iter().enumerate() {
        if let Some(words) = tc::undo(change, plan) {
            lines.push(format!(
                "[ ! -e {state}/did{number} ] || {}\n",
                command(&words)
            ));
        }
        if let Change::Split(_) = change {
            lines.push(format!(
                "\
while read -r it; do ethtool -K {device} \"$it\" on; done <{state}/offloads
[ ! -s {state}/segments ] || ip link set dev {device} gso_max_segs \"$(cat {state}/segments)\"
"
            ));
        }
    }
    lines.reverse();
    format!("{}rm -rf {state}\n", lines.concat())
}
