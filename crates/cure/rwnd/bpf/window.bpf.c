// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Holds the receive windows of a cgroup's TCP connections by a law. Called for every segment that a connection sends, before the
// kernel chooses the window for it: TCP_WINDOW_CLAMP bounds that choice. It is the kernel that never takes back what it offered,
// so that a smaller window takes effect only as data arrives. Its own tuning raises the clamp again with the buffer, which is
// why the clamp is looked at each time.
#include "drwa.h"
#include "rledbat.h"
#include "socket.h"

char LICENSE[] SECTION("license") = "Dual MIT/GPL";

#define PORTS 8

const volatile struct params params = {};
// Ports of the flows that are chosen, and how many; none: all. Whose ports they are: 1 ours, 2 the other end's, 3 anybody's.
const volatile u32 ports[PORTS] = {};
const volatile u32 port_count = 0;
const volatile u32 whose = 3;
// The device by which they receive; zero: any.
const volatile u32 ifindex = 0;

struct flow {
	u8 local[16];
	u8 remote[16];
	u16 local_port;
	u16 remote_port;
	// Of IP: 4 or 6.
	u32 version;
	u32 ifindex;
	// What the window is held at; zero: not at all.
	u32 window;
	u64 started_us;
	u64 seen_us;
	u64 received;
	// The last sample of the round-trip time.
	u32 rtt_us;
	u32 last_echo;
	u32 out_of_order;
	u32 has_timestamps;
	u64 round_end;
	u64 round_start_us;
	struct drwa drwa;
	struct rledbat rledbat;
};

#define FLOWS 8192
MAP(flows, LRU_HASH, FLOWS, u64, struct flow);

// Whether the window of a socket is held by this program: others may be called for it, too, because another program asked for it.
struct {
	int (*type)[SK_STORAGE];
	int (*map_flags)[NO_PREALLOC];
	int *key;
	u32 *value;
} ours SECTION(".maps");

// Not zero: windows are let go.
MAP(release, ARRAY, 1, u32, u32);

static const struct flow new_flow = {};

#define LIFTED (1u << 30)

INLINE void clamp(struct context *context, const struct tcp_sock *tp, u32 window)
{
	if (tp->window_clamp != window)
		bpf_setsockopt(context, SOL_TCP, TCP_WINDOW_CLAMP, &window, sizeof(window));
}

INLINE int is_chosen(u32 local_port, u32 remote_port)
{
	if (!port_count)
		return 1;
	for (u32 n = 0; n < PORTS; n++)
		if (n < port_count && (((whose & 1) && ports[n] == local_port) ||
				       ((whose & 2) && ports[n] == remote_port)))
			return 1;
	return 0;
}

INLINE void name(struct flow *flow, struct context *context)
{
	u32 *local = (u32 *)flow->local;
	u32 *remote = (u32 *)flow->remote;

	flow->version = context->family == IPV6 ? 6 : 4;
	if (flow->version == 6) {
		local[0] = context->local_ip6[0];
		local[1] = context->local_ip6[1];
		local[2] = context->local_ip6[2];
		local[3] = context->local_ip6[3];
		remote[0] = context->remote_ip6[0];
		remote[1] = context->remote_ip6[1];
		remote[2] = context->remote_ip6[2];
		remote[3] = context->remote_ip6[3];
	} else {
		local[0] = context->local_ip4;
		remote[0] = context->remote_ip4;
	}
	flow->local_port = context->local_port;
	flow->remote_port = __builtin_bswap32(context->remote_port);
}

// The kernel goes on asking for it: other programs may want to be.
INLINE void forget(u64 cookie, u32 *is_ours)
{
	*is_ours = 0;
	bpf_map_delete_elem(&flows, &cookie);
}

INLINE void begin(struct context *context)
{
	struct tcp_sock *tp;
	struct flow *flow;
	u64 cookie;
	void *sk = context->sk;
	u32 *is_ours;
	struct params told = params;

	if (!is_chosen(context->local_port, __builtin_bswap32(context->remote_port)) || !sk)
		return;
	is_ours = bpf_sk_storage_get(&ours, sk, 0, CREATE);
	if (!is_ours)
		return;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return;
	*is_ours = 1;
	cookie = bpf_get_socket_cookie(context);
	bpf_map_update_elem(&flows, &cookie, &new_flow, 0);
	flow = bpf_map_lookup_elem(&flows, &cookie);
	if (!flow)
		return;
	name(flow, context);
	flow->started_us = bpf_ktime_get_ns() / 1000;
	flow->has_timestamps = BIT_FIELD(tp, rx_opt.tstamp_ok);
	drwa_start(&flow->drwa, &told);
	rledbat_start(&flow->rledbat, &told, tp->advmss);
	bpf_sock_ops_cb_flags_set(context, context->callback_flags | ON_WRITE | ON_STATE);
}

// Our clock comes back with the sender's data. What is sent later than that data arrived would make it too long.
INLINE u32 echo_us(struct flow *flow, const struct tcp_sock *tp)
{
	u32 echo = tp->rx_opt.rcv_tsecr;
	u32 waited = (u32)bpf_jiffies64() - tp->inet_conn.icsk_ack.lrcvtime;
	s32 us;

	if (!echo || echo == flow->last_echo || waited > 1)
		return 0;
	flow->last_echo = echo;
	if (BIT_FIELD(tp, tcp_usec_ts))
		us = (u32)tp->tcp_mstamp - echo;
	else
		us = ((u32)(tp->tcp_mstamp / 1000) - echo) * 1000;
	return us > 0 ? us : 1000;
}

// Without timestamps: the time in which a window of data arrives.
INLINE u32 round_us(struct flow *flow, const struct tcp_sock *tp, const struct view *view)
{
	u64 span = 0;

	if (flow->round_start_us) {
		if (view->received < flow->round_end)
			return 0;
		span = view->now_us - flow->round_start_us;
		span = min(span, (u64)LONGEST_RTT_US);
	}
	flow->round_end = view->received + tp->rcv_wnd;
	flow->round_start_us = view->now_us;
	return span;
}

INLINE void step(struct flow *flow, const struct tcp_sock *tp)
{
	u32 lost = tp->rcv_ooopack;
	struct params told = params;
	u64 bytes;
	struct view view = {
		.now_us = tp->tcp_mstamp,
		.received = tp->bytes_received,
		.mss = tp->advmss,
	};

	u32 waiting = tp->rcv_nxt - tp->copied_seq;

	view.read = view.received > waiting ? view.received - waiting : 0;
	if (view.received != flow->received)
		view.rtt_us = flow->has_timestamps ? echo_us(flow, tp) : round_us(flow, tp, &view);
	if (view.rtt_us)
		flow->rtt_us = view.rtt_us;
	bytes = view.received - flow->received;
	flow->received = view.received;
	flow->seen_us = view.now_us;
	if (told.policy == RLEDBAT) {
		if (bytes || lost != flow->out_of_order)
			rledbat_on_segment(&flow->rledbat, &told, &view, bytes, lost != flow->out_of_order);
		flow->window = rledbat_window(&flow->rledbat, &told);
	} else {
		drwa_on_segment(&flow->drwa, &view);
		drwa_on_read(&flow->drwa, &told, &view);
		flow->window = flow->drwa.window;
	}
	flow->out_of_order = lost;
}

INLINE void write(struct context *context)
{
	u64 cookie = bpf_get_socket_cookie(context);
	struct flow *flow = bpf_map_lookup_elem(&flows, &cookie);
	u32 zero = 0;
	u32 *release_now = bpf_map_lookup_elem(&release, &zero);
	void *sk = context->sk;
	struct tcp_sock *tp;
	u32 *is_ours;

	if (!sk || !release_now)
		return;
	is_ours = bpf_sk_storage_get(&ours, sk, 0, 0);
	if (!is_ours || !*is_ours)
		return;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return;
	if (*release_now) {
		clamp(context, tp, LIFTED);
		forget(cookie, is_ours);
		return;
	}
	// Forgotten because there were too many.
	if (!flow) {
		begin(context);
		return;
	}
	flow->ifindex = tp->inet_conn.icsk_inet.sk.sk_rx_dst_ifindex;
	if (ifindex && flow->ifindex != ifindex) {
		if (flow->ifindex)
			forget(cookie, is_ours);
		return;
	}
	step(flow, tp);
	clamp(context, tp, flow->window);
}

SECTION("sockops") int hold(struct context *context)
{
	if (!context->is_fullsock)
		return 1;
	switch (context->op) {
	case ACTIVE_ESTABLISHED:
	case PASSIVE_ESTABLISHED:
		begin(context);
		break;
	case HEADER_LENGTH:
		if (context->args[0] != ONLY_ASKED)
			write(context);
		break;
	case STATE_CHANGED:
		if (context->args[1] == TCP_CLOSE) {
			u64 cookie = bpf_get_socket_cookie(context);

			bpf_map_delete_elem(&flows, &cookie);
		}
		break;
	}
	return 1;
}
