"""The verdict on a capture. Fields are those of the verdict in ``run.json``."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from . import _core


@dataclass(frozen=True)
class Filler:
    """A flow that keeps bytes in the queue."""

    flow_id: int
    client: str
    client_port: int
    server: str
    """Name if one was seen, else address."""
    server_port: int
    share: float
    """Fraction of the captured bytes that waited."""


@dataclass(frozen=True)
class WaitingFlow:
    """A flow whose packets waited."""

    flow_id: int
    client: str
    server: str
    server_port: int
    standing_p50_ms: float
    standing_p95_ms: float
    standing_s: float
    """Seconds for which packets waited."""


@dataclass(frozen=True)
class OtherDelay:
    """Delay that something other than a queue made."""

    kind: str
    """think_time, wake_up, power_save, delayed_ack, hold, jitter, route_change or own_queue."""
    ms: float
    """Median in ms; of holds the longest, of a route change the largest step."""


@dataclass(frozen=True)
class Direction:
    """The verdict on one direction."""

    direction: str
    """down or up."""
    kind: str
    """bloated, slight, clean, other_delay, not_tested or cannot_tell."""
    reason: str | None
    """Why nothing can be said, or why nothing was tested."""
    confidence: float | None
    """Probability that ``kind`` is right."""
    standing_p50_ms: float | None
    """Median of the added delay in windows in which a queue stands, in ms."""
    standing_p95_ms: float | None
    """95th percentile of the same, in ms."""
    floor_seen: bool
    """The capture has the begin of the flow that tells, and with it the delay of the empty path."""
    standing_s: float
    """Seconds for which the queue stood."""
    loaded_s: float
    """Seconds of load in which windows were measured."""
    queue_bdp: float | None
    """Standing delay divided by the smallest round-trip time."""
    rate_bps: float | None
    """What the client's flows carried meanwhile, in bit/s."""
    from_ns: int | None
    """First time at which the queue stood, in ns since the first packet."""
    until_ns: int | None
    """Last time at which the queue stood, in ns since the first packet."""
    place: str | None
    """Where the queue stands: before_capture, after_capture or sending_host."""
    fillers: tuple[Filler, ...]
    """The flows that fill the queue."""
    filled_by_unseen: bool
    """A queue stands, and no captured flow fills it."""
    flows_left_out: int
    """Flows whose delay was left out, because others between the same hosts did not have it."""
    waiting_flows: int
    """Number of flows that wait."""
    waiting_clients: int
    """Number of clients that wait."""
    waiting: tuple[WaitingFlow, ...]
    """The flows that wait longest, longest first."""
    other_delays: tuple[OtherDelay, ...]
    """Delays that are no queue's."""


@dataclass(frozen=True)
class Verdict:
    """The verdict on a capture. ``str()`` is the text that the command prints."""

    kind: str
    """The worse of both directions: bloated, slight, clean, other_delay, not_tested or cannot_tell."""
    sentence: str
    """The answer in one sentence."""
    confidence: float | None
    """Probability that ``kind`` is right."""
    confidence_word: str | None
    """low, medium or high."""
    threshold_ms: float
    """Minimum standing delay that counts as bufferbloat, in ms."""
    down: Direction
    """Towards the clients."""
    up: Direction
    """From the clients."""
    caveats: tuple[str, ...]
    """What to keep in mind; whole sentences."""
    _json: str = field(repr=False, compare=False)

    def text(self, width: int = 200) -> str:
        """The text that the command prints, at most about ``width`` columns wide."""
        return _core.verdict_text(self._json, width)

    def __str__(self) -> str:
        return self.text()


def verdict_of(document: dict[str, Any]) -> Verdict:
    """The verdict of ``run.json``."""
    fields = dict(document)
    directions = fields.pop("directions")
    return Verdict(
        **{**fields, "caveats": tuple(fields["caveats"])},
        down=_direction(directions["down"]),
        up=_direction(directions["up"]),
        _json=json.dumps(document),
    )


def _direction(document: dict[str, Any]) -> Direction:
    lists = {
        "fillers": tuple(Filler(**one) for one in document["fillers"]),
        "waiting": tuple(WaitingFlow(**one) for one in document["waiting"]),
        "other_delays": tuple(OtherDelay(**one) for one in document["other_delays"]),
    }
    return Direction(**{**document, **lists})
