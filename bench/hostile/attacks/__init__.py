"""Attacks on `unbloat serve`, one to a file: its first line says what, `attack(target)` does it."""

import importlib
from dataclasses import dataclass

MOST_MIB = 64
# Where a server that is asked for them has its metrics.
METRICS = 9464


@dataclass(frozen=True)
class Attack:
    name: str
    # Longer than asked, where the server's patience is.
    seconds: float = 0
    # What memory may grow by. An ordinary test takes 15.
    mib: int = MOST_MIB
    # Every connection is to be closed by the server in that time.
    closes: bool = False
    # It says when it is in place; the ordinary test begins then.
    waits: bool = False
    # It sends nothing at all.
    is_silent: bool = False
    # Of the server.
    options: tuple = ()
    # The ordinary test has a share of a rate alone.
    shares: bool = False

    def module(self):
        return importlib.import_module(f"attacks.{self.name}")

    def about(self):
        return self.module().__doc__.strip().split("\n\n")[0].replace("\n", " ").rstrip(".")


# 10 s for TLS and a header, 30 s for what says nothing more, are promises of `serve --help`.
ATTACKS = [
    # HTTP/1.1 and TLS
    Attack("h1_slow_header", seconds=13, closes=True),
    Attack("h1_giant_header", closes=True),
    Attack("h1_chunks"),
    Attack("h1_bytes_of_chunks"),
    # 1 MiB a judgement, and as much again where its buffer grew.
    Attack("h1_unfinished", mib=96),
    Attack("verdicts"),
    Attack("h1_pipeline"),
    Attack("h1_unread"),
    Attack("tls_half", seconds=14, closes=True),
    Attack("tls_hellos"),
    Attack("garbage", closes=True),
    # HTTP/2
    Attack("h2_settings"),
    Attack("h2_ping"),
    Attack("h2_rapid_reset", closes=True),
    Attack("h2_made_to_reset", closes=True),
    Attack("h2_continuation", closes=True),
    Attack("h2_empty_continuation", closes=True),
    Attack("h2_empty_data"),
    Attack("h2_padding"),
    Attack("h2_empty_headers"),
    Attack("h2_priority"),
    Attack("h2_hpack_bomb"),
    Attack("h2_zero_window"),
    Attack("h2_tiny_windows"),
    # 1 MiB a connection: what the server writes ahead of 100 downloads.
    Attack("h2_unread", mib=128),
    Attack("h2_giant_frame", closes=True),
    Attack("h2_table_sizes"),
    # HTTP/3 and QUIC
    Attack("h3_headers", mib=32),
    Attack("h3_unknown_frames", mib=32),
    Attack("h3_settings", mib=32, closes=True),
    Attack("h3_grease"),
    Attack("h3_empty_data"),
    Attack("h3_qpack"),
    Attack("h3_qpack_bomb"),
    Attack("h3_unread"),
    Attack("h3_one_way", closes=True),
    Attack("h3_cancel"),
    Attack("h3_silent", seconds=40, closes=True, is_silent=True),
    Attack("quic_hellos"),
    # WebSockets
    Attack("ws_ping"),
    Attack("ws_fragments"),
    Attack("ws_giant", closes=True),
    Attack("ws_unmasked", closes=True),
    Attack("ws_deflate", closes=True),
    Attack("ws_unread"),
    # Places and memory
    Attack("silent_four", is_silent=True, waits=True, mib=256),
    Attack("silent_network", is_silent=True, waits=True, mib=256),
    Attack("silent_customer", is_silent=True, waits=True, mib=256),
    Attack("silent_many", is_silent=True, waits=True, mib=256),
    Attack("silent_botnet", is_silent=True, waits=True, mib=256),
    Attack("everything", seconds=20, waits=True, mib=480, options=("--metrics", f"127.0.0.1:{METRICS}")),
    Attack("sessions_all", waits=True),
    Attack("account_unread", seconds=45, closes=True),
    Attack("uploads_paused", options=("--max-rate", "20 Mbit/s"), shares=True, waits=True),
    Attack("ndt7_places", waits=True),
    # The rest of the review
    Attack("congestion_controls"),
    Attack("cross_site"),
    # irtt
    Attack("irtt_opens"),
    Attack("irtt_sessions", waits=True),
    Attack("irtt_replay"),
    Attack("irtt_parameters"),
    Attack("irtt_flood"),
]
