"""Families out of computed packets: stacks with delayed ACKs of 200 ms, and QUIC."""

from .queues import variants
from .situation import Situation, family
from .synth import Repeated, World, answers, connection
from .synth_quic import Download

LENGTH_S = 25.0
# Nothing waits there.
NO_BOTTLENECK = {"down": 1e9, "up": 1e9}


def computed(draw, make, one_way_s, rates=None, **more):
    """`make` fills a world; what it does depends on the draws of the family alone."""

    def synthesis(folder):
        world = make()
        world.run(LENGTH_S)
        world.write(folder)

    return Situation(
        draw.family, draw.seed, synthesis=synthesis, tap_share=draw.between(0.2, 0.8), one_way_s=one_way_s,
        rates=NO_BOTTLENECK | (rates or {}), **more,
    )


def name_of(draw):
    return f"{draw.family}/{draw.seed}"


@family
def make_keystrokes_delayed_200(draw):
    """A client that delays ACKs by 200 ms; the server echoes each key at once."""
    one_way, every = draw.rtt_s() / 2, draw.between(0.25, 0.5)

    def world():
        world = World(one_way, name_of(draw))
        client, server = connection(world, client_delays_s=0.2, port=22)
        answers(world, server, 36, (0.0005, 0.004))
        Repeated(world, client, 36, (every * 0.3, every * 2))
        return world

    return computed(draw, world, one_way, other=("delayed_ack",), other_at=("client",))


@family
def make_uploads_delayed_200(draw):
    """Single segments up, acknowledged after 200 ms."""
    one_way, size = draw.rtt_s() / 2, draw.one((60, 400, 1100))

    def world():
        world = World(one_way, name_of(draw))
        client, _ = connection(world, server_delays_s=0.2)
        Repeated(world, client, size, (0.05, 0.6))
        return world

    return computed(draw, world, one_way, other=("delayed_ack",), other_at=("server",))


@family
def make_polls_delayed_100(draw):
    """Polls of 12 B, answers that are late, ACKs that are late."""
    one_way, think = draw.rtt_s() / 2, draw.between(0.1, 0.3)

    def world():
        world = World(one_way, name_of(draw))
        client, server = connection(world, client_delays_s=0.1, server_delays_s=0.1, port=502)
        answers(world, server, 12, (think * 0.2, think))
        Repeated(world, client, 12, (0.4, 1.0))
        return world

    return computed(draw, world, one_way, other=("delayed_ack", "think_time"), other_at=("client", "server", "answers"))


def without(make):
    """The same without timestamps."""

    def made(draw):
        one_way = draw.rtt_s() / 2

        def world():
            world = World(one_way, name_of(draw))
            make(world)
            return world

        return computed(draw, world, one_way, other=("delayed_ack",), other_at=("client",), has_timestamps=False)

    return made


def keys(world):
    client, server = connection(world, client_delays_s=0.2, port=22, has_timestamps=False)
    answers(world, server, 36, (0.0005, 0.004))
    Repeated(world, client, 36, (0.1, 0.7))


def quic(spins, waits_s):
    def made(draw):
        one_way, rate, wait = draw.rtt_s(10, 40) / 2, draw.rate(10, 20), draw.one(waits_s)

        def world():
            world = World(one_way, name_of(draw), rate, rate * wait / 8)
            Download(world, spins, 1.0)
            return world

        return computed(draw, world, one_way, rates={"down": rate}, has_timestamps=False, quic="spin" if spins else "plain")

    return made


variants({
    "keystrokes_delayed_200_no_timestamps": without(keys),
    "quic_spin": quic(True, (0.2, 0.4)),
    "quic_spin_short_queue": quic(True, (0.02,)),
    "quic_plain": quic(False, (0.2, 0.4)),
})
