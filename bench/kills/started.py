"""A command under test while it runs: in a control group and a session of its own, what it says kept."""

import fcntl
import os
import pty
import signal
import subprocess
import termios
import threading
import time

from host import WORK


class Started:
    def __init__(self, host, words, terminal=False, closed_pipe=False):
        self.group, self.said, self.master = host.group / "command", b"", None
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        if terminal:
            self.master, slave = pty.openpty()
            streams = dict.fromkeys(streams, slave)
        if closed_pipe:
            read, write = os.pipe()
            os.close(read)
            streams["stdout"] = write
        self.process = subprocess.Popen([str(word) for word in words], cwd=WORK / "out", env=host.environment(), start_new_session=True,
                                        preexec_fn=lambda: self.enter(terminal), **streams)
        if terminal:
            os.close(slave)
            self.listen(os.fdopen(os.dup(self.master), "rb", buffering=0))
            return
        if closed_pipe:
            os.close(write)
        else:
            self.listen(self.process.stdout)
        self.listen(self.process.stderr)

    def enter(self, terminal):
        (self.group / "cgroup.procs").write_text("0")
        if terminal:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        # Python ignores what a shell leaves alone.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)

    def listen(self, stream):
        def keep():
            try:
                while more := os.read(stream.fileno(), 65536):
                    self.said = (self.said + more)[-100_000:]
            except (OSError, ValueError):
                pass
        self.ear, self.stream = threading.Thread(target=keep, daemon=True), stream
        self.ear.start()

    def text(self):
        return self.said.decode(errors="replace")

    def tell(self, number):
        if self.process.poll() is None:
            self.process.send_signal(number)

    def tell_all(self, number):
        """All of its process group, as a terminal does."""
        if self.process.poll() is None:
            try:
                os.killpg(self.process.pid, number)
            except ProcessLookupError:
                pass

    def close_terminal(self):
        # The listener has another descriptor, in a read that only ends with its own.
        self.stream.close()
        os.close(self.master)

    def has_ended(self, within_s=0.0):
        try:
            self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def until(self, is_so, within_s):
        """Whether it became so before the command ended."""
        end = time.monotonic() + within_s
        while not is_so():
            if self.process.poll() is not None or time.monotonic() > end:
                return is_so()
            time.sleep(0.002)
        return True
