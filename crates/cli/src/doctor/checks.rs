//! The checks of `unbloat doctor`, one function each.

use crate::keep;
use crate::kernel::of_kernel;
use crate::recovery;
use crate::route::outward;
use crate::shape::following;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;
use std::thread;
use unbloat_cake_nfqueue::Shaper;
use unbloat_os::icmp::Echo;
use unbloat_os::namespace::enter_new_network;
use unbloat_os::offload::MERGING;
use unbloat_os::privilege::{Capability, may};
use unbloat_sqm_host::offered;
use unbloat_undo::Journals;
use unbloat_watch::{Options, Watch};

/// What was found about one requirement.
#[derive(Serialize, JsonSchema)]
pub struct Check {
    pub name: &'static str,
    pub state: State,
    /// What was found, in a sentence
    pub found: String,
    /// What does not work, or works less well; null where all works
    pub affects: Option<String>,
    /// What to do about it; null where nothing is to be done
    pub mend: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Works,
    /// Something else takes its place, or a part works
    Limited,
    Missing,
    /// Only root can try it
    Unknown,
}

pub fn all() -> Vec<Check> {
    let is_openwrt = Path::new("/etc/openwrt_release").exists();
    let checks: &[fn(bool) -> Check] = &[
        privileges,
        programs,
        shapers,
        own_cake,
        bpf,
        namespaces,
        echo,
        controls,
        offloads,
        clock,
        leftovers,
        after_reboot,
        #[cfg(feature = "runs")]
        runs,
        #[cfg(feature = "full")]
        config,
    ];
    checks.iter().map(|check| check(is_openwrt)).collect()
}

impl Check {
    fn works(name: &'static str, found: impl Into<String>) -> Check {
        Check {
            name,
            state: State::Works,
            found: found.into(),
            affects: None,
            mend: None,
        }
    }

    fn limited(
        name: &'static str,
        found: impl Into<String>,
        affects: &str,
        mend: impl Into<String>,
    ) -> Check {
        Check {
            state: State::Limited,
            affects: Some(affects.to_owned()),
            mend: Some(mend.into()),
            ..Check::works(name, found)
        }
    }

    fn missing(
        name: &'static str,
        found: impl Into<String>,
        affects: &str,
        mend: impl Into<String>,
    ) -> Check {
        Check {
            state: State::Missing,
            ..Check::limited(name, found, affects, mend)
        }
    }
}

/// What only root can try.
fn unknown(name: &'static str, affects: &str) -> Check {
    Check {
        state: State::Unknown,
        ..Check::limited(
            name,
            "only root can try it",
            affects,
            "`sudo unbloat doctor`",
        )
    }
}

/// What the journals would say.
fn untold(name: &'static str, error: &impl std::fmt::Display) -> Check {
    let affects = "changes that unbloat made to this host, if there are any";
    Check {
        found: format!("cannot tell: {error}"),
        ..unknown(name, affects)
    }
}

/// What `job` returns in a network namespace of its own, which ends with it.
fn elsewhere<T: Send>(job: impl FnOnce() -> T + Send) -> Result<T, String> {
    thread::scope(|scope| {
        let inside = scope.spawn(|| {
            enter_new_network().map_err(|error| error.to_string())?;
            Ok(job())
        });
        inside.join().unwrap_or(Err("the thread died".to_owned()))
    })
}

fn privileges(_: bool) -> Check {
    const NAME: &str = "privileges";
    let all = [
        ("CAP_NET_ADMIN", Capability::NetAdmin),
        ("CAP_NET_RAW", Capability::NetRaw),
        ("CAP_BPF", Capability::Bpf),
        ("CAP_PERFMON", Capability::Perfmon),
        ("CAP_SYS_ADMIN", Capability::SysAdmin),
    ];
    let lacking: Vec<&str> = all
        .iter()
        .filter(|(_, capability)| !may(*capability))
        .map(|(name, _)| *name)
        .collect();
    let is_root = rustix::process::geteuid().is_root();
    match (is_root, lacking.is_empty()) {
        (_, true) => Check::works(NAME, "all that a command needs"),
        (true, false) => Check::limited(
            NAME,
            format!("root, but without {} (a container?)", lacking.join(", ")),
            "commands that change queues, watch the kernel or capture",
            "give the container these capabilities",
        ),
        (false, false) => Check::limited(
            NAME,
            "not root",
            "live captures, `locate` by TCP and all commands that change this host",
            "run them with sudo; `unbloat analyze --interface` says how to allow captures alone to a group",
        ),
    }
}

fn programs(is_openwrt: bool) -> Check {
    const NAME: &str = "programs";
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |name: &str| std::env::split_paths(&path).any(|dir| dir.join(name).is_file());
    let used = ["tc", "ip", "ssh"];
    let lacking: Vec<&str> = used.into_iter().filter(|name| !is_there(name)).collect();
    if lacking.is_empty() {
        return Check::works(NAME, used.join(", "));
    }
    let mend = match is_openwrt {
        true => "install the packages tc-full, ip-full and openssh-client",
        false => "install the packages iproute2 and openssh-client",
    };
    Check::missing(
        NAME,
        format!("{} not in PATH", lacking.join(", ")),
        "tc, ip: `sqm`, `fix`, `autorate`, `lab`; ssh: `--router`",
        mend,
    )
}

fn shapers(is_openwrt: bool) -> Check {
    const NAME: &str = "qdiscs";
    let mend = match is_openwrt {
        true => "install the packages kmod-sched-cake and kmod-ifb",
        false => {
            "`shape`, and `--qdisc own-cake` of `sqm` and `fix`, do the same work in user space"
        }
    };
    const AFFECTS: &str = "`sqm`, `fix`, `autorate`";
    match offered() {
        Err(_) if !may(Capability::SysAdmin) => unknown(NAME, AFFECTS),
        Err(error) => {
            let said = error.to_string();
            let (found, mend) = said.rsplit_once("; ").unwrap_or((&said, mend));
            Check::missing(NAME, found, AFFECTS, mend)
        }
        Ok(offered) => {
            if !offered.unknown_to_tc.is_empty() {
                return Check::limited(
                    NAME,
                    format!(
                        "the kernel has {}, but this tc is too old to set it",
                        offered.unknown_to_tc.join(", ")
                    ),
                    AFFECTS,
                    "install a newer iproute2",
                );
            }
            let mut has = offered.qdiscs.clone();
            has.extend(offered.ifb.then_some("ifb"));
            let found = match has.is_empty() {
                true => "none".to_owned(),
                false => has.join(", "),
            };
            let is_fair = has.iter().any(|kind| matches!(*kind, "cake" | "fq_codel"));
            match (is_fair, offered.ifb) {
                (true, true) => Check::works(NAME, found),
                (true, false) => {
                    Check::limited(NAME, found, "without ifb, only uploads can be shaped", mend)
                }
                (false, _) => {
                    Check::limited(NAME, found, "no cake and no fq_codel to shape with", mend)
                }
            }
        }
    }
}

fn own_cake(is_openwrt: bool) -> Check {
    const NAME: &str = "netfilter queues";
    const AFFECTS: &str = "`shape`, and `--qdisc own-cake` of `sqm` and `fix`";
    let started = elsewhere(|| {
        Shaper::start(&following("lo", None))
            .map(drop)
            .map_err(|error| error.to_string())
    });
    match started.and_then(|started| started) {
        Ok(()) => Check::works(NAME, "`shape` works"),
        Err(_) if !may(Capability::SysAdmin) => unknown(NAME, AFFECTS),
        Err(error) => Check::missing(
            NAME,
            error,
            AFFECTS,
            match is_openwrt {
                true => "install the package kmod-nft-queue",
                false => "use a kernel with nft_queue and nfnetlink_queue",
            },
        ),
    }
}

fn bpf(_: bool) -> Check {
    const NAME: &str = "BPF";
    const AFFECTS: &str = "`watch` and `monitor` estimate where packets wait; `autorate` reads packets instead (`--tap packets`); `drwa` does not work";
    let blind = match Watch::open(&Options::default()) {
        Ok(watch) => watch.blind().map(ToString::to_string),
        Err(error) => Some(error.to_string()),
    };
    match blind {
        None => Check::works(NAME, "the kernel takes the programs of `watch`"),
        Some(why) => {
            let has_types = Path::new("/sys/kernel/btf/vmlinux").exists();
            let mend = match has_types {
                true => "run as root",
                false => "use a kernel with CONFIG_DEBUG_INFO_BTF",
            };
            Check::limited(NAME, why, AFFECTS, mend)
        }
    }
}

fn namespaces(_: bool) -> Check {
    const NAME: &str = "network namespaces";
    const AFFECTS: &str = "`lab run`, `lab shell`; `demo` uses the simulator";
    match (elsewhere(|| ()), Path::new("/dev/net/tun").exists()) {
        (Ok(()), true) => Check::works(NAME, "the lab works"),
        (Ok(()), false) => Check::missing(
            NAME,
            "there is no /dev/net/tun",
            AFFECTS,
            "load the module tun",
        ),
        (Err(error), _) => Check::missing(
            NAME,
            error,
            AFFECTS,
            "run as root. `lab run --virtual` needs no root",
        ),
    }
}

fn echo(_: bool) -> Check {
    const NAME: &str = "ICMP echo";
    let opened = Echo::ping(false).open();
    match opened.or_else(|_| Echo::raw(false).open()) {
        Ok(_) => Check::works(NAME, "for this user"),
        Err(error) => Check::missing(
            NAME,
            error.to_string(),
            "`locate` and `autorate` by ICMP echo",
            "run as root, or allow it: `sudo sysctl -w net.ipv4.ping_group_range='0 2147483647'`",
        ),
    }
}

fn controls(_: bool) -> Check {
    const NAME: &str = "congestion controls";
    let named = of_kernel("/proc/sys/net/ipv4/tcp_available_congestion_control");
    let named = named.unwrap_or_default();
    let all: Vec<&str> = named.split_whitespace().collect();
    match all.contains(&"cubic") {
        true => Check::works(NAME, all.join(", ")),
        false => Check::limited(
            NAME,
            all.join(", "),
            "loads of `test` and `lab` that ask for cubic",
            "`sudo modprobe tcp_cubic`",
        ),
    }
}

fn offloads(_: bool) -> Check {
    const NAME: &str = "offloads";
    let Ok(device) = outward() else {
        return Check::works(NAME, "no route to the internet, no interface to look at");
    };
    let name = device.as_str();
    let all = ["tso", "gso", "gro"].into_iter().zip(MERGING);
    let on: Vec<&str> = all
        .filter(|(_, offload)| offload.is_on(name).unwrap_or(false))
        .map(|(word, _)| word)
        .collect();
    match on.is_empty() {
        true => Check::works(NAME, format!("{name} neither splits nor merges segments")),
        false => Check::works(
            NAME,
            format!(
                "{name} has {}: a capture there shows segments larger than on the wire",
                on.join(", ")
            ),
        ),
    }
}

fn clock(_: bool) -> Check {
    const NAME: &str = "clock";
    const FOLDER: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let source = of_kernel(FOLDER).unwrap_or_default();
    let source = source.trim();
    match source {
        "" => Check::works(NAME, "the kernel does not name its clock source"),
        "jiffies" | "acpi_pm" | "refined-jiffies" | "pit" => Check::limited(
            NAME,
            source,
            "time stamps are coarse or slow to read: delays below some ms are noise",
            "boot with clocksource=tsc, if the processor has a constant TSC",
        ),
        source => Check::works(NAME, source),
    }
}

fn leftovers(_: bool) -> Check {
    const NAME: &str = "changes to this host";
    let holdings = recovery::journals().and_then(|journals| journals.holdings());
    let holdings = match holdings {
        Ok(holdings) => holdings,
        Err(error) => return untold(NAME, &error),
    };
    let of_killed = holdings
        .iter()
        .filter(|held| !held.is_alive && !held.is_kept);
    match (holdings.len(), of_killed.count()) {
        (0, _) => Check::works(NAME, "none"),
        (all, 0) => Check::works(
            NAME,
            format!("{all}, each of a running command or kept on request"),
        ),
        (_, left) => Check::limited(
            NAME,
            format!("{left} of commands that ended without undoing them"),
            "a setting of this host is not what it was",
            "`sudo unbloat sqm remove` restores it, as does every command that changes the host",
        ),
    }
}

fn after_reboot(_: bool) -> Check {
    const NAME: &str = "applied after a reboot";
    let kept = Journals::system().and_then(|journals| keep::kept(&journals));
    let kept = match kept {
        Ok(kept) => kept,
        Err(error) => return untold(NAME, &error),
    };
    let lines: Vec<String> = kept
        .iter()
        .map(|kept| {
            let files = kept.files.len();
            format!("{} ({files} files; `sqm status` lists them)", kept.device)
        })
        .collect();
    match kept.iter().find_map(|kept| kept.edited.as_ref()) {
        Some(edited) => Check::limited(
            NAME,
            lines.join(", "),
            &format!(
                "{edited} was changed since unbloat wrote it: `sqm remove` will not remove it"
            ),
            "move that file away before `sudo unbloat sqm remove`",
        ),
        None if lines.is_empty() => Check::works(NAME, "nothing"),
        None => Check::works(NAME, lines.join(", ")),
    }
}

#[cfg(feature = "runs")]
fn runs(_: bool) -> Check {
    const NAME: &str = "runs";
    let folder = unbloat_run::runs_dir();
    let is_writable = match std::fs::create_dir_all(&folder) {
        Ok(()) => tempfile::tempfile_in(&folder).map(drop),
        Err(error) => Err(error),
    };
    match is_writable {
        Ok(()) => Check::works(NAME, format!("{}", folder.display())),
        Err(error) => Check::missing(
            NAME,
            format!("{}: {error}", folder.display()),
            "commands that write a run print their result, but keep nothing",
            "name another folder by UNBLOAT_RUNS, or give --out",
        ),
    }
}

#[cfg(feature = "full")]
fn config(_: bool) -> Check {
    let all = crate::config::files();
    let there = all.iter().filter(|file| file.exists());
    let there: Vec<String> = there.map(|file| file.display().to_string()).collect();
    const NAME: &str = "configuration";
    if let Err(error) = crate::config::with_defaults(crate::command::tree(), &all) {
        let affects = "all commands but `doctor` and `pages`: they refuse to run";
        return Check::missing(
            NAME,
            error.to_string(),
            affects,
            "correct or remove this line",
        );
    }
    Check::works(
        NAME,
        match there.is_empty() {
            true => "none".to_owned(),
            false => there.join(", "),
        },
    )
}
