"""The command line of the benchmark."""

import argparse
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import baseline, cases, document, lab, score, ship, verdict

DOCUMENT = lab.ROOT / "docs" / "verdicts.md"


def options():
    parser = argparse.ArgumentParser(prog="bench/verdicts/run")
    parser.add_argument("what", nargs="?", default="score", choices=("make", "labels", "score", "document", "ship", "list"))
    parser.add_argument("--seeds", default="tune", choices=cases.SEEDS)
    parser.add_argument("--count", type=int, default=4, help="Seeds of each family")
    parser.add_argument("--only", default="", help="Only families whose names contain one of these, separated by commas")
    parser.add_argument("--vantage", default="", help="Only this vantage point")
    parser.add_argument("--program", help="Analyze with this program instead of $UNBLOAT or target/debug/unbloat")
    parser.add_argument("--json", type=Path, help="Write cases, labels and verdicts to this file")
    parser.add_argument("--rule-seeds", type=int, default=1, help="Seeds of each family for the rules based on other tools")
    parser.add_argument("--tools", default=",".join(baseline.TOOLS), help="Tools to fit rules for, separated by commas")
    parser.add_argument("--judged", type=Path, nargs=2, help="document: files written by --json for tuning and held-out seeds, instead of analyzing again")
    parser.add_argument("--before", type=Path, help="Scores of an earlier program: its --json on held-out seeds")
    parser.add_argument("--failures", type=int, default=40, help="Rows of the list of failures")
    return parser.parse_args()


def main():
    how = options()
    only = [one for one in how.only.split(",") if one]
    if how.what == "list":
        print("\n".join(cases.families(only)))
    elif how.what == "ship":
        print(f"{ship.ship() / 1e6:.1f} MB in {ship.FOLDER}")
    elif how.what == "document":
        write_document(how, only)
    else:
        of_one_kind_of_seeds(how, only)
    return 0


def of_one_kind_of_seeds(how, only):
    found = cases.all_of(how.seeds, how.count, only)
    found = [case for case in found if how.vantage in ("", case["vantage"])]
    if how.what == "make":
        print(f"{len(found)} captures below {lab.CACHE}")
    elif how.what == "labels":
        print("\n".join(score.told(case) for case in found))
    else:
        judged = judge_all(found, how.program)
        if how.json:
            how.json.write_text(json.dumps(judged, indent=1))
        print(score.report(judged, how.failures))


def judge_all(found, program):
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        said = pool.map(lambda case: verdict.of(case["file"], program), found)
        return [score.judge(case, one) for case, one in zip(found, said)]


def write_document(how, only):
    if how.judged:
        tune, held = ([score.judge(case, case["said"]) for case in json.loads(path.read_text())] for path in how.judged)
    else:
        tune, held = (judge_all(cases.all_of(which, how.count, only), how.program) for which in ("tune", "held"))
    # A rule of two thresholds needs no more than a seed of each family, and other tools are slow.
    few = [[one for one in some if one["seed"] < cases.SEEDS[which][how.rule_seeds]] for which, some in (("tune", tune), ("held", held))]
    rules = [rule_of(tool, *few) for tool in how.tools.split(",")]
    if how.before:
        rules.insert(0, ("previous verdict: p95 minus minimum RTT above 100 ms", json.loads(how.before.read_text())))
    DOCUMENT.write_text(document.text(f"bench/verdicts/run document --count {how.count}", tune, held, rules, set(baseline.TOOLS) - set(how.tools.split(","))))
    print(f"wrote {DOCUMENT}")


def rule_of(tool, tune, held):
    """The rule fitted on the one, in words, and its judgements on the other."""
    rule = baseline.fitted(tune, baseline.figures(tool, tune))
    stat, added, in_flight = rule
    also = f", {in_flight / 1000:.0f} kB in flight" if in_flight else ""
    judged = [score.judge(case, baseline.said(rows, rule)) for case, rows in zip(held, baseline.figures(tool, held))]
    return f"{tool}: RTT {stat} {added} ms above its minimum{also}", judged
