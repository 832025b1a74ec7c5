"""Applications that scenarios have no word for, over the kernel's sockets: run on the hosts of a lab, by `--exec`.

    apps.py serve  PORT KIND OPTIONS      apps.py use ADDRESS PORT KIND OPTIONS

ask     the client asks every EVERY s (times 0.5 to 1.5), the server thinks for THINK s and answers
push    the server sends so much every EVERY s by itself
stream  the server sends RATE bit/s in pieces, one each 20 ms; PACING bit/s limits its socket; the client reads READ bit/s
send    as stream, from the client to the server
"""

import argparse
import random
import socket
import threading
import time

SO_MAX_PACING_RATE = 47
PIECE_S = 0.02


def options():
    parser = argparse.ArgumentParser()
    for name, kind, default in (
        ("request", int, 100), ("answer", int, 1000), ("every", float, 1.0), ("think", float, 0.0), ("think_most", float, 0.0),
        ("rate", float, 0.0), ("pacing", float, 0.0), ("read", float, 0.0), ("buffer", int, 0), ("from_s", float, 0.5),
        ("until", float, 1e9), ("seed", int, 1), ("cc", str, "cubic"), ("silent_from", float, 1e9), ("silent_for", float, 0.0),
    ):
        parser.add_argument(f"--{name}", type=kind, default=default)
    parser.add_argument("words", nargs="+")
    return parser.parse_args()


def take(connection, count):
    while count > 0:
        data = connection.recv(min(count, 1 << 16))
        if not data:
            raise EOFError
        count -= len(data)


def set_up(connection, how):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, how.cc.encode())
    if how.pacing:
        connection.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, int(how.pacing / 8))


def pour(connection, how, begun):
    piece = b"x" * int(how.rate / 8 * PIECE_S) if how.rate else b"x" * 65536
    due = time.monotonic()
    while True:
        connection.sendall(piece)
        if how.rate:
            due += PIECE_S
            time.sleep(max(0.0, due - time.monotonic()))


def drink(connection, how):
    while True:
        data = connection.recv(1 << 16)
        if not data:
            raise EOFError
        if how.read:
            time.sleep(len(data) * 8 / how.read)


def pause(how, begun, draw):
    time.sleep(how.every * draw.uniform(0.5, 1.5))
    silence = how.silent_from <= time.monotonic() - begun < how.silent_from + how.silent_for
    if silence:
        time.sleep(how.silent_from + how.silent_for - (time.monotonic() - begun))


def serve(connection, kind, how, begun):
    draw = random.Random(how.seed)
    set_up(connection, how)
    if kind == "ask":
        while True:
            take(connection, how.request)
            time.sleep(draw.uniform(how.think, max(how.think, how.think_most)))
            connection.sendall(b"y" * how.answer)
    elif kind == "push":
        while True:
            pause(how, begun, draw)
            connection.sendall(b"y" * how.answer)
    elif kind == "stream":
        pour(connection, how, begun)
    else:
        drink(connection, how)


def use(connection, kind, how, begun):
    draw = random.Random(how.seed + 1)
    set_up(connection, how)
    if kind == "ask":
        while time.monotonic() - begun < how.until:
            connection.sendall(b"x" * how.request)
            take(connection, how.answer)
            pause(how, begun, draw)
    elif kind == "send":
        pour(connection, how, begun)
    else:
        drink(connection, how)


def quietly(work, *arguments):
    try:
        work(*arguments)
    except (EOFError, OSError):
        pass


def main():
    how = options()
    begun = time.monotonic()
    if how.words[0] == "serve":
        _, port, kind = how.words
        with socket.create_server(("", int(port))) as listener:
            if how.buffer:
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, how.buffer)
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=quietly, args=(serve, connection, kind, how, begun), daemon=True).start()
    else:
        _, address, port, kind = how.words
        time.sleep(how.from_s)
        connection = socket.socket()
        if how.buffer:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, how.buffer)
        connection.connect((address, int(port)))
        quietly(use, connection, kind, how, begun)


if __name__ == "__main__":
    main()
