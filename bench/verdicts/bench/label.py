"""The label of a capture: what is true, what of it can be seen from there, and so which words are right.

Which vantage point sees what follows from where packets carry the peers' clocks (TSval, TSecr) past it; README.md has the rules
with their reasons.
"""

from . import clocks, disguise, pcap, truth, vantage

ORDER = NONE, WEAK, SIDE, FULL = "none", "weak", "side", "full"
CULPRIT_SHARE = 0.2
# Round trips that make a delay stand.
MARKS = 8
# What makes a direction one of data.
DATA_BYTES, DATA_PACKETS = 120, 50


def labels(situation, folder, translate):
    """By vantage point."""
    packets = truth.crossings(folder / "path-packets.csv")
    hidden = vantage.hidden_hosts(situation, folder)
    if "cut" in situation.disguise:
        begin, end = disguise.cut_span((min(p.came for p in packets), max(p.left for p in packets)))
        packets = [p for p in packets if begin <= p.came and p.left < end]
    true = {
        way: truth.direction_truth([p for p in packets if p.direction == way], situation.rates.get(way), situation.has_own_queues)
        for way in ("down", "up")
    }
    truth.add_host_queue(true, folder, situation)
    seen = hidden, data_ways_of(packets, hidden)
    return {name: label(situation, name, true, seen, translate) for name in vantage.NAMES}


def label(situation, name, true, seen, translate):
    hidden, data_ways = seen
    directions = {}
    for way, one in true.items():
        shows = visibility(situation, name, way, one, data_ways)
        if all(of["kind"] in ("bloated", "slight") for of in true.values()):
            # A round trip has the sum of both queues, which a clock of unknown drift divides roughly at best.
            shows = min(shows, SIDE, key=ORDER.index)
        directions[way] = {
            **{key: one[key] for key in ("kind", "standing_ms", "felt_ms", "felt_s", "floor_ms", "wait_p50_ms", "wait_p95_ms", "loaded")},
            "visible": shows,
            "accept": sorted(words(situation, one, shows)),
            **filled_by(one, hidden, translate if name == "nat" else None),
        }
    overall = overall_words(situation, directions)
    return {
        "kind": worst(one["kind"] for one in directions.values()),
        "accept": sorted(overall), "directions": directions, "limit": situation.limit,
        "other": list(situation.other), "other_shows": any(shows_other(situation, name, where, data_ways) for where in situation.other_at),
    }


def worst(kinds):
    return min(kinds, key=truth.ORDER.index)


def visibility(situation, name, way, one, data_ways):
    """Whether a standing queue of that direction shows from there."""
    if situation.quic:
        # A spin bit gives round trips to anybody, and no direction; nothing else of QUIC tells of delay.
        return WEAK if situation.quic == "spin" else NONE
    seen = seen_from(name, way, situation.has_timestamps, data_ways)
    if seen == FULL and one["kind"] in ("bloated", "slight"):
        seen = as_clocks_permit(situation, name, one, data_ways)
    apparent = one["standing_ms"] - one["floor_ms"]
    # What stood from the first packet to the last looks like the path itself.
    if one["kind"] in ("bloated", "slight") and apparent < truth.BLOATED_MS <= one["standing_ms"]:
        seen = min(seen, WEAK, key=ORDER.index)
    return seen


def as_clocks_permit(situation, name, one, data_ways):
    """The leg with the queue is the one to the other host for the client, and that to the client for all others."""
    near, far = (vantage.CLIENT, vantage.SERVER) if name == "client" else (vantage.SERVER, vantage.PUBLIC if name == "nat" else vantage.CLIENT)
    clock = {host: clocks.clock_of(f"{situation.family}/{situation.seed}", pcap.packed(host)) for host in (near, far)}
    # Data and its acknowledgment are a round trip by themselves; else the near host's timestamps mark one, at each tick.
    if ("up" if name == "client" else "down") not in data_ways and clock[near].hz * one["felt_s"] < MARKS:
        return WEAK
    # The far host's clock divides it, if it ticks often enough and is not set meanwhile.
    return FULL if 2000 / clock[far].hz <= one["felt_ms"] and not any(clock[far].step) else SIDE


def seen_from(name, way, has_timestamps, data_ways):
    # A round trip is a packet and its answer. Of one direction there are only the hosts' clocks, which nobody knows.
    if name in ("mid_down", "mid_up"):
        return NONE
    if has_timestamps:
        return FULL
    # Data and its acknowledgment are a round trip, which does not tell directions apart, to him before whom both pass the
    # queues; others have only loops through the sender's window.
    return SIDE if ("up" if name == "client" else "down") in data_ways else WEAK


def shows_other(situation, name, where, data_ways):
    """Whether a delay that is no queue, and arises there, shows from there."""
    if where in ("down", "up"):
        return seen_from(name, where, situation.has_timestamps, data_ways) != NONE
    if where == "answers":
        # Server's ACK and server's answer tell by themselves.
        return name != "mid_up"
    # Who holds an ACK back shows in that ACK alone: which data it answers is in its number, and how late it is takes the data
    # or a stamp.
    return name not in ("mid_down", "mid_up")


def data_ways_of(packets, hidden):
    """Directions in which flows that are captured carry data."""
    seen = [p for p in packets if p.bytes > DATA_BYTES and not {p.source[0], p.destination[0]} & hidden]
    return {way for way in ("down", "up") if sum(p.direction == way for p in seen) >= DATA_PACKETS}


def words(situation, one, seen):
    """Which words are right for a direction."""
    if one["kind"] in ("bloated", "slight"):
        extra = {FULL: set(), SIDE: {"cannot_tell"}, WEAK: {"cannot_tell", "slight"}, NONE: {"cannot_tell", "not_tested"}}
        return set(one["accept"]) | extra[seen] | set(situation.also if situation.has_own_queues else ())
    right = set(one["accept"]) | set(situation.also)
    if situation.other:
        right |= {"other_delay"}
    if one["kind"] == "not_tested":
        # What is nearly loaded may be called either.
        right |= {"clean", "cannot_tell"} if situation.limit else {"cannot_tell"}
    if one["kind"] == "clean" and situation.limit:
        right |= {"not_tested"}
    if seen != FULL:
        right |= {"cannot_tell", "not_tested"}
    return right


def overall_words(situation, directions):
    """The verdict's own word is that of its worst direction."""
    for kind in ("bloated", "slight"):
        found = [one for one in directions.values() if one["kind"] == kind]
        # Of one that shows from there, if there is one.
        if found:
            best = max(found, key=lambda one: ORDER.index(one["visible"]))
            right = set(best["accept"])
            return right - {"cannot_tell"} if best["visible"] == SIDE else right
    right = set().union(*(one["accept"] for one in directions.values()))
    loaded = [one for one in directions.values() if one["loaded"] and one["visible"] == FULL]
    # Where one direction was put to the test and shows, that is what is said.
    return right - {"not_tested", "cannot_tell"} if loaded and not situation.limit and not situation.also else right


def filled_by(one, hidden, translate):
    flows, unseen = [], 0.0
    for (protocol, (client, server)), share in one["shares"].items():
        if client[0] in hidden or server[0] in hidden:
            unseen += share
        elif share >= CULPRIT_SHARE:
            client = translate.end(client) if translate else client
            flows.append({"protocol": protocol, "client": list(client), "server": list(server), "share": round(share, 3)})
    return {"fillers": flows, "unseen_share": round(unseen, 3), "most_share": round(max(one["shares"].values(), default=0), 3)}
