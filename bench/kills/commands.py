"""Every command that changes a host, one class each: how it is started, and how it is seen from elsewhere that it has changed something.

Those at the end change nothing that could be left; they are here so that this is seen, too."""

import json
import subprocess
import time
from pathlib import Path

from host import FAR, JOURNALS, WORK, run

RATES = ["--rate-down", "20 Mbit/s", "--rate-up", "5 Mbit/s"]
SCENARIO = """
[scenario]
duration = "60 s"
[link.down]
rate = "20 Mbit/s"
delay = "5 ms"
[link.up]
delay = "5 ms"
[[flow]]
app = "ping"
"""


class Command:
    name = ""
    words = ()
    # Another path of the program under test.
    program = None
    # Its whole work is a moment: it ends by itself.
    is_short = False
    # How the host may be afterwards, beside as it was before.
    goals = ()
    # It has something to undo.
    changes = True
    # The user's own command goes on where this one is killed.
    spared = ()

    def prepare(self, host, unbloat):
        """What is there before the command."""

    def prepare_again(self, host, unbloat):
        """What the rehearsal used up."""

    def boot(self, host):
        """What the host's own configuration makes at its start."""

    def begins(self, host):
        """Whether it has begun to change the host; cheap, because it is asked all the time."""
        return bool(host.journals())

    def is_ready(self, host):
        """Whether its changes are in place, so that a kill from now on meets it at work."""
        return "htb" in host.queues()


class Apply(Command):
    name = "sqm apply"
    words = ["sqm", "apply", "--interface", "eth0", "--qdisc", "fifo", *RATES]
    is_short = True

    def prepare_again(self, host, unbloat):
        host.run(unbloat, *Remove.words)

    def is_ready(self, host):
        return self.begins(host)


class Keep(Apply):
    """What returns after a reboot: files, and a unit that systemd starts at once."""

    name = "sqm apply --keep"
    words = [*Apply.words, "--keep"]
    program = WORK / "bin/unbloat"

    def prepare(self, host, unbloat):
        host.systemd(unbloat)

    def begins(self, host):
        return bool(host.lasting())

    def boot(self, host):
        host.start_units()


class KeptRemove(Keep):
    """Undoes what lasts: it may not stop half-way."""

    name = "sqm remove (kept)"
    words = ["sqm", "remove", "--interface", "eth0"]

    def prepare(self, host, unbloat):
        super().prepare(host, unbloat)
        self.goals = [host.snapshot()]
        self.prepare_again(host, unbloat)

    def prepare_again(self, host, unbloat):
        host.run(self.program, *Keep.words)

    def begins(self, host):
        return True

    def is_ready(self, host):
        # One of several steps.
        return not Path("/sys/class/net/ifb4eth0").exists()


class Hold(Command):
    name = "sqm apply --hold"
    words = [*Apply.words, "--hold"]

    def is_ready(self, host):
        # Its last step; it stands a moment before the command says so.
        return "redirect" in run("tc", "filter", "show", "dev", "eth0", "ingress").lower()


class Confirm(Hold):
    name = "sqm apply --confirm"
    words = [*Apply.words, "--confirm", "60s"]


class Remove(Command):
    """Undoes what lasts: it may not stop half-way."""

    name = "sqm remove"
    words = ["sqm", "remove", "--interface", "eth0"]
    is_short = True

    def prepare(self, host, unbloat):
        self.goals = [host.snapshot()]
        host.run(unbloat, *Apply.words)

    prepare_again = prepare

    def begins(self, host):
        return True

    def is_ready(self, host):
        # One of several steps.
        return not Path("/sys/class/net/ifb4eth0").exists()


class Served(Command):
    """Against `unbloat serve` on the second host."""

    def prepare(self, host, unbloat):
        listen = [f"--listen={FAR}:4043", f"--listen-plain={FAR}:4080", f"--listen-echo={FAR}:2112"]
        serve = subprocess.Popen(host.there([unbloat, "serve", "--json", *listen]), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        if not serve.stdout.readline():
            raise RuntimeError("no server")
        self.server = serve


class Search(Served):
    name = "sqm search"
    words = ["sqm", "search", FAR, "--insecure", "--interface", "eth0", "--qdisc", "fifo", *RATES]


class Fix(Served):
    """With the verdict of a test before, so that the cure begins at once."""

    name = "fix (shaper)"
    words = ["fix", FAR, "--insecure", "--yes", "--quiet", "--test", WORK / "test.json", "--interface", "eth0", "--qdisc", "fifo"]
    cure = {"kind": "shaper", "down_bps": 20_000_000, "up_bps": 5_000_000, "site": "anywhere"}
    delivered_bps = 20_000_000

    def prepare(self, host, unbloat):
        super().prepare(host, unbloat)
        advice = {"cure": self.cure, "text": "as told", "is_alternative": False, "directions": ["down", "up"], "evidence": ["downloads wait"]}
        load = {"direction": "down", "delivered_bps": self.delivered_bps, "line_bps": 21_000_000, "is_steady": True, "added_ms": 240.0, "added_p95_ms": 240.0,
                "idle_rtt_ms": 1.0, "unsent_ms": None, "located": None}
        verdict = {"kind": "bloated", "grade": "D", "headline": "", "places": [], "directions": [load], "doubts": [], "advice": [advice]}
        (WORK / "test.json").write_text(json.dumps({
            "schema": "unbloat.test/2", "target": f"https://{FAR}:4043/.well-known/nq", "is_cut": False, "server": {"address": f"{FAR}:4043"},
            "verdict": verdict}))


class FixKeep(Fix):
    """Killed when it keeps what has helped: short stages, and delays that the shaper cannot add."""

    name = "fix --keep"
    words = [*Fix.words, "--keep", "--stages", "1 s,3 s,3 s,0 s"]
    delivered_bps = 10_000_000
    program = Keep.program

    def prepare(self, host, unbloat):
        super().prepare(host, unbloat)
        host.systemd(unbloat)

    def prepare_again(self, host, unbloat):
        host.run(self.program, *Remove.words)

    def is_ready(self, host):
        return bool(host.lasting())

    def boot(self, host):
        host.start_units()


class FixFollow(Fix):
    name = "fix (own CAKE)"
    cure = {"kind": "adaptive_shaper", "down_bps": 20_000_000, "up_bps": 5_000_000}

    def is_ready(self, host):
        return "unbloat-eth0" in run("nft", "list", "tables")


class FixWindow(Fix):
    name = "fix (windows)"
    cure = {"kind": "receive_window"}

    def begins(self, host):
        return any((host.group / "command").glob("unbloat-drwa-*"))

    def is_ready(self, host):
        return any(path.read_text() for path in (host.group / "command").glob("unbloat-drwa-*/cgroup.procs"))


class Autorate(Command):
    name = "autorate"
    words = ["autorate", "--interface", "eth0", "--interface-up", "eth0"]

    def prepare(self, host, unbloat):
        self.boot(host)

    def boot(self, host):
        run(*"tc qdisc replace dev eth0 root handle 1: htb default 1".split())
        run(*"tc class add dev eth0 parent 1: classid 1:1 htb rate 7mbit burst 4k".split())
        self.before = host.queues()

    def is_ready(self, host):
        return host.queues() != self.before


class Uplink(Command):
    name = "uplink"
    words = ["uplink", "--interface", "eth0"]

    def is_ready(self, host):
        return "1:1 " in run("tc", "class", "show", "dev", "eth0")


class Shape(Command):
    name = "shape"
    words = ["shape", "--interface", "eth0", "--rate-up", "5 Mbit/s"]

    def is_ready(self, host):
        return "unbloat-eth0" in run("nft", "list", "tables")


class DrwaRun(Command):
    name = "drwa -- COMMAND"
    words = ["drwa", "--", "sleep", "60"]
    spared = ["sleep 60"]

    def begins(self, host):
        return any((host.group / "command").glob("unbloat-drwa-*"))

    def is_ready(self, host):
        return any(path.read_text() for path in (host.group / "command").glob("unbloat-drwa-*/cgroup.procs"))


class DrwaGroup(Command):
    name = "drwa --cgroup"

    def prepare(self, host, unbloat):
        (host.group / "others").mkdir()
        self.words = ["drwa", "--cgroup", f"/{host.group.name}/others"]

    def begins(self, host):
        return True

    def is_ready(self, host):
        return attached(host)


class DrwaRouter(Command):
    name = "drwa --lan"
    words = ["drwa", "--lan", "eth0"]

    def begins(self, host):
        return True

    def is_ready(self, host):
        return attached(host)


def attached(host):
    """Whether it holds a program's place in the kernel."""
    def holds(entry):
        try:
            return "link_type" in entry.read_text()
        except OSError:
            return False
    return any(holds(entry) for pid in host.processes() for entry in Path(f"/proc/{pid}/fdinfo").glob("*"))


class LabRun(Command):
    name = "lab run"
    words = ["lab", "run", WORK / "s.toml", "--quiet", "--no-run", "--exec", "client: sleep 77"]

    def prepare(self, host, unbloat):
        (WORK / "s.toml").write_text(SCENARIO)

    def begins(self, host):
        return named()

    def is_ready(self, host):
        return any("sleep 77" in line for line in host.processes().values())


class LabShell(LabRun):
    name = "lab shell"
    words = ["lab", "shell", "--quiet", "--rate-down", "20 Mbit/s", "--", "sleep", "77"]

    def is_ready(self, host):
        return any(line == "sleep 77" for line in host.processes().values())


class LabInternet(LabShell):
    name = "lab shell --internet"
    words = [*LabShell.words[:3], "--internet", *LabShell.words[3:]]

    def prepare(self, host, unbloat):
        super().prepare(host, unbloat)
        self.boot(host)

    def boot(self, host):
        Path("/proc/sys/net/ipv4/ip_forward").write_text("0")

    def is_ready(self, host):
        return super().is_ready(host) and Path("/proc/sys/net/ipv4/ip_forward").read_text() == "1\n"


class Demo(LabRun):
    name = "demo"
    words = ["demo", "--out", WORK / "out/demo"]

    def is_ready(self, host):
        return any(" fix " in line for line in host.processes().values())


def named():
    """Whether a namespace has a name of the program's."""
    return any(JOURNALS.parent.glob("netns/ub-*"))


class Live(Command):
    name = "analyze --interface"
    words = ["analyze", "--interface", "eth0", "--promiscuous"]

    def begins(self, host):
        return True

    def is_ready(self, host):
        return '"promiscuity":1' in run("ip", "-j", "-d", "link", "show", "dev", "eth0")


class Looks(Served):
    """Changes nothing: it is given a second to do so."""

    changes = False

    def begins(self, host):
        return True

    def is_ready(self, host):
        time.sleep(1)
        return True


class Test(Looks):
    name = "test"
    words = ["test", FAR, "--insecure", "--quiet", "--locate"]


class Locate(Looks):
    name = "locate"
    words = ["locate", FAR, "--insecure"]


class Watch(Looks):
    name = "watch"
    words = ["watch", "--json"]


class Serve(Looks):
    name = "serve"
    words = ["serve", "--listen=[::]:5043", "--listen-plain=[::]:5080", "--listen-echo=[::]:5112"]

    def prepare(self, host, unbloat):
        pass


ALL = [Apply, Keep, Hold, Confirm, Remove, KeptRemove, Search, Fix, FixKeep, FixFollow, FixWindow, Autorate, Uplink, Shape, DrwaRun, DrwaGroup, DrwaRouter,
       LabRun, LabShell, LabInternet, Demo, Live, Test, Locate, Watch, Serve]
