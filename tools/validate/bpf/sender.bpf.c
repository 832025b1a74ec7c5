// What the kernel's TCP does, as seen by itself: RTT samples, ACKs, congestion states,
// retransmissions. Only sockets of one network namespace are reported.
//
// Kernel types are declared with just the members used; their offsets are relocated when the
// program is loaded (CO-RE), so no header of the running kernel is needed.

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct net {
	__u64 net_cookie;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	possible_net_t skc_net;
};

struct sock {
	struct sock_common __sk_common;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	__u8 icsk_ca_state : 5;
	__u8 icsk_retransmits;
	__u8 icsk_pending;
	__u8 icsk_backoff;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 snd_una;
	__u32 snd_nxt;
	__u32 snd_cwnd;
	__u32 snd_ssthresh;
	__u32 packets_out;
	__u32 retrans_out;
	__u32 sacked_out;
	__u32 lost_out;
	__u32 srtt_us;
	__u32 high_seq;
};

struct request_sock {
	struct sock_common __req_common;
};

struct tcp_request_sock {
	__u32 snt_isn;
};

struct sk_buff {
	char cb[48];
	__u16 network_header;
	unsigned char *head;
};

struct tcp_skb_cb {
	__u32 seq;
	__u32 end_seq;
	__u32 ack_seq;
};

#pragma clang attribute pop

#define AF_INET 2

enum kind { RTT, ACK, CA_STATE, RETRANSMIT, SYNACK_RETRANSMIT };

// Read by src/sender/event.rs: same members, same order.
struct event {
	__u64 time_ns;
	__be32 local;
	__be32 remote;
	__u16 local_port;
	__u16 remote_port;
	__u32 snd_una;
	__u32 snd_nxt;
	__u32 snd_cwnd;
	__u32 snd_ssthresh;
	__u32 packets_out;
	__u32 retrans_out;
	__u32 sacked_out;
	__u32 lost_out;
	__u32 srtt_us;
	__u32 high_seq;
	__u32 seq;
	__u32 end_seq;
	__u32 value;
	__u8 kind;
	__u8 ca_state;
	__u8 retransmits;
	__u8 backoff;
	__u8 pending;
	__u8 unused;
	__u16 ip_id;
};

const volatile __u64 cookie = 0;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 25);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} lost SEC(".maps");

// What a socket's estimator stood at when its last segment arrived.
struct last {
	__u64 time_ns;
	__u32 srtt_us_times_8;
	__u32 ack_seq;
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct last);
} lasts SEC(".maps");

static __always_inline struct event *begin(struct sock_common *common, enum kind kind)
{
	struct event *e;

	if (BPF_CORE_READ(common, skc_family) != AF_INET)
		return 0;
	if (BPF_CORE_READ(common, skc_net.net, net_cookie) != cookie)
		return 0;
	e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e) {
		__u32 zero = 0;
		__u64 *count = bpf_map_lookup_elem(&lost, &zero);

		if (count)
			__sync_fetch_and_add(count, 1);
		return 0;
	}
	__builtin_memset(e, 0, sizeof(*e));
	e->time_ns = bpf_ktime_get_ns();
	e->kind = kind;
	e->local = BPF_CORE_READ(common, skc_rcv_saddr);
	e->remote = BPF_CORE_READ(common, skc_daddr);
	e->local_port = BPF_CORE_READ(common, skc_num);
	e->remote_port = __builtin_bswap16(BPF_CORE_READ(common, skc_dport));
	return e;
}

static __always_inline struct event *begin_tcp(struct tcp_sock *tp, enum kind kind)
{
	struct inet_connection_sock *icsk = (void *)tp;
	struct event *e = begin((void *)tp, kind);

	if (!e)
		return 0;
	e->snd_una = BPF_CORE_READ(tp, snd_una);
	e->snd_nxt = BPF_CORE_READ(tp, snd_nxt);
	e->snd_cwnd = BPF_CORE_READ(tp, snd_cwnd);
	e->snd_ssthresh = BPF_CORE_READ(tp, snd_ssthresh);
	e->packets_out = BPF_CORE_READ(tp, packets_out);
	e->retrans_out = BPF_CORE_READ(tp, retrans_out);
	e->sacked_out = BPF_CORE_READ(tp, sacked_out);
	e->lost_out = BPF_CORE_READ(tp, lost_out);
	e->srtt_us = BPF_CORE_READ(tp, srtt_us) >> 3;
	e->high_seq = BPF_CORE_READ(tp, high_seq);
	e->ca_state = BPF_CORE_READ_BITFIELD_PROBED(icsk, icsk_ca_state);
	e->retransmits = BPF_CORE_READ(icsk, icsk_retransmits);
	e->backoff = BPF_CORE_READ(icsk, icsk_backoff);
	e->pending = BPF_CORE_READ(icsk, icsk_pending);
	return e;
}

// The kernel has no hook for single RTT samples (the sockops callback comes once per round trip),
// but its mean moves by exactly sample - mean / 8 (tcp_rtt_estimator, after RFC 6298), so the
// sample taken from the segment before this one follows from the two means. A sample that equals
// the mean moves nothing and is missed.
static __always_inline void report_sample(struct sock *sk, struct last *last, __u32 now)
{
	__u32 before = last->srtt_us_times_8;
	struct event *e;

	if (!before || before == now)
		return;
	e = begin_tcp((void *)sk, RTT);
	if (!e)
		return;
	e->time_ns = last->time_ns;
	e->srtt_us = now >> 3;
	e->end_seq = last->ack_seq;
	e->value = now - before + (before >> 3);
	bpf_ringbuf_submit(e, 0);
}

static __always_inline __u16 ip_id(struct sk_buff *skb)
{
	unsigned char *ip = BPF_CORE_READ(skb, head) + BPF_CORE_READ(skb, network_header);
	__be16 id = 0;

	bpf_probe_read_kernel(&id, sizeof(id), ip + 4);
	return __builtin_bswap16(id);
}

// Runs when a segment of an established connection has arrived, before it is processed.
SEC("tp_btf/tcp_probe")
int BPF_PROG(on_segment, struct sock *sk, struct sk_buff *skb)
{
	struct tcp_skb_cb *cb = (void *)__builtin_preserve_access_index(&skb->cb[0]);
	__u32 srtt_us_times_8 = BPF_CORE_READ((struct tcp_sock *)sk, srtt_us);
	__u32 ack_seq = BPF_CORE_READ(cb, ack_seq);
	struct event *e;
	struct last *last = bpf_sk_storage_get(&lasts, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);

	if (last) {
		report_sample(sk, last, srtt_us_times_8);
		last->time_ns = bpf_ktime_get_ns();
		last->srtt_us_times_8 = srtt_us_times_8;
		last->ack_seq = ack_seq;
	}
	if (BPF_CORE_READ((struct tcp_sock *)sk, packets_out) == 0)
		return 0;
	e = begin_tcp((void *)sk, ACK);
	if (!e)
		return 0;
	e->value = ack_seq;
	e->ip_id = ip_id(skb);
	bpf_ringbuf_submit(e, 0);
	return 0;
}

// Runs before the state is set; entering CA_Loss (4) is a retransmission timeout.
SEC("tp_btf/tcp_cong_state_set")
int BPF_PROG(on_ca_state, struct sock *sk, __u8 state)
{
	struct event *e = begin_tcp((void *)sk, CA_STATE);

	if (!e)
		return 0;
	e->value = state;
	bpf_ringbuf_submit(e, 0);
	return 0;
}

SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(on_retransmit, struct sock *sk, struct sk_buff *skb)
{
	struct tcp_skb_cb *cb = (void *)__builtin_preserve_access_index(&skb->cb[0]);
	struct event *e = begin_tcp((void *)sk, RETRANSMIT);

	if (!e)
		return 0;
	e->seq = BPF_CORE_READ(cb, seq);
	e->end_seq = BPF_CORE_READ(cb, end_seq);
	bpf_ringbuf_submit(e, 0);
	return 0;
}

SEC("tp_btf/tcp_retransmit_synack")
int BPF_PROG(on_synack, struct sock *sk, struct request_sock *req)
{
	struct tcp_request_sock *treq = (void *)req;
	struct event *e = begin((void *)req, SYNACK_RETRANSMIT);

	if (!e)
		return 0;
	e->seq = BPF_CORE_READ(treq, snt_isn);
	e->end_seq = e->seq + 1;
	bpf_ringbuf_submit(e, 0);
	return 0;
}

char _license[] SEC("license") = "GPL";
