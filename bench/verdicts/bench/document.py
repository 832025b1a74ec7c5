"""docs/verdicts.md: scores on seeds that served tuning and on those that did not, beside the best rules out of other tools' figures."""

from collections import Counter, defaultdict

from . import score

HEAD = """# Verdicts against the truth

Made by `{command}`; what is measured and how is in [bench/verdicts/README.md](../bench/verdicts/README.md). Each capture was
labelled by the emulated path's own log of every packet, not by its settings and not by the analyser. {tune} captures have seeds that
served tuning, {held} have seeds that never did: same families, other rates, round trips, buffers and draws.
"""
QUANTITIES = (
    ("right", "the verdict's word is right"),
    ("true_alarm", "of those called bloated, are"),
    ("found", "of those bloated that show from there, called so"),
    ("direction", "direction right, of those called bloated that are"),
    ("culprit", "culprit right, of those called bloated that are"),
    ("place", "place against the capture point right, where it is named"),
    ("limit", "what held flows back right, where it is named"),
    ("abstention", "of abstentions, where nothing was loaded or nothing shows"),
    ("other", "delay that is no queue: its kind named"),
)


def text(command, tune, held, rules, left_out):
    parts = [
        HEAD.format(command=command, tune=len(tune), held=len(held)),
        "## Scores\n", scores(tune, held),
        "## Beside rules out of other tools' figures\n", beside(held, rules, left_out),
        "## Confidence said against share right\n", confidence(held),
        "## What was said, by what was true (held-out seeds)\n", confusion(held),
        "## By vantage point (held-out seeds)\n", groups(held, "vantage"),
        "## By family (held-out seeds)\n", groups(held, "family"),
        "## Failures (held-out seeds)\n", failures(held),
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
    return table(["quantity", "tuning seeds", "held-out seeds", "Wilson 95 %, held-out"], rows)


def cell(judged, mark):
    right, of = score.share_of(judged, mark)
    return f"{100 * right / of:.1f} % ({right} of {of})" if of else ""


def beside(held, rules, left_out):
    rows = [["unbloat analyze", *(cell(held, mark) for mark in ("true_alarm", "found", "direction"))]]
    rows += [[name, *(cell(judged, mark) for mark in ("true_alarm", "found", "direction"))] for name, judged in rules]
    note = "Other tools have no verdict. Each rule is the best of a grid of thresholds on the tuning seeds, judged on the held-out ones.\n"
    if left_out:
        note += f"Left out this time: {', '.join(sorted(left_out))}.\n"
    return note + "\n" + table(["who", "of those called bloated, are", "of those that show, called so", "direction right"], rows)


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
    return table(["said", "verdicts", "right", "share", "Wilson 95 %"], rows)


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
    return table([key, "word right", "called bloated: are", "bloated: found", "direction", "culprit"], rows)


def failures(judged):
    rows = []
    for one in judged:
        wrong = [mark for mark in score.FAILS if one["marks"][mark] is False]
        if wrong:
            ways = one["label"]["directions"]
            true = ", ".join(f"{way} {of['kind']} {of['standing_ms']:.0f} ms" for way, of in ways.items())
            said = ", ".join(f"{way} {of['kind']}" for way, of in one["said"]["directions"].items())
            rows.append([one["family"], one["seed"], one["vantage"], true, f"{one['said']['kind']} ({said})", " ".join(wrong)])
    return table(["family", "seed", "vantage", "true", "said", "wrong"], rows)
