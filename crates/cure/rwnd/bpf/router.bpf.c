// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// DRWA for hosts that cannot run it: a router between them and the bottleneck rewrites the window of the ACKs that it forwards.
// Both programs stand on the device towards the hosts: `up` sees what comes from them (ingress), `down` what goes to them (egress).
//
//   SYN and SYN-ACK   tell the host's window scale; a connection of which either was missed is left alone
//   up, an ACK        its TSval goes out towards the sender; the time is kept
//   down, data        echoes that TSval: the round-trip time of the half beyond this router, which has the bottleneck
//
// A window is never made larger than the host offered, and its right edge, as it was last let through, never moves left:
// so a window falls by no more than what has been acknowledged since.
#include "drwa.h"
#include <helpers.h>

char LICENSE[] SECTION("license") = "Dual MIT/GPL";

static long (*bpf_skb_store_bytes)(void *skb, u32 offset, const void *from, u32 bytes, u64 flags) = (void *)9;
static long (*bpf_l4_csum_replace)(void *skb, u32 offset, u64 from, u64 to, u64 flags) = (void *)11;
static long (*bpf_skb_load_bytes)(const void *skb, u32 offset, void *to, u32 bytes) = (void *)26;

const volatile struct params params = {};
#define PORTS 8
const volatile u32 ports[PORTS] = {};
const volatile u32 port_count = 0;

#define PASS_ON (-1)
#define IPV4 0x0800
#define IPV6 0x86dd
#define TCP 6
#define FIN 0x01
#define SYN 0x02
#define RST 0x04
#define ACK 0x10
// How the checksum field is told to the helper: the field is 2 bytes long.
#define TWO_BYTES 2

// As in linux/bpf.h.
struct packet {
	u32 len;
	u32 pkt_type;
	u32 mark;
	u32 queue_mapping;
	u32 protocol;
};

// Seen from the host: its own address and port first.
struct key {
	u8 host[16];
	u8 sender[16];
	u16 host_port;
	u16 sender_port;
	u32 version;
};

struct routed {
	// The SYN was seen, and its answer.
	u32 is_known;
	u32 scale;
	u32 has_timestamps;
	// The right edge that was let through last, in sequence numbers.
	u32 edge;
	u32 has_edge;
	u32 window;
	// What the host had acknowledged last.
	u32 acked;
	u32 has_acked;
	u32 mss;
	// A TSval that is under way, and since when.
	u32 sent_value;
	u64 sent_us;
	u32 is_timing;
	u32 rtt_us;
	u64 started_us;
	u64 seen_us;
	// Bytes that were acknowledged.
	u64 received;
	u64 rewritten;
	struct drwa drwa;
};

#define FLOWS 8192
MAP(routes, LRU_HASH, FLOWS, struct key, struct routed);
MAP(release, ARRAY, 1, u32, u32);

static const struct routed new_route = {};

struct tcp {
	u16 from_port;
	u16 to_port;
	u32 sequence;
	u32 acknowledged;
	u8 offset;
	u8 flags;
	u16 window;
	u16 checksum;
	u16 urgent;
};

struct options {
	u32 scale;
	u32 has_scale;
	u32 mss;
	u32 value;
	u32 echo;
	u32 has_timestamps;
};

struct seen {
	struct key key;
	struct tcp tcp;
	u32 at;
	u32 data;
};

INLINE int is_chosen(u32 port)
{
	if (!port_count)
		return 1;
	for (u32 n = 0; n < PORTS; n++)
		if (n < port_count && ports[n] == port)
			return 1;
	return 0;
}

// Whether it is a whole TCP segment, behind a header of Ethernet.
INLINE int read(struct packet *skb, struct seen *seen, int from_host)
{
	u8 ip[40];
	u32 at = 14, length, total;
	u16 protocol = __builtin_bswap16(skb->protocol);

	__builtin_memset(seen, 0, sizeof(*seen));
	if (protocol == IPV4) {
		if (bpf_skb_load_bytes(skb, at, ip, 20) || ip[0] >> 4 != 4 || ip[9] != TCP)
			return 0;
		// A fragment has no header of TCP, or no end.
		if ((ip[6] & 0x3f) || ip[7])
			return 0;
		length = (ip[0] & 15) * 4;
		total = ip[2] << 8 | ip[3];
		__builtin_memcpy(from_host ? seen->key.host : seen->key.sender, ip + 12, 4);
		__builtin_memcpy(from_host ? seen->key.sender : seen->key.host, ip + 16, 4);
		seen->key.version = 4;
	} else if (protocol == IPV6) {
		if (bpf_skb_load_bytes(skb, at, ip, 40) || ip[0] >> 4 != 6 || ip[6] != TCP)
			return 0;
		length = 40;
		total = 40 + (ip[4] << 8 | ip[5]);
		__builtin_memcpy(from_host ? seen->key.host : seen->key.sender, ip + 8, 16);
		__builtin_memcpy(from_host ? seen->key.sender : seen->key.host, ip + 24, 16);
		seen->key.version = 6;
	} else {
		return 0;
	}
	at += length;
	if (bpf_skb_load_bytes(skb, at, &seen->tcp, sizeof(seen->tcp)))
		return 0;
	seen->at = at;
	seen->key.host_port = __builtin_bswap16(from_host ? seen->tcp.from_port : seen->tcp.to_port);
	seen->key.sender_port = __builtin_bswap16(from_host ? seen->tcp.to_port : seen->tcp.from_port);
	length += (seen->tcp.offset >> 4) * 4;
	// Segments that are not yet cut apart may be longer than their IP header says.
	seen->data = total > length ? total - length : 0;
	return is_chosen(seen->key.host_port) || is_chosen(seen->key.sender_port);
}

#define MOST_OPTIONS 12

INLINE void read_options(struct packet *skb, const struct seen *seen, struct options *options)
{
	u32 at = seen->at + sizeof(struct tcp);
	u32 end = seen->at + (seen->tcp.offset >> 4) * 4;
	u8 head[2];
	u8 body[8];

	__builtin_memset(options, 0, sizeof(*options));
	for (int n = 0; n < MOST_OPTIONS; n++) {
		if (at >= end || bpf_skb_load_bytes(skb, at, head, 1) || head[0] == 0)
			return;
		if (head[0] == 1) {
			at++;
			continue;
		}
		if (at + 1 >= end || bpf_skb_load_bytes(skb, at, head, 2) || head[1] < 2)
			return;
		if (head[0] == 3 && head[1] == 3 && !bpf_skb_load_bytes(skb, at + 2, body, 1)) {
			options->scale = min(body[0], 14);
			options->has_scale = 1;
		} else if (head[0] == 2 && head[1] == 4 && !bpf_skb_load_bytes(skb, at + 2, body, 2)) {
			options->mss = body[0] << 8 | body[1];
		} else if (head[0] == 8 && head[1] == 10 && !bpf_skb_load_bytes(skb, at + 2, body, 8)) {
			options->value = (u32)body[0] << 24 | body[1] << 16 | body[2] << 8 | body[3];
			options->echo = (u32)body[4] << 24 | body[5] << 16 | body[6] << 8 | body[7];
			options->has_timestamps = 1;
		}
		at += head[1];
	}
}

INLINE u64 now_us(void)
{
	return bpf_ktime_get_ns() / 1000;
}

// The first SYN, whichever side sends it, makes the entry; the second one completes it.
INLINE void meet(struct packet *skb, struct seen *seen, int from_host)
{
	struct routed *routed;
	struct options options;
	struct params told = params;
	int is_answer = seen->tcp.flags & ACK;

	read_options(skb, seen, &options);
	if (!is_answer)
		bpf_map_update_elem(&routes, &seen->key, &new_route, 0);
	routed = bpf_map_lookup_elem(&routes, &seen->key);
	if (!routed)
		return;
	if (!is_answer) {
		drwa_start(&routed->drwa, &told);
		routed->started_us = now_us();
			routed->has_timestamps = options.has_timestamps;
	}
	if (from_host) {
		routed->scale = options.has_scale ? options.scale : 0;
		routed->mss = options.mss ? options.mss : 536;
	}
	if (is_answer) {
		// Neither scales unless both can (RFC 7323 section 2.2).
		if (!options.has_scale)
			routed->scale = 0;
		routed->has_timestamps &= options.has_timestamps;
		routed->is_known = 1;
	}
}

INLINE void take_progress(struct routed *routed, u32 acked)
{
	s32 more = acked - routed->acked;

	if (!routed->has_acked) {
		routed->has_acked = 1;
		routed->acked = acked;
	} else if (more > 0) {
		routed->received += more;
		routed->acked = acked;
	}
}

// What may be said instead of `offered`, in units of the scale: not more, and nothing that was let through is taken back.
INLINE u32 choose(struct routed *routed, u32 acked, u32 offered)
{
	u32 unit = 1u << (routed->scale & 15);
	u32 window = (routed->drwa.window + unit - 1) >> (routed->scale & 15);
	s32 left = routed->edge - acked;

	if (routed->has_edge && left > 0) {
		u32 kept = ((u32)left + unit - 1) >> (routed->scale & 15);

		window = max(window, kept);
	}
	return min(window, offered);
}

SECTION("classifier") int up(struct packet *skb)
{
	struct seen seen;
	struct routed *routed;
	struct options options;
	struct params told = params;
	u32 zero = 0, offered, chosen, acked;
	u32 *release_now = bpf_map_lookup_elem(&release, &zero);
	u16 field;

	if (!read(skb, &seen, 1) || !release_now || *release_now)
		return PASS_ON;
	if (seen.tcp.flags & SYN) {
		meet(skb, &seen, 1);
		return PASS_ON;
	}
	routed = bpf_map_lookup_elem(&routes, &seen.key);
	// Without timestamps there is nothing to go by.
	if (!routed || !routed->is_known || !routed->has_timestamps || !(seen.tcp.flags & ACK))
		return PASS_ON;
	if (seen.tcp.flags & RST) {
		bpf_map_delete_elem(&routes, &seen.key);
		return PASS_ON;
	}
	acked = __builtin_bswap32(seen.tcp.acknowledged);
	offered = __builtin_bswap16(seen.tcp.window);
	// What is old says nothing.
	if (routed->has_acked && (s32)(acked - routed->acked) < 0)
		return PASS_ON;
	take_progress(routed, acked);
	routed->seen_us = now_us();
	if (!routed->is_timing) {
		read_options(skb, &seen, &options);
		if (options.has_timestamps && options.value != routed->sent_value) {
			routed->sent_value = options.value;
			routed->sent_us = routed->seen_us;
			routed->is_timing = 1;
		}
	}
	struct view view = {
		.now_us = routed->seen_us,
		.received = routed->received,
		.read = routed->received,
		.mss = routed->mss,
	};

	drwa_on_read(&routed->drwa, &told, &view);
	chosen = choose(routed, acked, offered);
	routed->window = chosen << (routed->scale & 15);
	routed->edge = acked + routed->window;
	routed->has_edge = 1;
	if (chosen == offered)
		return PASS_ON;
	field = __builtin_bswap16(chosen);
	if (bpf_l4_csum_replace(skb, seen.at + 16, seen.tcp.window, field, TWO_BYTES))
		return PASS_ON;
	bpf_skb_store_bytes(skb, seen.at + 14, &field, sizeof(field), 0);
	routed->rewritten++;
	return PASS_ON;
}

SECTION("classifier") int down(struct packet *skb)
{
	struct seen seen;
	struct routed *routed;
	struct options options;

	if (!read(skb, &seen, 0))
		return PASS_ON;
	if (seen.tcp.flags & SYN) {
		meet(skb, &seen, 0);
		return PASS_ON;
	}
	routed = bpf_map_lookup_elem(&routes, &seen.key);
	if (!routed || !routed->is_timing || !seen.data)
		return PASS_ON;
	read_options(skb, &seen, &options);
	// The echo is of that value or of a later one: all before is older.
	if (!options.has_timestamps || (s32)(options.echo - routed->sent_value) < 0)
		return PASS_ON;
	routed->is_timing = 0;
	struct view view = {.now_us = now_us()};
	u64 span = view.now_us - routed->sent_us;

	span = max(span, 1ull);
	view.rtt_us = min(span, (u64)LONGEST_RTT_US);
	routed->rtt_us = view.rtt_us;
	drwa_on_segment(&routed->drwa, &view);
	return PASS_ON;
}
