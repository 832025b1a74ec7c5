"""What `unbloat analyze` says of a capture."""

import json
import subprocess
import tempfile
from pathlib import Path

from . import lab


def of(capture, program=None):
    with tempfile.TemporaryDirectory() as work:
        out = Path(work) / "run"
        command = [program or lab.program(), "analyze", str(capture), "--out", str(out)]
        done = subprocess.run(command, capture_output=True, text=True)
        if not (out / "run.json").exists():
            return {"kind": "failed", "sentence": done.stderr.strip()[-200:], "confidence": None, "directions": {}}
        return normal(json.loads((out / "run.json").read_text()).get("verdict") or {})


def normal(raw):
    directions = raw.get("directions") or {}
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

