"""``unbloat analyze``."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from . import _core
from ._run import Place, Run


def analyze(
    *paths: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    client_net: str | Sequence[str] | None = None,
    gtp_port: int | Sequence[int] | None = None,
    bloat_threshold: str | None = None,
    min_sending_rate: str | None = None,
    min_tick_interval: str | None = None,
    promotion_idle: str | None = None,
    radio_tail: str | None = None,
    slow_start_ratio: float | None = None,
    large_bytes: str | None = None,
    large_duration: str | None = None,
    utilisation_window: str | None = None,
    pep_port: int | Sequence[int] | None = None,
    flow_idle: str | None = None,
    user_idle: str | None = None,
    bin: str | None = None,
    tables: str | None = None,
    max_flows: int | None = None,
) -> Run:
    """Find standing queues in packet captures: delay, direction, responsible flows.

    Several captures (pcap or pcapng; plain, gzip, zstd or lz4; patterns like ``cap*.pcap``) are merged in time order. Options are those of
    ``unbloat analyze --help``, with the same defaults; rates, sizes and spans are text with a unit.

    :param out: Folder for the results, which must not exist; gets the report too. Without it, a temporary folder.
    :param threads: Number of threads, 1 to 256 (default 1); does not affect results.
    :param client_net: Networks whose addresses are clients, like ``"10.0.0.0/8"``.
    :param gtp_port: UDP ports that carry GTP-U.
    :param bloat_threshold: Minimum standing delay that counts as bufferbloat, like ``"60 ms"``.
    :param min_sending_rate: Minimum sending rate of a window for a bandwidth estimate, like ``"30 Mbit/s"``, or ``"learn"``.
    :param min_tick_interval: Minimum interval from which the tick of TCP timestamps is derived.
    :param promotion_idle: Idle time of the radio after which a handshake includes a promotion.
    :param radio_tail: Time that the radio stays on after a packet.
    :param slow_start_ratio: Minimum ratio of rates after duplicate ACKs that indicates slow start.
    :param large_bytes: Downlink payload above which a flow is large, like ``"1 MB"``.
    :param large_duration: Transfer time above which a flow is large.
    :param utilisation_window: Length of the windows in which utilisation is sampled.
    :param pep_port: Server ports behind a performance-enhancing proxy.
    :param flow_idle: Idle time after which a flow has ended.
    :param user_idle: Idle time after which an address counts as a new user.
    :param bin: Bin width of the tables ``rtt`` and ``in_flight``; ``"0 ms"`` keeps every sample.
    :param tables: ``"all"`` keeps rows of ``rtt`` and ``in_flight`` also for short flows that the report does not show.
    :param max_flows: Maximum number of concurrent flows.
    :raises CaptureError: A capture is missing or cannot be read.
    :raises OptionError: A value is not valid.
    :raises RunError: The results cannot be written.
    :raises KeyboardInterrupt: Ctrl-C; with ``out``, the folder has what was known by then.
    """
    given = {
        "threads": threads,
        "client_net": client_net,
        "gtp_port": gtp_port,
        "bloat_threshold": bloat_threshold,
        "min_sending_rate": min_sending_rate,
        "min_tick_interval": min_tick_interval,
        "promotion_idle": promotion_idle,
        "radio_tail": radio_tail,
        "slow_start_ratio": slow_start_ratio,
        "large_bytes": large_bytes,
        "large_duration": large_duration,
        "utilisation_window": utilisation_window,
        "pep_port": pep_port,
        "flow_idle": flow_idle,
        "user_idle": user_idle,
        "bin": bin,
        "tables": tables,
        "max_flows": max_flows,
    }
    options = texts(given)
    inputs = [os.fspath(path) for path in paths]
    place = Place(out)
    words = ["unbloat", "analyze", *inputs]
    for name, values in options.items():
        for value in values:
            words += ["--" + name.replace("_", "-"), value]
    if place.is_named:
        words += ["--out", str(place.path)]
    _core.analyze(inputs, place.path, place.is_named, words, options)
    return Run(place.path, place)


def texts(given: Mapping[str, object]) -> dict[str, list[str]]:
    """Options that were given, as the texts that the command would get."""
    return {name: _texts(value) for name, value in given.items() if value is not None}


def _texts(value: object) -> list[str]:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [str(one) for one in value]
    return [str(value)]
