"""What is true of a path, by its own account of every packet (path-packets.csv): never by settings, never by our analyser.

Standing delay: the least wait of each 100 ms, then the median over the time in which it stands. A queue that stands does not
drain; its least wait is above zero all the time (RFC 8289).
"""

import csv
from collections import defaultdict
from dataclasses import dataclass
from statistics import median

WINDOW_NS = 100_000_000
STANDS_WINDOWS = 10  # a second
BRIEF_WINDOWS = 20
SILENT_WINDOWS = 5
STANDS_MS = 5.0  # CoDel's target
BLOATED_MS, SLIGHT_MS = 60.0, 30.0
LOADED_WINDOWS = 20


@dataclass(frozen=True, slots=True)
class Crossing:
    """A packet that crossed the path. Times in ns since the run's zero."""

    direction: str
    protocol: int
    source: tuple
    destination: tuple
    bytes: int
    came: int
    queued: int
    left: int

    @property
    def flow(self):
        """Client first."""
        ends = (self.source, self.destination)
        return ends if self.direction == "up" else ends[::-1]


def crossings(path):
    with path.open() as file:
        return [crossing(row) for row in csv.DictReader(file) if row["protocol"]]


def crossing(row):
    # What a radio takes to send and send again is no queue; what waits in its buffer is in queued_ns.
    return Crossing(
        row["direction"], int(row["protocol"]),
        (row["source"], int(row["source_port"])), (row["destination"], int(row["destination_port"])),
        int(row["bytes"]), int(row["came_ns"]), int(row["queued_ns"]), int(row["left_ns"]),
    )


def windows_of(packets):
    """Least wait in ms of the packets that came, by number of window. Where none came, of those that still waited; None without any."""
    least = {}
    for packet in packets:
        window = packet.came // WINDOW_NS
        wait = packet.queued / 1e6
        least[window] = min(wait, least.get(window, wait))
    if not least:
        return []
    waiting = {}
    for packet in packets:
        for window in range(packet.came // WINDOW_NS + 1, min((packet.came + packet.queued) // WINDOW_NS, max(least)) + 1):
            waiting[window] = min(packet.queued / 1e6, waiting.get(window, packet.queued / 1e6))
    return [least.get(window, waiting.get(window)) for window in range(min(least), max(least) + 1)]


def runs_above(windows, bound):
    """Spans of windows whose least wait is above a bound, a second of them in all. Few windows without packets interrupt none."""
    spans, current, silent = [], [], 0
    for window in windows:
        silent = silent + 1 if window is None else 0
        if window is not None and window > bound:
            current.append(window)
        elif window is not None or silent > SILENT_WINDOWS:
            spans.append(current)
            current = []
    spans.append(current)
    return [span for span in spans if len(span) >= STANDS_WINDOWS]


def standing(windows):
    """How much stands, in ms, and how much of it for a second on end; zero where nothing stands."""
    stood = [wait for span in runs_above(windows, STANDS_MS) for wait in span]
    if not stood:
        return 0.0, 0.0
    longest_high = 0.0
    for bound in (BLOATED_MS, SLIGHT_MS):
        if runs_above(windows, bound):
            longest_high = bound
            break
    return median(stood), longest_high


def felt_in(windows, floor):
    """Waits above the least one while they are felt: what stood from the first packet to the last looks like the path itself."""
    return [wait - floor for span in runs_above(windows, floor + SLIGHT_MS) for wait in span]


def kind_of(windows):
    """What the standing delay is called, and the words that pass for it: near a bound both do."""
    typical, held = standing(windows)
    if typical >= BLOATED_MS and held >= BLOATED_MS:
        is_brief = sum(len(span) for span in runs_above(windows, BLOATED_MS)) < BRIEF_WINDOWS
        return "bloated", {"bloated"} | ({"slight"} if typical < 1.15 * BLOATED_MS or is_brief else set())
    if held >= SLIGHT_MS:
        # A second above 60 ms in an otherwise short queue, or 30 to 60 ms: both neighbours pass.
        return "slight", {"slight", "bloated", "clean"}
    return "clean", {"clean"} | ({"slight"} if typical >= 0.85 * SLIGHT_MS else set())


def load_of(packets, rate_bps):
    """Whether the queue was put to the test: for two seconds in all its link was busy; and whether it nearly was."""
    by_window = defaultdict(list)
    for packet in packets:
        by_window[packet.left // WINDOW_NS].append(packet)
    carried = {window: sum(p.bytes for p in some) for window, some in by_window.items()}
    if not carried:
        return False, False
    # Without a constant rate: what it carried at its best.
    full = rate_bps / 80 if rate_bps else sorted(carried.values())[int(0.95 * (len(carried) - 1))]
    waits = {window: sum(p.queued > 500_000 for p in some) >= 0.8 * len(some) for window, some in by_window.items()}
    busy = [window for window, size in carried.items() if size >= 0.8 * full or (waits[window] and size >= 0.5 * full)]
    nearly = [size for size in carried.values() if size >= 0.35 * full]
    return len(busy) >= LOADED_WINDOWS, len(nearly) >= LOADED_WINDOWS // 2


def fillers(packets):
    """Share of the bytes that waited, by flow, while the queue stood."""
    weight = defaultdict(float)
    for packet in packets:
        if packet.queued / 1e6 > STANDS_MS:
            weight[(packet.protocol, packet.flow)] += packet.bytes * packet.queued
    total = sum(weight.values())
    return {flow: value / total for flow, value in weight.items()} if total else {}


def direction_truth(packets, rate_bps=None, has_own_queues=False):
    packets = sorted(packets, key=lambda packet: packet.came)
    shares = fillers(packets)
    # Where flows have queues of their own, that of the flow which holds most is judged.
    most = max(shares, key=shares.get, default=None)
    judged = [p for p in packets if (p.protocol, p.flow) == most] if has_own_queues and most else packets
    windows = windows_of(judged)
    kind, words = kind_of(windows)
    typical, _ = standing(windows)
    waits = sorted(packet.queued / 1e6 for packet in judged) or [0.0]
    felt = felt_in(windows, waits[0])
    loaded, nearly = load_of(packets, rate_bps)
    if kind == "clean" and not loaded:
        kind, words = "not_tested", {"not_tested"} | ({"clean"} if nearly else set())
    return {
        "kind": kind,
        "accept": sorted(words),
        "standing_ms": round(typical, 1),
        "felt_ms": round(median(felt or [0]), 1),
        "felt_s": len(felt) * WINDOW_NS / 1e9,
        "floor_ms": round(waits[0], 1),
        "wait_p50_ms": round(waits[len(waits) // 2], 1),
        "wait_p95_ms": round(waits[int(len(waits) * 0.95)], 1),
        "loaded": loaded,
        "shares": shares,
    }


def add_host_queue(true, folder, situation):
    """Adds what waited in the sending host's own queue, by the kernel's account: `time_s,backlog_bytes,rate_bps` by sample."""
    if not situation.host_queue:
        return
    with (folder / "host-queue.csv").open() as file:
        waits = [(int(float(row["time_s"]) * 1e9), float(row["backlog_bytes"]) * 8e3 / float(row["rate_bps"])) for row in csv.DictReader(file)]
    one = true[situation.host_queue]
    least = {}
    for at, wait in waits:
        window = at // WINDOW_NS
        least[window] = min(wait, least.get(window, wait))
    windows = [least.get(window) for window in range(min(least), max(least) + 1)]
    kind, words = kind_of(windows)
    ordered = sorted(wait for _, wait in waits)
    felt = felt_in(windows, ordered[0])
    if ORDER.index(kind) <= ORDER.index(one["kind"]):
        one.update(
            kind=kind, accept=sorted(words), standing_ms=round(standing(windows)[0], 1), felt_ms=round(median(felt or [0]), 1), felt_s=len(felt) * WINDOW_NS / 1e9, floor_ms=round(ordered[0], 1),
            wait_p50_ms=round(ordered[len(ordered) // 2], 1), wait_p95_ms=round(ordered[int(len(ordered) * 0.95)], 1), loaded=True,
        )


ORDER = ("bloated", "slight", "clean", "not_tested")
