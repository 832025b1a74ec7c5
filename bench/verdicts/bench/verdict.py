"""What `unbloat analyze` says of a capture, old verdict or new, in one form."""

import json
import subprocess
import tempfile
from pathlib import Path

from . import lab

OLD = {"bloated": "bloated", "clean": "clean", "inconclusive": "cannot_tell"}
OLD_CONFIDENCE = {"low": 0.65, "medium": 0.8, "high": 0.95}
SIDES = {"down": "downstream", "up": "upstream"}


def of(capture, program=None):
    with tempfile.TemporaryDirectory() as work:
        out = Path(work) / "run"
        command = [program or lab.program(), "analyze", str(capture), "--out", str(out)]
        done = subprocess.run(command, capture_output=True, text=True)
        if not (out / "run.json").exists():
            return {"kind": "failed", "sentence": done.stderr.strip()[-200:], "confidence": None, "directions": {}}
        return normal(json.loads((out / "run.json").read_text()).get("verdict") or {})


def normal(raw):
    directions = raw.get("directions")
    if directions is None:
        return old(raw)
    return {
        "kind": raw.get("kind", "cannot_tell"), "sentence": raw.get("sentence", ""),
        "confidence": raw.get("confidence"), "word": raw.get("confidence_word"),
        "directions": {way: direction(directions.get(way) or {}) for way in ("down", "up")},
    }


def direction(raw):
    return {
        "kind": raw.get("kind") or "cannot_tell", "reason": raw.get("reason"),
        "standing_ms": raw.get("standing_p50_ms"), "place": raw.get("place"), "limit": raw.get("limit"),
        "fillers": [flow(one) for one in raw.get("fillers") or []],
        "unseen": bool(raw.get("filled_by_unseen")),
        "other": [one.get("kind") for one in raw.get("other_delays") or []],
    }


def flow(raw):
    return {key: raw.get(key) for key in ("client", "client_port", "server", "server_port", "share")}


def old(raw):
    kind = OLD.get(raw.get("kind"), "cannot_tell")
    culprits = raw.get("culprits") or []

    def of_side(side):
        is_bloated = kind == "bloated" and side in (raw.get("sides") or [])
        fillers = [old_flow(one) for one in culprits if one.get("side") == side]
        return {
            "kind": "bloated" if is_bloated else "clean" if kind != "cannot_tell" else kind, "reason": None, "standing_ms": None,
            "place": None, "limit": None, "other": [], "fillers": fillers if is_bloated else [], "unseen": is_bloated and not fillers,
        }

    return {
        "kind": kind, "sentence": "", "word": raw.get("confidence"),
        "confidence": OLD_CONFIDENCE.get(raw.get("confidence")) if kind != "cannot_tell" else None,
        "directions": {way: of_side(side) for way, side in SIDES.items()},
    }


def old_flow(raw):
    server, _, port = raw.get("server", "").rpartition(":")
    return {"client": raw.get("client"), "client_port": None, "server": server, "server_port": int(port or 0), "share": raw.get("share")}
