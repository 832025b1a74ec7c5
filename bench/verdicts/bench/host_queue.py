"""Writes down the backlog of a host's own queue, by the kernel's account, 50 times a second: run on a host of a lab."""

import re
import subprocess
import sys
import time
from pathlib import Path

EVERY_S = 0.02


def main():
    rate = sys.argv[1]
    # What lies there goes to the run's folder.
    folder = Path("/run/unbloat/out/captures")
    begun = time.monotonic()
    with (folder / "host-queue.csv").open("w") as file:
        print("time_s,backlog_bytes,rate_bps", file=file)
        while True:
            told = subprocess.run(["tc", "-s", "qdisc", "show", "dev", "path"], capture_output=True, text=True).stdout
            backlog = re.search(r"backlog (\d+)([KM]?)b", told)
            size = int(backlog[1]) * {"": 1, "K": 1024, "M": 1024**2}[backlog[2]] if backlog else 0
            print(f"{time.monotonic() - begun:.4f},{size},{rate}", file=file, flush=True)
            time.sleep(EVERY_S)


if __name__ == "__main__":
    main()
