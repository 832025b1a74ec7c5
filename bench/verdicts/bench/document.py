"""Write docs/verdicts.md: scores on tuning and held-out seeds, compared with the best rules based on other tools."""

from collections import Counter, defaultdict

from . import score

HEAD = """# Accuracy of verdicts

This page shows how often the verdict of `unbloat analyze` is correct, on captures of emulated paths. `{command}`
generates it; [bench/verdicts/README.md](../bench/verdicts/README.md) describes the method. The label of each capture comes from the emulated path's own log of
every packet, not from its settings and not from the analyzer.

{tune} captures have seeds that were used for tuning. {held} have held-out seeds, which were not: same families, but other rates, round trips, buffers and
random draws.
The timestamps of all hosts are those of clocks drawn by the seed: from 1 Hz to 1 MHz, up to 5 % off, some slewed, set or moved while the capture ran.
"""
QUANTITIES = (
    ("right", "verdict correct"),
    ("true_alarm", "precision: called bloated, and bloated or slight"),
    ("found", "recall: bloated and visible from the vantage point, and recognized"),
    ("direction", "direction correct, if bloated and called bloated"),
    ("culprit", "culprit correct, if bloated and called bloated"),
    ("amount", "standing delay within a tenth, if bloated, called bloated and visible"),
    ("place", "place relative to the capture point correct, if named"),
    ("limit", "limiting factor of the flows correct, if named"),
    ("abstention", "abstentions that are justified: nothing was loaded, or nothing is visible"),
    ("other", "delay that is not a queue: kind named"),
)


def text(command, tune, held, rules, left_out):
    parts = [
        HEAD.format(command=command, tune=len(tune), held=len(held)),
        "## Scores\n", scores(tune, held),
        "## Compared with rules based on other tools\n", beside(held, rules, left_out),
        "## Reported confidence and actual accuracy\n", confidence(held),
        "## Verdicts by true kind (held-out seeds)\n\nRows: true kind. Columns: verdict.\n", confusion(held),
        "## By vantage point (held-out seeds)\n", groups(held, "vantage"),
        "## By family (held-out seeds)\n", groups(held, "family"),
        "## Failures (held-out seeds)\n\nThe last column lists the failed checks: `right` (verdict), `true_alarm` (precision), `found` (recall), "
        "`direction`, `culprit`, `place`, `amount`, `limit`.\n", failures(held),
    ]
    return "\n".join(parts)


def table(head, rows):
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in [head, ["---"] * len(head), *rows]]
    return "\n".join(lines) + "\n"


def scores(tune, held):
    rows = []
    for mark, name in QUANTITIES:
        right, of = score.share_of(held, mark)
        rows.append([name, cell(tune, mark), cell(held, mark), f"{100 * score.wilson(right, of):.1f} %" if of else ""])
    return table(["quantity", "tuning seeds", "held-out seeds", "Wilson 95 % lower bound, held-out"], rows)


def cell(judged, mark):
    right, of = score.share_of(judged, mark)
    return f"{100 * right / of:.1f} % ({right} of {of})" if of else ""


def beside(held, rules, left_out):
    rows = [["unbloat analyze", *(cell(held, mark) for mark in ("true_alarm", "found", "direction"))]]
    rows += [[name, *(cell(judged, mark) for mark in ("true_alarm", "found", "direction"))] for name, judged in rules]
    note = "Other tools give no verdict. Each rule is the best of a grid of thresholds on the tuning seeds, evaluated on the held-out seeds.\n"
    if left_out:
        note += f"Not included this time: {', '.join(sorted(left_out))}.\n"
    return note + "\n" + table(["tool", "precision", "recall", "direction correct"], rows)


def confidence(judged):
    sure = [one for one in judged if one["said"].get("confidence") is not None]
    rows = []
    for low, high in score.BINS:
        marks = [one["marks"]["right"] for one in sure if low <= one["said"]["confidence"] < high]
        if marks:
            right = sum(marks)
            rows.append([
                f"{low:.2f} to {min(high, 1):.2f}", len(marks), right, f"{100 * right / len(marks):.1f} %",
                f"{100 * score.wilson(right, len(marks)):.1f} %",
            ])
    return table(["confidence", "verdicts", "correct", "percent correct", "Wilson 95 % lower bound"], rows)


def confusion(judged):
    counts = Counter((one["label"]["kind"], one["said"]["kind"]) for one in judged)
    said = sorted({kind for _, kind in counts})
    rows = [[true, *(counts[true, kind] or "" for kind in said)] for true in ("bloated", "slight", "clean", "not_tested")]
    return table(["true", *said], rows)


def groups(judged, key):
    by_name = defaultdict(list)
    for one in judged:
        by_name[one[key]].append(one)
    rows = []
    for name, some in sorted(by_name.items()):
        marks = [score.share_of(some, mark) for mark in ("right", "true_alarm", "found", "direction", "culprit")]
        rows.append([name, *(f"{right} of {of}" if of else "" for right, of in marks)])
    return table([key, "verdict correct", "precision", "recall", "direction", "culprit"], rows)


def failures(judged):
    rows = []
    for one in judged:
        wrong = [mark for mark in score.FAILS if one["marks"][mark] is False]
        if wrong:
            ways = one["label"]["directions"]
            true = ", ".join(f"{way} {of['kind']} {of['standing_ms']:.0f} ms" for way, of in ways.items())
            said = ", ".join(f"{way} {of['kind']}" for way, of in one["said"]["directions"].items())
            rows.append([one["family"], one["seed"], one["vantage"], true, f"{one['said']['kind']} ({said})", " ".join(wrong)])
    return table(["family", "seed", "vantage", "true", "verdict", "failed"], rows)
