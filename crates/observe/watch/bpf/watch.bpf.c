// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Where the packets that this host sends wait, summed up by flow and device.
//
//   net_dev_queue       a packet is given to the device's queue discipline
//   net_dev_start_xmit  it has left the discipline and is given to the driver
//   consume_skb         the driver has let go of it (only for devices in `holding`)
//   kfree_skb           it was dropped
//   tcp_probe           an acknowledgement has come
//
// TCP stamps each packet when it hands it down (skb->tstamp), and segments of it inherit the stamp: T_Q of
// TCP is known without remembering packets. Others are remembered by their address while they wait.
//
// One segment of each TCP connection is timed at once, and not more than one in a millisecond. Its
// acknowledgement gives RTT_Q, since TCP handed it down, and RTT_F, since the driver got it. It counts only
// if nothing was sent again in between (Karn): waiting for a retransmission is no delay of a layer.
#include "packet.h"

char LICENSE[] SECTION("license") = "Dual MIT/GPL";

// The network namespace that is watched, by the number of its inode.
const volatile u32 namespace = 0;

// Times in bins of a quarter of an octave, from microseconds to a minute.
#define BINS 104
#define UNIT_SHIFT 10

struct times {
	u64 count;
	u64 sum_ns;
	u32 bins[BINS];
};

struct counts {
	// Given to the discipline (but for what TCP has stamped), to the driver, let go by the driver.
	u64 entered_bytes;
	u64 entered_packets;
	u64 left_bytes;
	u64 left_packets;
	u64 done_bytes;
	u64 done_packets;
	// Left the discipline, nobody knows when it had come.
	u64 untimed_packets;
	// When a segment was last timed.
	u64 timed_ns;
	struct times qdisc;
	struct times driver;
	struct times rtt_q;
	struct times rtt_f;
};

struct waiting {
	u64 since_ns;
	u32 ifindex;
	u16 from_port;
	u16 to_port;
};

struct held {
	u64 since_ns;
	u32 bytes;
	u32 packets;
	struct key key;
	u32 zero;
};

struct timed {
	// When TCP handed it down, and when the driver got it.
	u64 queued_ns;
	u64 sent_ns;
	struct key key;
	u32 end;
	// How much its connection had sent again.
	u32 repeated;
	u32 zero;
	// Whether it is under way.
	u64 is_open;
};

MAP(flows, LRU_PERCPU_HASH, 4096, struct key, struct counts);
// Packets by their address, and connections by that of their socket.
MAP(waiting, LRU_HASH, 16384, u64, struct waiting);
MAP(held, LRU_HASH, 16384, u64, struct held);
MAP(timed, LRU_HASH, 4096, u64, struct timed);
// Devices of which it can be told when their driver lets go of a packet; whether there are any.
MAP(holding, HASH, 256, u32, u32);
MAP(any_holding, ARRAY, 1, u32, u32);
// What a flow begins with, too large for a program's stack.
MAP(nothing, ARRAY, 1, u32, struct counts);

INLINE struct counts *counts_of(const struct key *key)
{
	struct counts *counts = bpf_map_lookup_elem(&flows, key);
	u32 first = 0;
	void *zeros;

	if (counts)
		return counts;
	zeros = bpf_map_lookup_elem(&nothing, &first);
	if (!zeros)
		return 0;
	bpf_map_update_elem(&flows, key, zeros, NOEXIST);
	return bpf_map_lookup_elem(&flows, key);
}

INLINE u32 log2(u32 value)
{
	u32 log = 0;

	if (value >> 16) { value >>= 16; log += 16; }
	if (value >> 8) { value >>= 8; log += 8; }
	if (value >> 4) { value >>= 4; log += 4; }
	if (value >> 2) { value >>= 2; log += 2; }
	return log + (value >> 1);
}

INLINE void note(struct times *times, u64 ns)
{
	u64 units = ns >> UNIT_SHIFT;
	u32 value = units > 0x3ffffff ? 0x3ffffff : units;
	u32 bin = value, octave;

	if (value >= 4) {
		octave = log2(value);
		bin = ((octave - 1) << 2) + ((value >> (octave - 2)) & 3);
	}
	times->count++;
	times->sum_ns += ns;
	if (bin < BINS)
		times->bins[bin]++;
}

INLINE int is_watched(const struct net_device *device)
{
	return device->nd_net.net->ns.inum == namespace;
}

// When TCP handed it down; zero if it was not TCP, or not on this host.
INLINE u64 handed_down(const struct sk_buff *skb)
{
	const struct sk_buff___old *old = (const void *)skb;
	u64 is_monotonic;

	if (FIELD(FIELD_EXISTS, skb->tstamp_type))
		is_monotonic = BIT_FIELD(skb, tstamp_type) == 1;
	else if (FIELD(FIELD_EXISTS, old->mono_delivery_time))
		is_monotonic = BIT_FIELD(old, mono_delivery_time);
	else
		is_monotonic = 0;
	return is_monotonic ? skb->tstamp : 0;
}

SECTION("tp_btf/net_dev_queue") int net_dev_queue(u64 *context)
{
	const struct sk_buff *skb = (const void *)context[0];
	const struct net_device *device = skb->dev;
	u64 address = context[0];
	struct waiting since = {};
	struct packet packet;
	struct counts *counts;

	// Of what TCP has stamped, TCP knows how much it was.
	if (handed_down(skb) || !is_watched(device) || !read_packet(&packet, skb, device->ifindex))
		return 0;
	since.since_ns = bpf_ktime_get_ns();
	since.ifindex = packet.key.ifindex;
	since.from_port = packet.key.from_port;
	since.to_port = packet.key.to_port;
	bpf_map_update_elem(&waiting, &address, &since, 0);
	counts = counts_of(&packet.key);
	if (!counts)
		return 0;
	counts->entered_bytes += packet.bytes;
	counts->entered_packets += packet.packets;
	return 0;
}

// When it was given to the discipline; zero if that is not known.
INLINE u64 entered(const struct sk_buff *skb, const struct packet *packet)
{
	u64 address = (u64)skb, since = 0;
	struct waiting *found = bpf_map_lookup_elem(&waiting, &address);

	if (!found)
		return 0;
	// A packet that went a way we do not see may have left its address to another one.
	if (found->ifindex == packet->key.ifindex && found->from_port == packet->key.from_port &&
	    found->to_port == packet->key.to_port)
		since = found->since_ns;
	bpf_map_delete_elem(&waiting, &address);
	return since;
}

// A segment whose acknowledgement has not come after this long is given up.
#define LONGEST_NS 60000000000ULL
// Between two segments that are timed.
#define SHORTEST_NS 1000000ULL

// Begins to time a segment of the connection, unless one is timed.
INLINE void time_segment(struct counts *counts, const struct sock *sender, const struct packet *packet,
			 u64 queued, u64 now)
{
	const struct tcp_sock *tcp = (const void *)sender;
	u64 socket = (u64)sender;
	struct timed *old;
	struct timed new = {
		.queued_ns = queued,
		.sent_ns = now,
		.key = packet->key,
		.end = packet->end,
	};

	if (now - counts->timed_ns < SHORTEST_NS)
		return;
	old = bpf_map_lookup_elem(&timed, &socket);
	if (old && old->is_open && now - old->sent_ns < LONGEST_NS &&
	    old->key.from_port == packet->key.from_port && old->key.to_port == packet->key.to_port &&
	    // The same segment leaves by a device below the first: what counts is the last one.
	    (old->key.ifindex == packet->key.ifindex || old->end != packet->end))
		return;
	counts->timed_ns = now;
	// To the verifier a packet's socket is not yet one of TCP.
	bpf_probe_read_kernel(&new.repeated, sizeof(new.repeated), &tcp->total_retrans);
	if (!old) {
		new.is_open = 1;
		bpf_map_update_elem(&timed, &socket, &new, 0);
		return;
	}
	*old = new;
	// Others read it as soon as it is open.
	__sync_fetch_and_add(&old->is_open, 1);
}

INLINE void hold(const struct sk_buff *skb, const struct packet *packet, u64 now)
{
	u64 address = (u64)skb;
	struct held since = {
		.since_ns = now,
		.bytes = packet->bytes,
		.packets = packet->packets,
		.key = packet->key,
	};

	bpf_map_update_elem(&held, &address, &since, 0);
}

SECTION("tp_btf/net_dev_start_xmit") int net_dev_start_xmit(u64 *context)
{
	const struct sk_buff *skb = (const void *)context[0];
	const struct net_device *device = (const void *)context[1];
	u32 ifindex = device->ifindex, first = 0, *any;
	struct packet packet;
	struct counts *counts;
	const struct sock *sender;
	u64 now, queued, since;

	if (!is_watched(device) || !read_packet(&packet, skb, ifindex))
		return 0;
	counts = counts_of(&packet.key);
	if (!counts)
		return 0;
	now = bpf_ktime_get_ns();
	queued = handed_down(skb);
	since = queued ? queued : entered(skb, &packet);
	if (since)
		note(&counts->qdisc, now > since ? now - since : 0);
	else
		counts->untimed_packets += packet.packets;
	counts->left_bytes += packet.bytes;
	counts->left_packets += packet.packets;
	sender = skb->sk;
	if (queued && packet.has_data && sender)
		time_segment(counts, sender, &packet, queued, now);
	any = bpf_map_lookup_elem(&any_holding, &first);
	if (any && *any && bpf_map_lookup_elem(&holding, &ifindex))
		hold(skb, &packet, now);
	return 0;
}

SECTION("tp_btf/consume_skb") int consume_skb(u64 *context)
{
	u64 address = context[0];
	struct held *found = bpf_map_lookup_elem(&held, &address);
	struct counts *counts;

	if (!found)
		return 0;
	counts = counts_of(&found->key);
	if (counts) {
		note(&counts->driver, bpf_ktime_get_ns() - found->since_ns);
		counts->done_bytes += found->bytes;
		counts->done_packets += found->packets;
	}
	bpf_map_delete_elem(&held, &address);
	return 0;
}

SECTION("tp_btf/kfree_skb") int kfree_skb(u64 *context)
{
	u64 address = context[0];

	bpf_map_delete_elem(&waiting, &address);
	bpf_map_delete_elem(&held, &address);
	return 0;
}

SECTION("tp_btf/tcp_probe") int tcp_probe(u64 *context)
{
	const struct tcp_sock *sender = bpf_skc_to_tcp_sock((const void *)context[0]);
	const struct sk_buff *skb = (const void *)context[1];
	u64 socket = context[0], now;
	struct timed *segment;
	struct tcp_fields fields;
	struct counts *counts;
	u32 acknowledged;

	// One that only receives has nothing on the way.
	if (!sender || !sender->packets_out)
		return 0;
	segment = bpf_map_lookup_elem(&timed, &socket);
	if (!segment || !segment->is_open || READ(&fields, skb->data))
		return 0;
	acknowledged = __builtin_bswap32(fields.acknowledged);
	if ((s32)(acknowledged - segment->end) < 0 || (s32)(sender->snd_nxt - acknowledged) < 0)
		return 0;
	segment->is_open = 0;
	if (sender->total_retrans != segment->repeated)
		return 0;
	counts = counts_of(&segment->key);
	if (!counts || fields.to_port != segment->key.from_port || fields.from_port != segment->key.to_port)
		return 0;
	now = bpf_ktime_get_ns();
	note(&counts->rtt_q, now - segment->queued_ns);
	note(&counts->rtt_f, now - segment->sent_ns);
	return 0;
}
