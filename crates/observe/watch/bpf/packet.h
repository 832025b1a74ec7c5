// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What is read of a packet that is about to be sent: whose it is, and how much.
#pragma once

#include "kernel.h"

#define TCP 6
#define UDP 17
#define SYN 0x02
#define FIN 0x01

// A flow as it leaves by one device. Addresses and ports are in network order; an IPv4 address stands in
// the first four bytes.
struct key {
	u8 from[16];
	u8 to[16];
	u16 from_port;
	u16 to_port;
	u32 ifindex;
	// Of IP: 4 or 6.
	u8 version;
	u8 protocol;
	u16 zero;
};

struct packet {
	struct key key;
	// With the device's own header; each segment that the device will make of it has one.
	u32 bytes;
	u32 packets;
	// Of TCP's data: sequence numbers of the first byte and behind the last one.
	u32 first;
	u32 end;
	u8 has_data;
	u8 is_fragment;
};

struct tcp_fields {
	u16 from_port;
	u16 to_port;
	u32 sequence;
	u32 acknowledged;
	u8 offset;
	u8 flags;
	u16 window;
};

struct ipv4 {
	u8 version_and_length;
	u8 service;
	u16 length;
	u16 id;
	u16 fragment;
	u8 hops;
	u8 protocol;
	u16 checksum;
	u8 from[4];
	u8 to[4];
};

struct ipv6 {
	u32 version_and_flow;
	u16 length;
	u8 next;
	u8 hops;
	u8 from[16];
	u8 to[16];
};

// What most packets begin with; more is read of those that begin otherwise.
struct start {
	union {
		struct {
			struct ipv4 ip;
			struct tcp_fields transport;
		} four;
		struct ipv6 six;
	};
};

#define copy(to, from) __builtin_memcpy((to), (from), sizeof(from))

// Whether the verifier lets programs load from a packet's memory themselves (Linux 6.17), which costs a tenth of asking the
// kernel to copy it. The loader tries it.
const volatile u32 loads_packets = 0;

// Programs of kernels that forbid it are left without the loads: the branch is never taken, so it is cut away.
#define READ(to, from)                                                                             \
	({                                                                                         \
		int failed = 0;                                                                    \
		if (loads_packets)                                                                 \
			load((to), (from), sizeof(*(to)));                                         \
		else                                                                               \
			failed = bpf_probe_read_kernel((to), sizeof(*(to)), (from)) != 0;          \
		failed;                                                                            \
	})

// In words of four bytes: headers lie at no better places.
INLINE void load(void *to, const void *from, u32 bytes)
{
	u32 *words = to;
	const volatile u32 *source = from;

#pragma unroll
	for (u32 at = 0; at < bytes / 4; at++)
		words[at] = source[at];
}

// The bytes of the IP header; zero for what is not IP.
INLINE u32 read_ip(struct packet *packet, struct tcp_fields *transport, const u8 *ip)
{
	struct key *key = &packet->key;
	struct start start;

	// Behind a packet that is shorter lie bytes of the same buffer.
	if (READ(&start, ip))
		return 0;
	key->version = start.four.ip.version_and_length >> 4;
	if (key->version == 4) {
		u32 length = (start.four.ip.version_and_length & 15) * 4;
		copy(key->from, start.four.ip.from);
		copy(key->to, start.four.ip.to);
		key->protocol = start.four.ip.protocol;
		packet->is_fragment = (start.four.ip.fragment & __builtin_bswap16(0x3fff)) != 0;
		*transport = start.four.transport;
		if (length != sizeof(struct ipv4))
			READ(transport, ip + length);
		return length;
	}
	if (key->version != 6)
		return 0;
	copy(key->from, start.six.from);
	copy(key->to, start.six.to);
	key->protocol = start.six.next;
	READ(transport, ip + sizeof(struct ipv6));
	return sizeof(struct ipv6);
}

// No packet of two segments is as short.
#define SMALLEST_GSO 128

// How many segments the device will make of it, or was given already as one.
INLINE u32 segments(const struct sk_buff *skb)
{
	const struct skb_shared_info *shared = (const void *)(skb->head + skb->end);
	// They stand side by side, and a read costs more than what it reads.
	struct {
		u16 size;
		u16 count;
	} gso = {};

	if (skb->data_len == 0 && skb->len <= SMALLEST_GSO)
		return 1;
	READ(&gso, &shared->gso_size);
	return gso.size && gso.count ? gso.count : 1;
}

// Whether it is a packet of IP.
INLINE int read_packet(struct packet *packet, const struct sk_buff *skb, u32 ifindex)
{
	u8 *ip = skb->head + skb->network_header;
	u32 before = ip - skb->data;
	u32 length, headers, data;
	struct tcp_fields fields = {};

	__builtin_memset(packet, 0, sizeof(*packet));
	packet->key.ifindex = ifindex;
	length = read_ip(packet, &fields, ip);
	if (!length)
		return 0;
	packet->packets = segments(skb);
	packet->bytes = skb->len;
	// Only a first fragment has ports: a flow would be two.
	if (packet->is_fragment || (packet->key.protocol != TCP && packet->key.protocol != UDP))
		return 1;
	packet->key.from_port = fields.from_port;
	packet->key.to_port = fields.to_port;
	headers = before + length + (packet->key.protocol == TCP ? (fields.offset >> 4) * 4 : 8);
	packet->bytes += (packet->packets - 1) * headers;
	if (packet->key.protocol == TCP) {
		data = skb->len - headers;
		packet->first = __builtin_bswap32(fields.sequence);
		packet->end = packet->first + data;
		packet->has_data = skb->len > headers && !(fields.flags & (SYN | FIN));
	}
	return 1;
}
