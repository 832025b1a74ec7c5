"""``unbloat compare``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from . import _core
from ._run import Place, Run


class Comparison(Run):
    """Two runs side by side: tables ``quantities``, ``distributions``, ``conditions`` and others. ``str()`` is the text of the command."""

    def __init__(self, path: str | os.PathLike[str], keeps: object, text: str, document: str, holds: bool) -> None:
        super().__init__(path, keeps)
        self._text = text
        self._document = document
        self._holds = holds

    @cached_property
    def document(self) -> dict[str, Any]:
        """The comparison as ``compare --json`` prints it."""
        import json

        document: dict[str, Any] = json.loads(self._document)
        return document

    @property
    def headline(self) -> str:
        """The result in one sentence."""
        return str(self.document["headline"])

    @property
    def keeps_tolerances(self) -> bool:
        """Whether all tolerances hold."""
        return self._holds

    def report(self) -> Path:
        """The HTML page."""
        return self.path / "compare.html"

    def __str__(self) -> str:
        return self._text


def compare(
    a: Run | str | os.PathLike[str],
    b: Run | str | os.PathLike[str],
    *,
    within: str | Sequence[str] = (),
    out: str | os.PathLike[str] | None = None,
) -> Comparison:
    """Compare two runs: show what differs, whether it matters, and whether it exceeds the noise.

    :param a: The reference run, or its folder.
    :param b: The run to compare with it, or its folder.
    :param within: Tolerances of B minus A, like ``"goodput 5 %"`` or ``"queue_delay_p95 20 % or 3 ms"``.
    :param out: Folder for the results, which must not exist. Without it, a temporary folder.
    :raises RunError: A folder has no run, or the runs have nothing that can be compared.
    """
    tolerances = [within] if isinstance(within, str) else list(within)
    folders = [os.fspath(one.path if isinstance(one, Run) else one) for one in (a, b)]
    place = Place(out)
    words = ["unbloat", "compare", *folders]
    for tolerance in tolerances:
        words += ["--within", tolerance]
    words += ["--out", str(place.path)] if place.is_named else []
    text, document, holds = _core.compare(folders[0], folders[1], tolerances, place.path, words)
    # What is compared may be temporary too.
    return Comparison(place.path, (place, a, b), text, document, holds)
