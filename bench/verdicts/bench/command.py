"""The command line of the benchmark."""

import argparse
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import baseline, cases, lab, score, ship, verdict


def options():
    parser = argparse.ArgumentParser(prog="bench/verdicts/run")
    parser.add_argument("what", nargs="?", default="score", choices=("make", "labels", "score", "baseline", "ship", "list"))
    parser.add_argument("--seeds", default="tune", choices=cases.SEEDS)
    parser.add_argument("--count", type=int, default=4, help="seeds of each family")
    parser.add_argument("--only", default="", help="families whose names contain one of these, with commas")
    parser.add_argument("--vantage", default="", help="only from there")
    parser.add_argument("--program", help="analyze with this program instead of $UNBLOAT or target/debug/unbloat")
    parser.add_argument("--json", type=Path, help="write cases, labels and verdicts there")
    parser.add_argument("--failures", type=int, default=40, help="rows of the list of failures")
    return parser.parse_args()


def main():
    how = options()
    only = [one for one in how.only.split(",") if one]
    if how.what == "list":
        print("\n".join(cases.families(only)))
        return 0
    if how.what == "ship":
        print(f"{ship.ship() / 1e6:.1f} MB in {ship.FOLDER}")
        return 0
    found = cases.all_of(how.seeds, how.count, only)
    found = [case for case in found if how.vantage in ("", case["vantage"])]
    if how.what == "make":
        print(f"{len(found)} captures below {lab.CACHE}")
        return 0
    if how.what == "baseline":
        for line in baselines(found, cases.all_of("held", how.count, only)):
            print(line)
        return 0
    if how.what == "labels":
        for case in found:
            print(score.told(case))
        return 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        said = list(pool.map(lambda case: verdict.of(case["file"], how.program), found))
    judged = [score.judge(case, one) for case, one in zip(found, said)]
    if how.json:
        how.json.write_text(json.dumps(judged, indent=1))
    print(score.report(judged, how.failures))
    return 0


def baselines(tuning, held):
    """Rules fitted on the one, judged on the other."""
    for tool in baseline.TOOLS:
        rule = baseline.fitted(tuning, baseline.figures(tool, tuning))
        judged = [
            score.judge(case, baseline.said(rows, rule)) for case, rows in zip(held, baseline.figures(tool, held))
        ]
        stat, added, in_flight = rule
        also = f", and {in_flight / 1000:.0f} kB were in flight" if in_flight else ""
        yield f"{tool}: bloated if RTT {stat} is {added} ms above its least{also}"
        for mark in ("true_alarm", "found", "direction"):
            text = dict(score.MARKS)[mark]
            yield f"  {text:42} {score.percent(*score.share_of(judged, mark))}"
