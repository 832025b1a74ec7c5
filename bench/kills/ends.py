"""How a command ends, one class each: where it runs, when its end comes, and what comes."""

import signal
import time

# Between two signals of somebody who is in a hurry: the first has been taken by then, and nothing more.
HURRY_S = 0.02
# What comes within 0.1 s counts as the same press.
AGAIN_S = 0.15
# For a command to end by itself where nothing asks it to.
PATIENCE_S = 3


class End:
    name = ""
    # At a random moment from its first change on, rather than when all is changed.
    is_random = False
    # It may end before all is changed.
    is_hindered = False
    # Standard streams are a terminal.
    has_terminal = False

    def before(self, host):
        """What is amiss with the host from the beginning on."""

    def strike(self, host, started):
        raise NotImplementedError


class Signal(End):
    def __init__(self, name, number, is_random=False):
        self.name, self.number, self.is_random = name, number, is_random

    def strike(self, host, started):
        started.tell(self.number)


class Interrupt(End):
    """Ctrl-C reaches every process of the terminal."""

    name, times = "SIGINT", 1

    def strike(self, host, started):
        for _ in range(self.times):
            started.tell_all(signal.SIGINT)
            time.sleep(AGAIN_S)


class InterruptTwice(Interrupt):
    name, times = "SIGINT twice", 2


class ClosedTerminal(End):
    """The kernel tells all of its processes, and then the shell does."""

    name, has_terminal = "closed terminal", True

    def strike(self, host, started):
        started.close_terminal()
        time.sleep(HURRY_S)
        started.tell_all(signal.SIGHUP)


class Hindered(End):
    """What does not end of it is ended in order."""

    is_hindered = True

    def strike(self, host, started):
        if not started.has_ended(PATIENCE_S):
            started.tell(signal.SIGTERM)


class ClosedPipe(Hindered):
    name = "closed stdout"

    def before(self, host):
        self.closes_pipe = True


class FullDisk(Hindered):
    name = "full disk"

    def before(self, host):
        host.fill()


class ReadOnly(Hindered):
    name = "read-only /run"

    def before(self, host):
        host.read_only(True)


class DiskFills(Hindered):
    name = "disk fills up"
    is_hindered = False

    def strike(self, host, started):
        host.fill()
        started.tell(signal.SIGTERM)


class PowerOff(End):
    """The command and all that it started, its guard too, at once. The kernel's state stays."""

    name = "all killed at once"

    def strike(self, host, started):
        (host.group / "command/cgroup.kill").write_text("1")


class PowerOffAnyTime(PowerOff):
    name, is_random = "all killed at random", True


class Boot(PowerOff):
    """The same, and the kernel's state is gone; files stay."""

    name = "reboot"


ALL = [Signal("kill -9", signal.SIGKILL), Signal("kill -9 at random", signal.SIGKILL, True), Signal("SIGTERM", signal.SIGTERM),
       Signal("SIGTERM at random", signal.SIGTERM, True), Signal("SIGHUP", signal.SIGHUP), Interrupt(), InterruptTwice(), ClosedTerminal(), ClosedPipe(),
       FullDisk(), DiskFills(), ReadOnly(), PowerOff(), PowerOffAnyTime(), Boot()]
