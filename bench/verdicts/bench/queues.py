"""Families in which a queue may stand: full drop-tail buffers in every place, filled by whom you see and by whom you do not."""

from .situation import FIRST_S, SERVER, app, bps, bulk, droptail, family, ms, path_of, presence

MARK_S = 0.1


def deep(draw, *, waits_ms=(80, 150, 250, 400, 800), rates=(1, 10, 20, 100), rtts=(10, 40, 150)):
    """Rate, RTT and a buffer that a loss-based flow fills within the run."""
    rate, rtt = draw.rate(*rates), draw.rtt_s(*rtts)
    return rate, rtt, droptail(rate, draw.one(waits_ms) / 1000)


def length_s(rate):
    return 9.0 if rate > 50e6 else 14.0


def down_path(draw, **among):
    rate, rtt, queue = deep(draw, **among)
    return rate, path_of(draw, rate, rtt, queue=queue)


def up_path(draw, **among):
    rate, rtt, queue = deep(draw, rates=(1, 10, 20), **among)
    return rate, path_of(draw, rate * draw.one((1, 4)), rtt, up_bps=rate, up_queue=queue)


@family
def make_droptail_down(draw):
    rate, path = down_path(draw)
    return draw.situation(path, [bulk()], duration_s=length_s(rate))


@family
def make_megabyte_down(draw):
    rate = draw.rate(10, 20)
    path = path_of(draw, rate, draw.rtt_s(), queue={"kind": "droptail", "limit": "1 MB"})
    return draw.situation(path, [bulk(cc=draw.one(("cubic", "newreno")))], duration_s=16.0)


@family
def make_droptail_up(draw):
    rate, path = up_path(draw)
    return draw.situation(path, [bulk("up")], duration_s=length_s(rate))


@family
def make_droptail_both(draw):
    rate, rtt, queue = deep(draw, rates=(1, 10, 20))
    up = draw.rate(1, 10)
    path = path_of(draw, rate, rtt, queue=queue, up_bps=up, up_queue=droptail(up, draw.one((150, 300, 600)) / 1000))
    return draw.situation(path, [bulk(name="down"), bulk("up", "up", start=FIRST_S + draw.between(0, 3))], duration_s=16.0)


@family
def make_four_flows_down(draw):
    rate, path = down_path(draw, rates=(10, 20, 100))
    flows = [bulk(name=f"bulk{n}", start=FIRST_S + draw.between(0, 2), cc=draw.one(("cubic", "newreno"))) for n in range(4)]
    return draw.situation(path, flows, duration_s=length_s(rate))


@family
def make_thin_uplink(draw):
    """Acknowledgments of downloads fill an uplink of about a hundredth of their rate."""
    up, rtt = draw.rate(0.3, 1), draw.rtt_s(10, 40)
    rate = up * draw.between(50, 150)
    queues = {"queue": droptail(rate, draw.one((20, 50, 100)) / 1000), "up_queue": droptail(up, draw.one((200, 400, 800)) / 1000)}
    flows = [bulk(name=f"bulk{n}", start=FIRST_S + draw.between(0, 3)) for n in range(draw.one((1, 4, 8)))]
    return draw.situation(path_of(draw, rate, rtt, up_bps=up, **queues), flows, duration_s=14.0)


@family
def make_ten_bdp_buffer(draw):
    rate, rtt = draw.rate(10, 20), draw.rtt_s(10, 40)
    path = path_of(draw, rate, rtt, queue={"kind": "droptail", "limit": "10 BDP"})
    return draw.situation(path, [bulk(), bulk(name="second", start=FIRST_S + 1)], duration_s=14.0)


@family
def make_download_beside_web(draw):
    rate, path = down_path(draw, rates=(10, 20), waits_ms=(150, 300, 600))
    web = [{"name": f"web{n}", "app": {"kind": "web", "every": "500 ms"}, "start": ms(0.2 + 0.1 * n)} for n in range(5)]
    return draw.situation(path, [bulk(start=draw.between(2, 4)), *web], duration_s=14.0)


@family
def make_upload_beside_web(draw):
    rate, path = up_path(draw, waits_ms=(150, 300, 600))
    web = [{"name": f"web{n}", "app": {"kind": "web", "every": "500 ms"}, "start": ms(0.2 + 0.1 * n)} for n in range(7)]
    return draw.situation(path, [bulk("up", start=draw.between(2, 4)), *web], duration_s=15.0)


@family
def make_short_bloat(draw):
    """A download of a few seconds in a longer quiet capture."""
    rate, rtt = draw.rate(10, 20), draw.rtt_s(10, 40)
    path = path_of(draw, rate, rtt, queue=droptail(rate, draw.one((200, 400)) / 1000))
    size = int(rate / 8 * draw.between(3.0, 5.0))
    get = {"name": "get", "app": {"kind": "finite", "size": f"{size} B"}, "start": "4 s", "cc": "cubic"}
    web = {"name": "web", "app": {"kind": "web", "every": "1 s"}, "start": "200 ms"}
    return draw.situation(path, [get, web], duration_s=16.0)


def hidden(draw, path, fill, talk, **more):
    """A neighbour fills the queue; captures have only a steady conversation beside it."""
    fill = [{**one, "client": "neighbour", "server": "elsewhere"} for one in fill]
    flows = [presence(MARK_S, client="client", server="server"), *fill]
    return draw.situation(path, flows, duration_s=14.0, beside=talk, hidden=("neighbour", "elsewhere"), **more)


@family
def make_hidden_down(draw):
    rate, path = down_path(draw, rates=(10, 20), waits_ms=(150, 300, 600))
    talk = app("stream", rate=0.05 * rate)
    return hidden(draw, path, [bulk(start=draw.between(2, 4))], talk)


@family
def make_hidden_up_beside_download(draw):
    rate, path = up_path(draw, waits_ms=(150, 300, 600))
    fill = bulk("up", start=draw.between(2, 4), client="neighbour", server="elsewhere")
    return draw.situation(path, [bulk(name="download"), fill], duration_s=14.0, hidden=("neighbour", "elsewhere"))


@family
def make_hidden_up(draw):
    rate, path = up_path(draw, waits_ms=(150, 300, 600))
    talk = app("send", rate=0.05 * rate)
    return hidden(draw, path, [bulk("up", start=draw.between(2, 4))], talk)


@family
def make_hidden_beside_asks(draw):
    """What is captured asks often and is answered at once; the neighbour downloads."""
    rate, path = down_path(draw, rates=(10, 20), waits_ms=(150, 300))
    talk = app("ask", request=120, answer=9000, every=0.12)
    return hidden(draw, path, [bulk(start=draw.between(2, 4)), bulk(name="second", start=3.0)], talk)


@family
def make_hidden_half(draw):
    """Two fill it, one of whom is seen."""
    rate, path = down_path(draw, rates=(10, 20), waits_ms=(150, 300, 600))
    other = bulk(name="other", start=1.0, client="neighbour", server="elsewhere")
    return draw.situation(
        path, [bulk(client="client", server="server"), other], duration_s=14.0, hidden=("neighbour", "elsewhere")
    )


@family
def make_four_users(draw):
    """Four clients of one cell, one of whom saturates it; the queue is everybody's."""
    rate, path = down_path(draw, rates=(10, 20), waits_ms=(150, 400))
    web = [
        {"name": f"web{n}", "app": {"kind": "web", "every": "400 ms"}, "start": ms(0.2 + 0.1 * n), "client": f"user{n}"}
        for n in range(3)
    ]
    return draw.situation(path, [bulk(client="client", start=draw.between(1, 3)), *web], duration_s=14.0)


@family
def make_fair_queues_without_aqm(draw):
    """Each flow has a queue of its own: the download waits for itself, others hardly."""
    rate, rtt = draw.rate(10, 20), draw.rtt_s(10, 40)
    limit = max(int(rate * draw.one((150, 300)) / 8e3 / 1500), 40)
    queue = {"kind": "fq_codel", "target": "2 s", "interval": "10 s", "limit": f"{limit} packets"}
    web = [{"name": f"web{n}", "app": {"kind": "web", "every": "400 ms"}, "start": ms(0.2 + 0.1 * n)} for n in range(3)]
    return draw.situation(
        path_of(draw, rate, rtt, queue=queue), [bulk(), *web], duration_s=14.0, has_own_queues=True, also=("other_delay",)
    )


@family
def make_two_bottlenecks(draw):
    """A wide link, then the access: where queues stand depends on whom they meet."""
    rate, rtt = draw.rate(10, 20), draw.rtt_s(10, 40)
    path = path_of(draw, rate, rtt)
    wide = {"rate": bps(rate * 1.15), "delay": ms(rtt / 4), "queue": droptail(rate, 0.3)}
    access = {"rate": bps(rate), "delay": ms(rtt / 4), "queue": droptail(rate, draw.one((150, 300)) / 1000)}
    cross = {"name": "cross", "app": {"kind": "onoff", "rate": bps(rate * 0.3)}, "start": "1 s", "client": "client"}
    path["down"] = {"hop": [wide, access], "delay_s": None}
    situation = draw.situation(path, [bulk(client="client"), cross], duration_s=14.0)
    situation.one_way_s = rtt / 2
    return situation


@family
def make_host_queue(draw):
    """Uploads wait in their own host's queue: the line below it is faster."""
    rate, rtt = draw.rate(1, 10), draw.rtt_s(10, 40)
    path = path_of(draw, 100e6, rtt, up_bps=100e6)
    limit = max(int(rate * draw.one((200, 400)) / 8000), 30_000)
    shape = f"tc qdisc add dev path root tbf rate {int(rate)}bit burst 3028 limit {limit}"
    watch = f"/usr/bin/python3 {__file__.replace('queues.py', 'host_queue.py')} {int(rate)}"
    flows = [bulk("up", f"up{n}", start=FIRST_S + 0.05 * n) for n in range(draw.one((8, 16)))]
    return draw.situation(path, flows, duration_s=14.0, beside=[f"client: {shape} && {watch}"], host_queue="up")


def without_timestamps(make):
    def made(draw):
        situation = make(draw)
        situation.scenario = "\n".join(
            line + "\ntimestamps = false" if line == "[[flow]]" else line for line in situation.scenario.split("\n")
        )
        situation.has_timestamps = False
        situation.beside = [f"{host}: echo 0 > /proc/sys/net/ipv4/tcp_timestamps" for host in ("server", "client")] + situation.beside
        return situation

    return made


def disguised(make, *names):
    def made(draw):
        situation = make(draw)
        situation.disguise = names
        return situation

    return made


def variants(table):
    for name, make in table.items():
        make.__name__ = f"make_{name}"
        family(make)


variants({
    "droptail_down_no_timestamps": without_timestamps(make_droptail_down),
    "droptail_up_no_timestamps": without_timestamps(make_droptail_up),
    "hidden_down_no_timestamps": without_timestamps(make_hidden_down),
    "droptail_down_cut": disguised(make_megabyte_down, "cut"),
    "droptail_down_clock_step": disguised(make_droptail_down, "clock"),
    "droptail_down_captured_twice": disguised(make_droptail_down, "twice"),
    "droptail_down_capture_drops": disguised(make_droptail_down, "drops"),
    "droptail_down_gre": disguised(make_droptail_down, "gre"),
    "droptail_up_vxlan": disguised(make_droptail_up, "vxlan"),
    "download_beside_web_gtpu": disguised(make_download_beside_web, "gtpu"),
})
