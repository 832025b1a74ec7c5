// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What is read of a packet that is about to be sent: whose it is, and how much.
#pragma once

#include "kernel.h"

#define TCP 6
#define UDP 17
#define TCP_HEADER 20
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

#define copy(to, from) __builtin_memcpy((to), (from), sizeof(from))

// The bytes of the IP header; zero for what is not IP.
INLINE u32 read_ip(struct packet *packet, const u8 *ip)
{
	struct key *key = &packet->key;
	union {
		struct ipv4 four;
		struct ipv6 six;
	} header;

	if (bpf_probe_read_kernel(&header.four, sizeof(header.four), ip))
		return 0;
	key->version = header.four.version_and_length >> 4;
	if (key->version == 4) {
		u32 length = (header.four.version_and_length & 15) * 4;
		copy(key->from, header.four.from);
		copy(key->to, header.four.to);
		key->protocol = header.four.protocol;
		packet->is_fragment = (header.four.fragment & __builtin_bswap16(0x3fff)) != 0;
		return length;
	}
	if (key->version != 6 || bpf_probe_read_kernel(&header.six, sizeof(header.six), ip))
		return 0;
	copy(key->from, header.six.from);
	copy(key->to, header.six.to);
	key->protocol = header.six.next;
	return sizeof(header.six);
}

// How many segments the device will make of it, or was given already as one.
INLINE u32 segments(const struct sk_buff *skb)
{
	const struct skb_shared_info *shared = (const void *)(skb->head + skb->end);
	u16 size = 0, count = 0;

	bpf_probe_read_kernel(&size, sizeof(size), &shared->gso_size);
	if (!size)
		return 1;
	bpf_probe_read_kernel(&count, sizeof(count), &shared->gso_segs);
	return count ? count : 1;
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
	length = read_ip(packet, ip);
	if (!length)
		return 0;
	packet->packets = segments(skb);
	packet->bytes = skb->len;
	// Only a first fragment has ports: a flow would be two.
	if (packet->is_fragment || (packet->key.protocol != TCP && packet->key.protocol != UDP))
		return 1;
	if (bpf_probe_read_kernel(&fields, packet->key.protocol == TCP ? 16 : 8, ip + length))
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
