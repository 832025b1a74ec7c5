"""Lies to `unbloat test`. Each is the server of `wire/liar.py`, or one made of it, with a part replaced; its first words say how."""

from dataclasses import dataclass

from wire.liar import Server

# How a client may end.
ERROR, ANY = ("error",), ("error", "doubt", "complete")
# Without a description there is no test. Without a session, an account or probes a test goes on, and says so.
MAY = {"description": ERROR, "session": ANY, "opened": ANY, "close_session": ANY, "account": ANY, "small": ANY}


@dataclass(frozen=True)
class Lie:
    name: str
    server: type

    def about(self):
        return self.server.__doc__.strip().split("\n\n")[0].replace("\n", " ").rstrip(".")


LIES = []


def lie(server):
    """Of a class."""
    LIES.append(Lie(server.__name__, server))
    return server


def variant(name, about, of=Server, **parts):
    """Of parts that are there already."""
    may = next((MAY[part] for part in parts if part in MAY), of.may)
    return lie(type(name, (of,), {"__doc__": about, "may": may, **parts}))


def part(replaced, of=Server, **others):
    """Of a function that replaces this part."""
    return lambda function: variant(function.__name__, function.__doc__, of, **{replaced: function}, **others)


from lies import http1, others, secure  # noqa: E402, F401
