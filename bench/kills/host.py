"""A host of one's own, in namespaces that end with this process, and what can be seen of it by tools that are not the program under test."""

import ctypes
import hashlib
import json
import os
import platform
import shutil
import socket
import struct
import subprocess
import time
from pathlib import Path

CLONE_NEWNS, CLONE_NEWNET = 0x00020000, 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)
# All that is written goes to /run: it is small, can be filled, and can be made read-only.
RUN_SIZE = "24m"
WORK = Path("/run/kills")
JOURNALS = Path("/run/unbloat")
SETTINGS = ("/etc/systemd/network", "/etc/sysctl.d", "/etc/modules-load.d", "/etc/network")
# Where files are that return after a reboot. They are on the same small file system.
LASTING = ("/etc/systemd/system", "/var/lib")
LASTING_JOURNALS = Path("/var/lib/unbloat")
# What systemd does with the units of these commands: one job at a time, in a control group of the unit's, and what they say is not for who asks.
SYSTEMCTL = """#!/bin/sh
unit=$2
[ -n "$unit" ] || exit 0
exec 9</run/systemd/system
flock 9
mkdir -p "GROUP/$unit"
echo 0 >"GROUP/$unit/cgroup.procs"
lines() { sed -n "s/^$1=//p" "/etc/systemd/system/$unit"; }
run() { lines "$1" | { while read -r line; do sh -c "$line" </dev/null >/dev/null 2>&1 9<&- || exit 1; done; }; }
begin() {
    if [ "$(lines Type)" = exec ]; then
        setsid sh -c "exec $(lines ExecStart)" </dev/null >/dev/null 2>&1 9<&- &
    else
        run ExecStart
    fi
}
finish() {
    run ExecStop || return 1
    echo 0 >GROUP/cgroup.procs
    while left=$(cat "GROUP/$unit/cgroup.procs") && [ -n "$left" ]; do kill $left; sleep 0.1; done 2>/dev/null
    true
}
case "$1" in
start) [ -e "/etc/systemd/system/$unit" ] && begin && : >"/run/systemd/active-$unit" ;;
stop) [ -e "/run/systemd/active-$unit" ] || (exit 5) && finish && rm "/run/systemd/active-$unit" ;;
is-active) [ -e "/run/systemd/active-$unit" ] ;;
esac
code=$?
echo 0 >GROUP/cgroup.procs
rmdir "GROUP/$unit" 2>/dev/null
exit $code
"""
BOOT = "/proc/sys/kernel/random/boot_id"
# Marks the command under test and all that it starts.
MARK = "UNBLOAT_KILLS"
NEAR, FAR = "192.0.2.1", "192.0.2.2"
# Of `ip -d`: what counts, or ages.
UNSTEADY = {"stats", "stats64", "valid_life_time", "preferred_life_time", "age", "used"}
# bpf(2), which older bpftools do not ask for these: BPF_PROG_QUERY of BPF_TCX_INGRESS and BPF_TCX_EGRESS.
BPF, PROG_QUERY, TCX = {"x86_64": 321, "aarch64": 280}.get(platform.machine()), 16, (46, 47)
# Below /proc/sys/net: written only, or counting.
COUNTING = {"flush", "nf_conntrack_count", "sockstat"}


def run(*command, check=True):
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if check and done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


def mounts():
    return [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]


def unshare(what):
    if LIBC.unshare(what) != 0:
        raise RuntimeError(f"no namespace: {os.strerror(ctypes.get_errno())} (needs root)")


class Host:
    """eth0 leads to a second host, spare0 to nowhere. Both have queue disciplines that are not the kernel's default."""

    def __init__(self):
        self.mark = str(os.getpid())
        unshare(CLONE_NEWNS)
        run("mount", "--make-rprivate", "/")
        for place in mounts():
            if f"{place}/".startswith(("/run/", "/sys/")):
                run("umount", "--lazy", "--recursive", place, check=False)
        run("mount", "-t", "tmpfs", "-o", f"mode=755,size={RUN_SIZE}", "tmpfs", "/run")
        for folder in SETTINGS:
            if Path(folder).is_dir():
                run("mount", "-t", "tmpfs", "tmpfs", folder)
        for folder in ("tmp", "out", "bin", *LASTING):
            (WORK / folder.lstrip("/")).mkdir(parents=True)
        for folder in LASTING:
            run("mount", "--bind", WORK / folder.lstrip("/"), folder)
        self.wire()
        run("mount", "-t", "cgroup2", "cgroup2", "/sys/fs/cgroup")
        self.group = Path(f"/sys/fs/cgroup/unbloat-kills-{self.mark}")
        (self.group / "command").mkdir(parents=True)
        # What `ip netns` makes for good.
        run("ip", "netns", "add", "first")
        run("ip", "netns", "del", "first")

    def wire(self):
        """A network of this process, and its second host."""
        unshare(CLONE_NEWNET)
        run("mount", "-t", "sysfs", "sysfs", "/sys")
        run("mount", "-t", "bpf", "bpf", "/sys/fs/bpf")
        self.far = subprocess.Popen(["unshare", "--net", "cat"], stdin=subprocess.PIPE)
        mine = os.readlink("/proc/self/ns/net")
        while os.readlink(f"/proc/{self.far.pid}/ns/net") == mine:
            time.sleep(0.01)
        # No addresses that come by themselves.
        Path("/proc/sys/net/ipv6/conf/default/addr_gen_mode").write_text("1")
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", self.far.pid)
        run("ip", "link", "add", "spare0", "type", "veth", "peer", "name", "spare1")
        for device in ("eth0", "spare0", "spare1"):
            run("ip", "link", "set", device, "up")
        run("ip", "addr", "add", f"{NEAR}/24", "dev", "eth0")
        run("ip", "route", "add", "default", "via", FAR)
        for words in (f"ip addr add {FAR}/24 dev eth0", "ip link set eth0 up", "ip link set lo up"):
            run(*self.there(words.split()))
        for device in ("eth0", "spare0"):
            run(*f"tc qdisc replace dev {device} root handle 7: tbf rate 50mbit burst 16kb limit 100kb".split())
        run("ethtool", "-K", "eth0", "gso", "off", check=False)
        # The kernel tells of carriers a while after it has them.
        while any(Path(f"/sys/class/net/{device}/operstate").read_text() != "up\n" for device in ("eth0", "spare0", "spare1")):
            time.sleep(0.01)

    def boot(self):
        """The kernel forgets all and has another name for it; files stay."""
        self.far.kill()
        self.far.wait()
        for unit in self.group.glob("systemd/*/cgroup.kill"):
            unit.write_text("1")
        name = WORK / "boot"
        name.write_text("00000000-0000-4000-8000-000000000000\n")
        run("umount", "--lazy", "/sys/fs/cgroup")
        self.wire()
        run("mount", "-t", "cgroup2", "cgroup2", "/sys/fs/cgroup")
        run("mount", "--bind", name, BOOT)

    def systemd(self, unbloat):
        """Has a systemd, whose part systemctl plays, and the program where it may be started by root."""
        Path("/run/systemd/system").mkdir(parents=True)
        (self.group / "systemd").mkdir()
        # As the folder in /run, the first command makes it for good.
        LASTING_JOURNALS.mkdir(mode=0o700)
        systemctl = WORK / "bin/systemctl"
        systemctl.write_text(SYSTEMCTL.replace("GROUP", str(self.group / "systemd")))
        systemctl.chmod(0o755)
        program = WORK / "bin/unbloat"
        program.touch()
        run("mount", "--bind", unbloat, program)

    def start_units(self):
        """As systemd does at boot."""
        shutil.rmtree("/run/systemd")
        Path("/run/systemd/system").mkdir(parents=True)
        for link in sorted(Path("/etc/systemd/system").glob("multi-user.target.wants/*")):
            subprocess.run([WORK / "bin/systemctl", "start", link.name], env=self.environment(), capture_output=True, check=False)

    def lasting(self):
        return sorted(path.name for path in LASTING_JOURNALS.glob("*.undo"))

    def there(self, command):
        return ["nsenter", f"--net=/proc/{self.far.pid}/ns/net", *map(str, command)]

    def environment(self):
        path = f"{WORK}/bin:{os.environ['PATH']}"
        return {**os.environ, MARK: self.mark, "PATH": path, "TMPDIR": str(WORK / "tmp"), "HOME": str(WORK / "out")}

    def processes(self):
        """Of the command under test, with all that it started. The dead that nobody waited for have no environment."""
        wanted, found = f"{MARK}={self.mark}".encode(), {}
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit():
                continue
            try:
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    found[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            except OSError:
                pass
        return found

    def run(self, *command):
        done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, env=self.environment())
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")

    def journals(self):
        return sorted(path.name for path in JOURNALS.glob("*.undo"))

    def queues(self, device="eth0"):
        return run("tc", "qdisc", "show", "dev", device) + run("tc", "class", "show", "dev", device)

    def fill(self):
        with open(WORK / "full", "wb", buffering=0) as file:
            for size in (1 << 20, 4096, 1):
                try:
                    while True:
                        file.write(b"\0" * size)
                except OSError:
                    pass

    def read_only(self, is_so):
        run("mount", "-o", f"remount,{'ro' if is_so else 'rw'}", "/run")

    def mend(self):
        """A disk with room that can be written to."""
        self.read_only(False)
        (WORK / "full").unlink(missing_ok=True)

    def snapshot(self):
        """All that a command may have changed, by name."""
        devices = sorted(os.listdir("/sys/class/net"))
        seen = {
            "links": steady(run("ip", "-j", "-d", "link")),
            "addresses": steady(run("ip", "-j", "addr")),
            "routes": [run("ip", family, "route", "show", "table", "all") for family in ("-4", "-6")],
            "rules": [run("ip", family, "rule", check=False) for family in ("-4", "-6")],
            "neighbours": run("ip", "neigh", "show", "nud", "permanent"),
            "nftables": ruleset(),
            "settings": settings(),
            "control groups": sorted(str(path.relative_to(self.group)) for path in self.group.rglob("*") if path.is_dir()),
            "files": files(["/run", *SETTINGS, *LASTING]),
            "mounts": sorted(mounts()),
            "pinned BPF": sorted(str(path) for path in Path("/sys/fs/bpf").rglob("*")),
            "processes": sorted(self.processes().values()),
        }
        for device in devices:
            for what in ("qdisc", "class"):
                seen[f"{what} of {device}"] = run("tc", "-j", what, "show", "dev", device, check=False)
            seen[f"filters of {device}"] = [run("tc", "-j", "filter", "show", "dev", device, *place, check=False) for place in ([], ["ingress"], ["egress"])]
            seen[f"programs at {device}"] = [programs(device, place) for place in TCX]
            seen[f"offloads of {device}"] = run("ethtool", "-k", device, check=False)
        if shutil.which("bpftool"):
            seen["attached BPF"] = [run("bpftool", "-j", "net", "show", check=False), run("bpftool", "-j", "cgroup", "tree", self.group, check=False)]
        return seen

    def end(self):
        """Ends what is left of the command, and what this host was made of."""
        for pid in self.processes():
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass
        (self.group / "cgroup.kill").write_text("1")
        self.far.kill()
        self.far.wait()
        for folder in sorted(self.group.rglob("*"), reverse=True):
            if folder.is_dir():
                removed(folder)
        removed(self.group)


def removed(group):
    """A group is busy until those that were killed have ended."""
    for _ in range(200):
        try:
            return group.rmdir()
        except FileNotFoundError:
            return None
        except OSError:
            time.sleep(0.01)
    return None


def steady(text):
    def cut(value):
        if isinstance(value, dict):
            return {key: cut(inner) for key, inner in value.items() if key not in UNSTEADY}
        return [cut(inner) for inner in value] if isinstance(value, list) else value
    return cut(json.loads(text or "[]"))


def programs(device, place):
    """How many programs look at packets there; None where the kernel does not tell."""
    try:
        query = struct.pack("=IIIIQI36x", socket.if_nametoindex(device), place, 0, 0, 0, 0)
    except OSError:
        # It has gone since it was listed.
        return None
    attributes = ctypes.create_string_buffer(query, len(query))
    if BPF is None or LIBC.syscall(BPF, PROG_QUERY, attributes, len(query)) != 0:
        return None
    return struct.unpack_from("=I", attributes, 24)[0]


def ruleset():
    """Without the numbers that count on."""
    listed = json.loads(run("nft", "-j", "list", "ruleset", check=False) or "{}").get("nftables", [])
    return [{kind: {key: value for key, value in inner.items() if key != "handle"} for kind, inner in one.items()} for one in listed]


def settings():
    found = {}
    for folder, _, names in os.walk("/proc/sys/net"):
        for name in set(names) - COUNTING:
            path = os.path.join(folder, name)
            try:
                with open(path) as file:
                    found[path] = file.read()
            except OSError:
                pass
    return found


def files(folders):
    found = {}
    for top in folders:
        for folder, inner, names in os.walk(top):
            if folder == str(WORK):
                # Results are the command's to write; what is temporary is not to stay.
                inner[:] = ["tmp"]
                names = []
            for name in inner + names:
                path = Path(folder, name)
                found[str(path)] = look(path)
    return found


def look(path):
    try:
        kind = path.lstat()
        text = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        return [oct(kind.st_mode), text]
    except OSError as error:
        return [str(error.strerror)]


def differences(before, after):
    """In a few words each."""
    said = []
    for what in sorted({*before, *after}):
        old, new = before.get(what), after.get(what)
        if old == new:
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            keys = [key for key in sorted({*old, *new}) if old.get(key) != new.get(key)]
            said.append(f"{what} {', '.join(keys[:4])}")
        elif isinstance(old, list) and all(isinstance(one, str) and len(one) < 100 for one in [*old, *(new or [])]):
            gone, more = [[one for one in some if one not in other] for some, other in ((old, new or []), (new or [], old))]
            said.append(what + (f" without {', '.join(gone)}" if gone else "") + (f" with {', '.join(more)}" if more else ""))
        else:
            said.append(what)
    return said
