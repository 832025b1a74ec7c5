// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What passes a device, as the law is told of it: bytes are summed up, and packets of TCP are paired by their time stamps
// (RFC 7323), so that what reaches user space is a few numbers now and then, and not packets.
//
//   came    tc, ingress (tcx): before any redirection
//   leaves  tracepoint net_dev_start_xmit: behind the queue discipline. The hook of tc on the way out is in front of it, and a
//           packet that waits in our own shaper would seem to wait on the line.
//
// As pping does (Nichols; Sundberg et al., PAM 2023, in BPF), the first packet with each TSval is remembered, and its echo gives the round trip. Beyond
// that each new TSval from the line is told of, for what it says of the one-way delay.
#include "packet.h"

char LICENSE[] SECTION("license") = "Dual MIT/GPL";

const volatile u32 ifindex = 0;
// The network namespace of the device, by the number of its inode.
const volatile u32 namespace = 0;

// Those that were silent for longest give way.
#define FLOWS 4096
#define NOTES 32768
#define RING_BYTES (256 * 1024)

// A flow is told of once more after so long although its clock has not ticked: what waits behind a burst of one tick.
#define AGAIN_NS 5000000ull
// Of a flow are noted, and told, 2,000 packets a second and 128 at once: twice what clocks of a millisecond tick.
#define GAP_NS 500000ull
#define BURST_NS 64000000ull
// As large a step is no progress but another connection.
#define IMPLAUSIBLE (1 << 24)

struct flow {
	u64 id;
	// Way out. Flags are words: each way may run on a processor of its own.
	u32 sent;
	u32 has_sent;
	u32 taken;
	u32 has_taken;
	u64 note_due_ns;
	// Way in.
	u32 value;
	u32 has_value;
	u32 echoed;
	u32 has_echoed;
	u32 acked;
	u32 has_acked;
	// What came behind a hole.
	u32 early;
	u32 zero;
	u64 tell_due_ns;
	u64 told_ns;
};

struct note {
	u64 flow;
	u32 value;
	u32 zero;
};

// As the loader reads it.
struct tally {
	u64 came;
	u64 left;
	u64 unanswered;
	u64 called_for;
	u64 acked;
};

// As the loader reads it.
struct heard {
	u64 at_ns;
	u64 flow;
	// Zero: nothing was answered.
	u64 sent_ns;
	u32 value;
	u32 zero;
};

MAP(tallies, PERCPU_ARRAY, 1, u32, struct tally);
MAP(flows, LRU_HASH, FLOWS, struct key, struct flow);
// When packets with these values left.
MAP(notes, LRU_HASH, NOTES, struct note, u64);
RING(told, RING_BYTES);

INLINE struct tally *tally(void)
{
	u32 first = 0;

	return bpf_map_lookup_elem(&tallies, &first);
}

INLINE struct flow *flow_of(const struct key *key)
{
	struct flow *known = bpf_map_lookup_elem(&flows, key);
	struct flow fresh = {};

	if (known)
		return known;
	fresh.id = (u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32();
	bpf_map_update_elem(&flows, key, &fresh, NOEXIST);
	return bpf_map_lookup_elem(&flows, key);
}

INLINE int is_later(u32 one, u32 other)
{
	return (s32)(one - other) > 0;
}

// How many more bytes an acknowledgement acknowledges; less than zero: it is an old one, or another connection's.
INLINE s32 advance(u32 *known, u32 *has, u32 ack)
{
	s32 more = *has ? ack - *known : 0;

	if (!*has || more > 0 || more <= -IMPLAUSIBLE) {
		*has = 1;
		*known = ack;
	}
	return more < IMPLAUSIBLE ? more : -1;
}

// Payload of a full packet.
#define FULL 1448

// How many more bytes have come to the other end, those behind a hole with it (pairing.rs of unbloat-autorate).
INLINE u32 come(struct flow *flow, const struct stamps *stamps)
{
	u32 is_first = !flow->has_acked;
	s32 told = advance(&flow->acked, &flow->has_acked, stamps->acknowledged);
	u32 more = told, early = flow->early;

	if (told < 0)
		return 0;
	if (!more && !stamps->has_data && !is_first) {
		flow->early = early < IMPLAUSIBLE ? early + FULL : early;
		return FULL;
	}
	flow->early = early > more ? early - more : 0;
	return more > early ? more - early : 0;
}

// Whether one more may be afforded.
INLINE int afford(u64 *due_ns, u64 now_ns)
{
	u64 due = *due_ns > now_ns ? *due_ns : now_ns;

	if (due > now_ns + BURST_NS)
		return 0;
	*due_ns = due + GAP_NS;
	return 1;
}

INLINE void note(struct flow *flow, u32 value)
{
	struct note name = {.flow = flow->id, .value = value};
	u64 now_ns;

	if (flow->has_sent && !is_later(value, flow->sent))
		return;
	flow->sent = value;
	flow->has_sent = 1;
	now_ns = bpf_ktime_get_ns();
	if (afford(&flow->note_due_ns, now_ns))
		bpf_map_update_elem(&notes, &name, &now_ns, 0);
}

// When the packet left that is answered now.
INLINE u64 answered(struct flow *flow, u32 echo)
{
	struct note name = {.flow = flow->id, .value = echo};
	u64 *sent;

	if (!echo || (flow->has_echoed && !is_later(echo, flow->echoed)))
		return 0;
	sent = bpf_map_lookup_elem(&notes, &name);
	if (!sent)
		return 0;
	flow->echoed = echo;
	flow->has_echoed = 1;
	return *sent;
}

INLINE void tell(struct flow *flow, const struct stamps *stamps)
{
	u64 now_ns = bpf_ktime_get_ns();
	struct heard heard = {
		.at_ns = now_ns,
		.flow = flow->id,
		.sent_ns = answered(flow, stamps->echo),
		.value = stamps->value,
	};
	int ticked = !flow->has_value || is_later(stamps->value, flow->value);

	if (ticked) {
		flow->value = stamps->value;
		flow->has_value = 1;
	}
	if (!ticked && !heard.sent_ns && now_ns - flow->told_ns < AGAIN_NS)
		return;
	if (!afford(&flow->tell_due_ns, now_ns))
		return;
	flow->told_ns = now_ns;
	// It is looked at some hundred times a second.
	bpf_ringbuf_output(&told, &heard, sizeof(heard), NO_WAKEUP);
}

SECTION("classifier") int came(struct tc_packet *skb)
{
	struct place place = {.tc = skb};
	struct tally *sums = tally();
	struct stamps stamps;
	struct flow *flow;
	struct key key;

	if (!sums)
		return -1;
	sums->came += skb->len + (link_bytes && skb->vlan_present ? TAG_BYTES : 0);
	if (!read_stamps(&place, &key, &stamps, 0))
		return -1;
	flow = flow_of(&key);
	if (!flow)
		return -1;
	sums->acked += come(flow, &stamps);
	tell(flow, &stamps);
	return -1;
}

SECTION("tp_btf/net_dev_start_xmit") int leaves(u64 *context)
{
	const struct sk_buff *skb = (const void *)context[0];
	const struct net_device *device = (const void *)context[1];
	struct place place = {};
	struct stamps stamps;
	struct tally *sums;
	struct flow *flow;
	struct key key;
	u64 bytes;
	s32 taken;

	if (device->ifindex != ifindex || device->nd_net.net->ns.inum != namespace)
		return 0;
	sums = tally();
	if (!sums)
		return 0;
	// As a number and no pointer, of which the verifier would follow every offset (a twentieth of its work).
	if (bpf_probe_read_kernel(&place.data, sizeof(place.data), &skb->data))
		return 0;
	place.linear = skb->len - skb->data_len;
	bytes = skb->len + (link_bytes && skb->vlan_proto ? TAG_BYTES : 0);
	sums->left += bytes;
	flow = read_stamps(&place, &key, &stamps, 1) ? flow_of(&key) : 0;
	if (!flow) {
		sums->unanswered += bytes;
		return 0;
	}
	taken = advance(&flow->taken, &flow->has_taken, stamps.acknowledged);
	sums->called_for += taken > 0 ? taken : 0;
	note(flow, stamps.value);
	return 0;
}
