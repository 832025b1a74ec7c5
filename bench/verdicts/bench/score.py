"""Verdicts held against labels."""

from collections import Counter, defaultdict
from math import sqrt

from . import situation

SAYS_BLOATED = ("bloated",)
ABSTAINS = ("cannot_tell", "not_tested")
LIMITS = ("receive_window", "application")


def judge(case, said):
    """The case with what was said of it and what of that is right; None: the question does not arise."""
    label = case["label"]
    ways = label["directions"]
    bloated = [way for way, one in ways.items() if one["kind"] == "bloated"]
    visible = [way for way in bloated if ways[way]["visible"] in ("full", "side")]
    is_said = said["kind"] in SAYS_BLOATED
    marks = {
        "right": said["kind"] in label["accept"],
        "true_alarm": (label["kind"] in ("bloated", "slight")) if is_said else None,
        "found": said["kind"] in ("bloated", "slight") and said["kind"] in label["accept"] if visible else None,
        "direction": direction_mark(label, said) if is_said and bloated else None,
        "culprit": culprit_mark(label, said) if is_said and bloated else None,
        "place": place_mark(case, said),
        "amount": amount_mark(label, said),
        "limit": limit_mark(label, said),
        "abstention": said["kind"] in label["accept"] if said["kind"] in ABSTAINS else None,
        "other": bool(set(label["other"]) & {kind for one in said["directions"].values() for kind in one["other"]})
        if label["other_shows"] and not bloated else None,
    }
    return {**case, "said": said, "marks": marks}


def direction_mark(label, said):
    """Every direction called bloated is, and each that is and shows in full is called so; None: it named none."""
    called = {way for way, one in said["directions"].items() if one["kind"] == "bloated"}
    if not called:
        # "The direction is not told" is right where it cannot be.
        shows = any(one["kind"] == "bloated" and one["visible"] == "full" for one in label["directions"].values())
        return False if shows else None
    ways = label["directions"]
    wrong = [way for way in called if not {"bloated", "slight"} & set(ways[way]["accept"])]
    missed = [way for way, one in ways.items() if one["visible"] == "full" and one["accept"] == ["bloated"] and way not in called]
    return not wrong and not missed


def culprit_mark(label, said):
    marks = [
        culprit_of(one, said["directions"][way])
        for way, one in label["directions"].items()
        if one["kind"] == "bloated" and said["directions"].get(way, {}).get("kind") == "bloated"
    ]
    marks = [mark for mark in marks if mark is not None]
    return all(marks) if marks else None


def culprit_of(label, said):
    """The first flow named is one of those that fill it; traffic that was not captured is blamed where that fills it. Where both are named, as
    acknowledgments or what was not captured, one of them has to be right."""
    if said["unseen"] and said["fillers"]:
        return any(culprit_of(label, {**said, **one}) for one in ({"unseen": False}, {"fillers": []}))
    if label["unseen_share"] >= 0.7:
        return said["unseen"]
    if said["unseen"] and label["unseen_share"] < 0.3:
        return False
    if not label["fillers"]:
        # Many small ones: whoever is named is one of them.
        return True if not said["unseen"] else label["unseen_share"] >= 0.3
    if not said["fillers"]:
        return label["unseen_share"] >= 0.3 and said["unseen"]
    first = max(said["fillers"], key=lambda one: one["share"] or 0)
    return any(is_same(first, flow) for flow in label["fillers"])


def amount_mark(label, said):
    """Within a tenth of what the path's log says, or within what a packet takes on the wire."""
    marks = []
    for way, one in label["directions"].items():
        found = said["directions"].get(way, {})
        if (one["kind"], found.get("kind"), one["visible"]) == ("bloated", "bloated", "full") and found.get("standing_ms"):
            marks.append(abs(found["standing_ms"] - one["felt_ms"]) <= max(0.1 * one["felt_ms"], 5))
    return all(marks) if marks else None


def place_mark(case, said):
    """Where the queue lies against the capture point is right wherever it is named; None: nowhere."""
    named = {
        way: said["directions"][way].get("place")
        for way, one in case["label"]["directions"].items()
        if one["kind"] == "bloated" and said["directions"].get(way, {}).get("kind") == "bloated"
    }
    marks = [place in places(case, way) for way, place in named.items() if place]
    return all(marks) if marks else None


def places(case, way):
    """Queues of the path lie between the capture point in the middle and the client, those of a host before its own capture point."""
    is_at_client = case["vantage"] == "client"
    if situation.make(case["family"], case["seed"]).host_queue == way:
        return ("sending_host", "before_capture") if is_at_client else ("before_capture",)
    return ("before_capture",) if (way == "down") == is_at_client else ("after_capture",)


def limit_mark(label, said):
    """What is said to have held flows back did; a sender that paces itself is an application to those who see packets."""
    true = {"pacing": "application"}.get(label["limit"], label["limit"])
    named = {one.get("reason") for one in said["directions"].values()} & set(LIMITS)
    return named == {true} if named else None


def is_same(said, flow):
    client, server = flow["client"], flow["server"]
    return (
        said["client"] == client[0]
        and said["client_port"] in (None, client[1])
        and said["server"] == server[0]
        and said["server_port"] == server[1]
    )


MARKS = (
    ("right", "word right"),
    ("true_alarm", "of those called bloated, are"),
    ("found", "of those bloated and visible, called so"),
    ("direction", "direction right"),
    ("culprit", "culprit right"),
    ("place", "place right, where named"),
    ("amount", "delay within a tenth"),
    ("limit", "what held flows back right, where named"),
    ("abstention", "abstains only where it may"),
    ("other", "other delay named"),
)


FAILS = ("right", "true_alarm", "found", "direction", "culprit", "place", "amount", "limit")


def share_of(judged, mark):
    marks = [one["marks"][mark] for one in judged if one["marks"][mark] is not None]
    return sum(marks), len(marks)


def wilson(right, of, z=1.96):
    """Lower bound of a share, 95 %."""
    if not of:
        return 0.0
    share = right / of
    middle = share + z * z / (2 * of)
    spread = z * sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return (middle - spread) / (1 + z * z / of)


def percent(right, of):
    return f"{100 * right / of:5.1f} % ({right} of {of})" if of else "    -"


def report(judged, failures):
    lines = [f"{len(judged)} captures, {len({(one['family'], one['seed']) for one in judged})} runs, "
             f"{len({one['family'] for one in judged})} families", ""]
    lines += [f"  {text:42} {percent(*share_of(judged, mark))}" for mark, text in MARKS]
    lines += ["", "confidence said     right          Wilson 95 %", *calibration(judged)]
    lines += ["", "true kind -> said", *confusion(judged)]
    lines += ["", "by vantage point: word right, bloated are, found, direction, culprit"]
    lines += grouped(judged, "vantage")
    lines += ["", "by family"]
    lines += grouped(judged, "family")
    wrong = [one for one in judged if is_failure(one)]
    lines += ["", f"failures: {len(wrong)}"]
    lines += [told(one) for one in wrong[:failures]]
    return "\n".join(lines)


def is_failure(one):
    return any(one["marks"][mark] is False for mark in FAILS)


def grouped(judged, key):
    groups = defaultdict(list)
    for one in judged:
        groups[one[key]].append(one)
    rows = []
    for name, some in sorted(groups.items()):
        cells = [share_of(some, mark) for mark in ("right", "true_alarm", "found", "direction", "culprit")]
        rows.append(f"  {name:32}" + "".join(f"{f'{right}/{of}' if of else '-':>9}" for right, of in cells))
    return rows


BINS = ((0.0, 0.65), (0.65, 0.8), (0.8, 0.9), (0.9, 0.95), (0.95, 0.99), (0.99, 1.01))


def calibration(judged):
    rows = []
    sure = [one for one in judged if one["said"].get("confidence") is not None]
    for low, high in BINS:
        some = [one["marks"]["right"] for one in sure if low <= one["said"]["confidence"] < high]
        if some:
            rows.append(f"  {low:.2f} to {min(high, 1):.2f}    {percent(sum(some), len(some)):24} {wilson(sum(some), len(some)):.3f}")
    return rows or ["  (none said)"]


def confusion(judged):
    table = Counter((one["label"]["kind"], one["said"]["kind"]) for one in judged)
    said = sorted({said for _, said in table})
    rows = [f"  {'':12}" + "".join(f"{name:>13}" for name in said)]
    for true in ("bloated", "slight", "clean", "not_tested"):
        rows.append(f"  {true:12}" + "".join(f"{table[true, name]:13}" for name in said))
    return rows


def told(one):
    label = one["label"]
    ways = "; ".join(
        f"{way} {of['kind']} {of['standing_ms']:.0f} ms ({of['visible']})" for way, of in label["directions"].items()
    )
    text = f"  {one['family']} --seed {one['seed']} {one['vantage']}: true {ways}; right: {'|'.join(label['accept'])}"
    if "said" in one:
        said = one["said"]
        ways = ", ".join(f"{way} {of['kind']}" for way, of in said["directions"].items())
        bad = [mark for mark, value in one["marks"].items() if value is False]
        text += f"; said {said['kind']} ({ways}) wrong: {' '.join(bad)}"
    return text + f"\n      unbloat analyze {one['file']}"
