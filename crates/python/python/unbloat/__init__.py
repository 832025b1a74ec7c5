"""Find, explain and cure bufferbloat: captures, scenarios and runs in Python.

    >>> import unbloat
    >>> run = unbloat.analyze("capture.pcap")
    >>> print(run.verdict)
    >>> run.flows.to_pandas()

Every result is a :class:`Run`: a folder with ``run.json`` and Parquet tables, the same as the command ``unbloat`` writes. Names of columns
end in their unit (``rtt_ms``, ``rate_bps``); spans, rates and sizes of options are text with a unit (``"60 ms"``, ``"30 Mbit/s"``).
"""

from typing import TYPE_CHECKING

from ._analyze import analyze
from ._compare import Comparison, compare
from ._core import (
    CaptureError,
    ClusterError,
    OptionError,
    RunError,
    ScenarioError,
    UnbloatError,
    __version__,
)
from ._program import lab, model, program
from ._run import Run, open
from ._scenario import Judgement, Simulation, simulate, sweep
from ._table import Column, Table

if TYPE_CHECKING:
    from ._verdict import Direction, Filler, OtherDelay, Verdict, WaitingFlow

__all__ = [
    "CaptureError",
    "ClusterError",
    "Column",
    "Comparison",
    "Direction",
    "Filler",
    "Judgement",
    "OptionError",
    "OtherDelay",
    "Run",
    "RunError",
    "ScenarioError",
    "Simulation",
    "Table",
    "UnbloatError",
    "Verdict",
    "WaitingFlow",
    "__version__",
    "analyze",
    "compare",
    "lab",
    "model",
    "open",
    "program",
    "simulate",
    "sweep",
]


def __getattr__(name: str) -> object:
    """Loads the classes of the verdict when they are asked for, so that the import of this package stays quick."""
    if name in ("Direction", "Filler", "OtherDelay", "Verdict", "WaitingFlow"):
        from . import _verdict

        return getattr(_verdict, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
