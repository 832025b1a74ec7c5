"""Families in which no queue stands, or hardly: short queues, queue managers, flows held back, applications that wait, radios that sleep, routes that change."""

from .queues import MARK_S, disguised, variants, without_timestamps
from .situation import FIRST_S, app, bps, bulk, droptail, family, ms, path_of, presence

LONG_S = 18.0


def quiet(draw, rate=None, rtt_s=None):
    """A path that nothing fills."""
    return path_of(draw, rate or draw.rate(10, 20, 100), rtt_s or draw.rtt_s(), up_bps=10e6)


def talk(draw, path, commands, *, duration_s=LONG_S, flows=(), **more):
    return draw.situation(path, [presence(MARK_S), *flows], duration_s=duration_s, beside=commands, **more)


# Short queues under load.


@family
def make_shallow_buffer(draw):
    rate, rtt = draw.rate(10, 20, 100), draw.rtt_s(10, 40, 150)
    queue = droptail(rate, min(rtt * draw.one((0.1, 0.25, 0.5)), 0.03), least=12_000)
    flows = [bulk(name=f"bulk{n}", start=FIRST_S + n) for n in range(draw.one((1, 2, 4)))]
    return draw.situation(path_of(draw, rate, rtt, queue=queue), flows, duration_s=12.0)


def managed(queue):
    def made(draw):
        rate, rtt = draw.rate(10, 20, 100), draw.rtt_s(10, 40, 100)
        kind = {"kind": "cake", "rate": bps(rate)} if queue == "cake" else queue
        path = path_of(draw, rate, rtt, queue=kind)
        if queue == "cake":
            del path["down"]["rate"]
        flows = [bulk(name=f"bulk{n}", start=FIRST_S + n) for n in range(draw.one((1, 2, 4)))]
        flows.append({"name": "web", "app": {"kind": "web", "every": "500 ms"}, "start": "300 ms"})
        return draw.situation(path, flows, duration_s=9.0 if rate > 50e6 else 13.0)

    return made


def managed_up(queue):
    def made(draw):
        rate, rtt = draw.rate(10, 20), draw.rtt_s(10, 40)
        path = path_of(draw, rate * 2, rtt, up_bps=rate, up_queue=queue)
        return draw.situation(path, [bulk("up"), bulk("up", "second", start=2.0)], duration_s=13.0)

    return made


@family
def make_clean_hundred(draw):
    """100 Mbit/s, saturated, behind CAKE."""
    path = path_of(draw, 100e6, draw.rtt_s(10, 40), queue={"kind": "cake", "rate": "100 Mbit/s"})
    del path["down"]["rate"]
    return draw.situation(path, [bulk(), bulk(name="second")], duration_s=9.0)


def bbr(depth_bdp, flows):
    def made(draw):
        rate, rtt = draw.rate(10, 20), draw.rtt_s(40, 80)
        queue = {"kind": "droptail", "limit": f"{draw.one(depth_bdp)} BDP"}
        many = [bulk(name=f"bbr{n}", start=FIRST_S + 0.3 * n, cc="bbr") for n in range(flows)]
        return draw.situation(path_of(draw, rate, rtt, queue=queue), many, duration_s=16.0)

    return made


@family
def make_policer(draw):
    """Loss without delay: what exceeds the rate is dropped."""
    rate, rtt = draw.rate(10, 20), draw.rtt_s(10, 40)
    path = path_of(draw, rate, rtt, queue={"kind": "droptail", "limit": "3000 B"})
    path["down"]["burst"] = f"{int(draw.between(20_000, 60_000))} B"
    return draw.situation(path, [bulk(), bulk(name="second", start=2.0)], duration_s=13.0, also=("clean", "not_tested"))


@family
def make_loss_one_percent(draw):
    rate, rtt = draw.rate(20, 100), draw.rtt_s(40, 80)
    path = path_of(draw, rate, rtt, queue=droptail(rate, 0.3))
    path["down"]["loss"] = 0.01
    return draw.situation(path, [bulk()], duration_s=12.0, also=("clean", "not_tested"))


# Flows held back by something else than a queue.


@family
def make_receive_window(draw):
    rate, rtt = draw.rate(20, 100), draw.rtt_s(40, 80)
    window = int(rate / 8 * rtt * draw.between(0.3, 0.8))
    path = path_of(draw, rate, rtt, queue=droptail(rate, 0.3))
    flow = bulk(receive_window={"kind": "static", "window": f"{window} B"})
    return draw.situation(path, [flow], duration_s=12.0, limit="receive_window")


@family
def make_slow_reader(draw):
    path = quiet(draw)
    rate = draw.between(0.5e6, 3e6)
    return talk(draw, path, app("stream", read=rate), limit="receive_window")


@family
def make_paced_application(draw):
    path = quiet(draw)
    return talk(draw, path, app("stream", rate=10e6 * draw.between(0.1, 0.6)), limit="application")


@family
def make_paced_sender(draw):
    rate = draw.rate(10, 20)
    path = path_of(draw, rate, draw.rtt_s(10, 40), queue=droptail(rate, 0.4))
    return talk(draw, path, app("stream", pacing=rate * draw.between(0.6, 0.85)), limit="pacing", also=("clean",))


@family
def make_video(draw):
    """Segments of a few seconds: good queue of a second, then nothing."""
    rate = draw.rate(20, 100)
    path = path_of(draw, rate, draw.rtt_s(10, 40), queue=droptail(rate, 0.1))
    flow = {"name": "video", "app": {"kind": "video", "segment": "2 s", "buffer": "8 s"}, "start": ms(FIRST_S)}
    return draw.situation(path, [flow], duration_s=20.0, limit="application", also=("clean",))


@family
def make_slow_start_bursts(draw):
    rate = draw.rate(10, 20)
    path = path_of(draw, rate, draw.rtt_s(40, 80), queue=droptail(rate, 0.5))
    flow = {"name": "ranges", "app": {"kind": "ranges", "size": f"{draw.one((60, 120, 200))} kB", "every": "1500 ms"}, "start": ms(FIRST_S)}
    return draw.situation(path, [flow], duration_s=LONG_S, limit="application")


@family
def make_mice(draw):
    path = quiet(draw, rate=draw.rate(20, 100))
    flows = [{"name": f"web{n}", "app": {"kind": "web", "every": "300 ms"}, "start": ms(0.1 + 0.05 * n)} for n in range(draw.one((6, 12)))]
    return draw.situation(path, flows, duration_s=12.0, limit="application")


@family
def make_pages(draw):
    path = quiet(draw, rate=draw.rate(20, 100))
    flow = {"name": "page", "app": {"kind": "page", "pause": "2 s"}, "start": ms(FIRST_S)}
    return draw.situation(path, [flow], duration_s=LONG_S, limit="application", also=("clean",))


# Applications and hosts that wait.


@family
def make_keystrokes(draw):
    return talk(draw, quiet(draw), app("ask", request=36, answer=36, think=0.001, think_most=0.004, every=draw.between(0.12, 0.4)))


@family
def make_think_time(draw):
    think = draw.one((0.3, 1.0))
    commands = app("ask", request=300, answer=draw.one((800, 6000, 20_000)), think=think * 0.9, think_most=think * 1.1, every=0.3)
    return talk(draw, quiet(draw), commands, other=("think_time",), other_at=("answers",))


@family
def make_think_time_varies(draw):
    commands = app("ask", request=400, answer=2500, think=0.005, think_most=draw.between(0.4, 1.2), every=0.2)
    return talk(draw, quiet(draw), commands, other=("think_time",), other_at=("answers",))


@family
def make_dns_over_https(draw):
    return talk(draw, quiet(draw), app("ask", request=120, answer=457, think=0.01, think_most=0.25, every=0.5), other=("think_time",), other_at=("answers",))


@family
def make_remote_desktop(draw):
    pushes = app("push", answer=62, every=draw.between(0.04, 0.15), seed=draw.seed)
    asks = app("ask", port=7001, request=30, answer=62, think=0.02, think_most=0.3, every=0.4)
    return talk(draw, quiet(draw), pushes + asks, other=("think_time", "delayed_ack"), other_at=("answers", "client"))


@family
def make_industrial_polls(draw):
    return talk(draw, quiet(draw), app("ask", request=12, answer=12, think=0.02, think_most=0.2, every=0.5), other=("think_time", "delayed_ack"), other_at=("answers", "server"))


@family
def make_host_delay(draw):
    """The server's host takes its time now and then, whatever is sent."""
    path = quiet(draw)
    slow = "server: tc qdisc add dev path root netem delay 50ms 45ms"
    return talk(draw, path, [slow, *app("ask", request=200, answer=1200, every=0.15)], other=("host", "jitter", "think_time"), other_at=("down",))


# Radios, routes, capture points.


@family
def make_promotion(draw):
    delay = draw.one((0.26, 3.0))
    path = quiet(draw)
    path["rrc"] = {"promotion_min": ms(delay), "promotion_max": ms(delay), "tail": ms(draw.between(1.0, 1.8)), "drx": False}
    return talk(draw, path, app("ask", request=300, answer=9000, every=3.5), duration_s=30.0, other=("wake_up",), other_at=("up",))


@family
def make_dozing(draw):
    path = quiet(draw, rate=20e6)
    path["rrc"] = {"drx": {"inactivity": "50 ms", "long": draw.one(("80 ms", "160 ms", "320 ms"))}}
    return talk(draw, path, app("push", answer=600, every=0.4), duration_s=25.0, other=("wake_up", "power_save", "drx"), other_at=("down",))


def beacons(draw, until_s, period_s):
    """A client that listens once in a period: what comes between waits."""
    first = draw.between(0.15, 0.2)
    count = int((until_s - first) / period_s)
    return [{"after": ms(first + n * period_s), "lasts": ms(period_s - 0.004)} for n in range(count)]


@family
def make_power_save(draw):
    path = quiet(draw, rate=20e6)
    path["down"]["outages"] = beacons(draw, 25.0, 0.1024 * draw.one((1, 2, 3)))
    return talk(draw, path, app("push", answer=400, every=draw.between(0.3, 0.8)), duration_s=25.0, other=("power_save", "hold"), other_at=("down",))


@family
def make_route_change(draw):
    path = quiet(draw)
    at, longer = draw.between(8, 11), draw.between(0.06, 0.15)
    way = draw.one(("down", "up"))
    path[way]["detours"] = [{"after": ms(at), "longer": ms(longer)}]
    return talk(draw, path, app("ask", request=200, answer=3000, every=0.15), duration_s=24.0, other=("route_change",), other_at=(way,))


@family
def make_route_change_and_download(draw):
    """The path becomes longer in the moment in which a download begins, which fills nothing."""
    rate = draw.rate(20, 100)
    path = path_of(draw, rate, draw.rtt_s(10, 40), queue=droptail(rate, 0.02))
    path["down"]["detours"] = [{"after": "6000 ms", "longer": ms(draw.between(0.06, 0.12))}]
    commands = app("ask", request=200, answer=1200, every=0.2)
    return talk(draw, path, commands, duration_s=16.0, flows=[bulk(start=6.0)], other=("route_change",), other_at=("down",), also=("cannot_tell", "not_tested"))


@family
def make_satellite_steps(draw):
    """The path is assigned anew every 15 s."""
    path = quiet(draw)
    begin = draw.between(2, 5)
    steps = [{"after": ms(begin + 15 * n), "longer": ms(draw.between(0.0, 0.045) + (0.04 if n % 2 else 0.0))} for n in range(4)]
    path["down"]["detours"] = steps
    return talk(draw, path, app("ask", request=200, answer=3000, every=0.15), duration_s=58.0, other=("route_change", "satellite"), other_at=("down",))


@family
def make_jitter(draw):
    path = quiet(draw, rate=draw.rate(20, 100))
    path["down"] |= {"jitter": ms(draw.between(0.02, 0.08)), "reorders": draw.one((True, False)), "queue": droptail(20e6, 0.2)}
    return talk(draw, path, app("ask", request=200, answer=3000, every=0.1), other=("jitter", "reordering"), other_at=("down",))


@family
def make_wifi_download(draw):
    """Frames are held for aggregation and contention, some for long; the download is as fast as it is allowed."""
    rate = draw.rate(20, 100)
    path = path_of(draw, rate, draw.rtt_s(10, 40), queue=droptail(rate, 0.02, least=30_000))
    path["down"]["outages"] = {"every": "30 ms", "shortest": "1 ms", "longest": ms(draw.between(0.01, 0.03))}
    path["up"]["jitter"] = ms(draw.between(0.004, 0.015))
    return draw.situation(path, [bulk()], duration_s=12.0, other=("jitter", "hold"), other_at=("down", "up"))


@family
def make_outage_release(draw):
    path = quiet(draw, rate=20e6)
    path["down"]["outages"] = [{"after": ms(draw.between(5, 9)), "lasts": "1500 ms"}]
    return talk(draw, path, app("stream", rate=draw.between(0.5e6, 2e6)), other=("hold",), other_at=("down",), limit="application")


@family
def make_lte_scheduling(draw):
    """A radio's grants, block errors and repeats, under light load."""
    path = quiet(draw, rate=draw.rate(20), rtt_s=draw.rtt_s(40))
    path["down"]["radio"], path["up"]["radio"] = "lte", "lte"
    return talk(draw, path, app("ask", request=200, answer=3000, every=0.12), other=("jitter", "wake_up", "drx"), other_at=("down", "up"), also=("not_tested",))


@family
def make_lte_download(draw):
    """A recorded cell and its deep buffer: what stands is for the log to say."""
    name = draw.one(("Verizon-LTE-short", "TMobile-LTE-short", "ATT-LTE-driving-2016"))
    path = path_of(draw, 20e6, draw.rtt_s(40))
    for way in ("down", "up"):
        path[way].pop("rate")
        path[way] |= {"trace": f"TRACES/mahimahi/{name}.{way}.gz", "queue": {"kind": "droptail", "limit": "400 kB"}}
    return draw.situation(path, [bulk()], duration_s=16.0)


@family
def make_lte_radio_download(draw):
    rate = draw.rate(10, 20)
    path = path_of(draw, rate, draw.rtt_s(40), queue=droptail(rate, draw.one((0.1, 0.3))))
    path["down"]["radio"], path["up"]["radio"] = "lte", "lte"
    return draw.situation(path, [bulk()], duration_s=14.0)


@family
def make_idle(draw):
    return talk(draw, quiet(draw), app("ask", request=200, answer=2000, every=1.0))


variants({
    "codel": managed("codel"),
    "fq_codel": managed("fq_codel"),
    "cake": managed("cake"),
    "pie": managed("pie"),
    "codel_up": managed_up("codel"),
    "bbr_shallow": bbr((0.5, 1), 1),
    "bbr_deep": bbr((5, 10), 1),
    "bbr_several_deep": bbr((5, 10), 4),
    "fq_codel_no_timestamps": without_timestamps(managed("fq_codel")),
    "think_time_no_timestamps": without_timestamps(make_think_time),
    "fq_codel_clock_step": disguised(managed("fq_codel"), "clock"),
    "keystrokes_clock_step": disguised(make_keystrokes, "clock"),
    "cake_captured_twice": disguised(managed("cake"), "twice"),
})
