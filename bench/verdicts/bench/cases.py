"""Cases: a situation seen from a vantage point, with its label. Seeds of tuning and of judging never meet."""

import hashlib
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import absent, clocks, disguise, lab, label, queues, situation, stacks, truth, vantage  # noqa: F401: families register themselves

SEEDS = {"tune": range(1, 100), "held": range(3025, 3100), "ship": range(5001, 5100)}


def families(only=()):
    names = sorted(situation.FAMILIES)
    return [name for name in names if not only or any(one in name for one in only)]


def prepared(name, seed):
    """Captures and labels of a situation, by vantage point."""
    made = situation.make(name, seed)
    folder = lab.folder_of(made)
    files = vantage.files_of(made, folder)
    labels = kept_labels(made, folder)
    return [
        {"family": name, "seed": seed, "vantage": place, "file": str(clocks.file_of(files[place], f"{name}/{seed}")), "label": labels[place]}
        for place in vantage.NAMES
    ]


def kept_labels(made, folder):
    """Labels, made anew when the rules have changed."""
    rules = [Path(module.__file__).read_text() for module in (label, truth, disguise, clocks)]
    told = {key: value for key, value in vars(made).items() if key not in ("synthesis", "scenario", "beside")}
    key = hashlib.sha256("\0".join([*rules, repr(told)]).encode()).hexdigest()[:16]
    path = folder / f"labels-{key}.json"
    if not path.exists():
        for old in folder.glob("labels*.json"):
            old.unlink(missing_ok=True)
        path.write_text(json.dumps(label.labels(made, folder, vantage.Translation(made)), indent=1))
    return json.loads(path.read_text())


def all_of(which, count, only=(), say=print):
    seeds = SEEDS[which][:count]
    work = [(name, seed) for name in families(only) for seed in seeds]

    def one(task):
        try:
            return prepared(*task)
        except (RuntimeError, OSError, ValueError, KeyError) as error:
            say(f"not made: {task[0]} {task[1]}: {error}")
            return []

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [case for cases in pool.map(one, work) for case in cases]
