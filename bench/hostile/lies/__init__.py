"""Lies to `unbloat test`, one to a file: its first line says what, `class Lie` tells it."""

import importlib
from dataclasses import dataclass


@dataclass(frozen=True)
class Lie:
    name: str

    def module(self):
        return importlib.import_module(f"lies.{self.name}")

    def server(self):
        return self.module().Lie

    def about(self):
        return self.module().__doc__.strip().split("\n\n")[0].replace("\n", " ").rstrip(".")


LIES = [Lie(name) for name in """
    honest
    endpoint_plain endpoint_insecure endpoint_ca endpoint_pin endpoint_loopback endpoint_echo urls_elsewhere
    redirect_description redirect_load redirect_session
    account_small account_endless account_one_line account_kernel account_numbers account_silent account_cut
    escapes_body escapes_reason escapes_session escapes_description escapes_account escapes_certificate escapes_quic escapes_ndt7
    certificate_expired certificate_other_name certificate_long certificate_giant tls_plain tls_garbage tls_endless
    header_giant header_many header_drip body_drip body_endless body_compressed body_giant_length hundreds
    json_deep json_numbers json_endless session_numbers session_nan session_path
    load_stalls load_closes load_resets small_endless upload_unread upload_answered freeze
    stall_accept stall_tls stall_description stall_session stall_account stall_small stall_close
    echo_elsewhere echo_times echo_flood echo_token echo_agreed echo_silent echo_giant
    h2_no_streams h2_ping h2_settings h2_goaway h2_header_endless h2_hpack_bomb h2_push h2_giant_frame h2_hundreds
    h3_header_giant h3_settings_giant h3_silent
    ndt7_giant ndt7_notes ndt7_ping ndt7_deep ndt7_compressed ndt7_accept
""".split()]
