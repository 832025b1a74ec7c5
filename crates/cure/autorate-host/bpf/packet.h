// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// What is read of a packet. Headers may claim what they like: every byte is fetched by its offset, and nothing is believed of a
// header that does not lie within the packet.
#pragma once

#include "kernel.h"

// Bytes in front of IP: 14 with Ethernet, none elsewhere. The loader sets it.
const volatile u32 link_bytes = 14;

#define IPV4 0x0800
#define IPV6 0x86dd
#define VLAN 0x8100
#define SERVICE_VLAN 0x88a8
#define TCP 6
#define MOST_TAGS 2
#define TAG_BYTES 4
// Of TCP: without options, and with the time stamps alone as most stacks pad them.
#define BARE 20
#define STAMPED 32
// A header that has more options before its time stamps is taken for one without.
#define MOST_OPTIONS 16

// A packet where tc sees it, or where the driver gets it.
struct place {
	void *tc;
	const u8 *data;
	u32 linear;
};

// Addresses as in the packet; one of IPv4 stands in the first four bytes. Near: on our side of the line.
struct key {
	u8 near[16];
	u8 far[16];
	u16 near_port;
	u16 far_port;
	// Of IP: 4 or 6.
	u32 version;
};

struct stamps {
	u32 acknowledged;
	u32 value;
	u32 echo;
	u32 has_data;
};

// tc refuses what is beyond the packet's end. Elsewhere bytes of the same buffer may follow, which is asked for once, at the end of
// all headers: for each fetch, the verifier would look at many times as many ways.
INLINE int fetch(const struct place *place, u32 at, void *to, u32 bytes)
{
	if (place->tc)
		return bpf_skb_load_bytes(place->tc, at, to, bytes) == 0;
	return bpf_probe_read_kernel(to, bytes, place->data + at) == 0;
}

INLINE int is_within(const struct place *place, u32 end)
{
	return place->tc || end <= place->linear;
}

INLINE u32 word(const u8 *bytes)
{
	return (u32)bytes[0] << 24 | (u32)bytes[1] << 16 | (u32)bytes[2] << 8 | bytes[3];
}

INLINE u16 half(const u8 *bytes)
{
	return (u16)(bytes[0] << 8 | bytes[1]);
}

// Where IP begins, and its first bytes as far as there are any in IPv4; the version, or zero.
INLINE u32 read_start(const struct place *place, u32 *ip_at, u8 *ip)
{
	u8 start[34];
	u32 at = link_bytes;
	u16 kind;

	if (!link_bytes) {
		if (!fetch(place, 0, ip, 20))
			return 0;
		*ip_at = 0;
		return ip[0] >> 4;
	}
	if (!fetch(place, 0, start, sizeof(start)))
		return 0;
	kind = half(start + 12);
	__builtin_memcpy(ip, start + 14, 20);
	for (int n = 0; n < MOST_TAGS && (kind == VLAN || kind == SERVICE_VLAN); n++) {
		kind = half(ip + 2);
		at += TAG_BYTES;
		if (!fetch(place, at, ip, 20))
			return 0;
	}
	*ip_at = at;
	return (kind == IPV4 || kind == IPV6) ? ip[0] >> 4 : 0;
}

// Where TCP begins, and what IP says where it ends; zero where it does not begin.
INLINE u32 read_ip(const struct place *place, struct key *key, u32 *end, int is_leaving)
{
	u8 ip[40];
	u8 *from = is_leaving ? key->near : key->far;
	u8 *to = is_leaving ? key->far : key->near;
	u32 at = 0;

	key->version = read_start(place, &at, ip);
	if (key->version == 4) {
		u32 bytes = (ip[0] & 15) * 4;

		// Fragments have no header of TCP, or no end.
		if (bytes < 20 || ip[9] != TCP || (half(ip + 6) & 0x3fff))
			return 0;
		__builtin_memcpy(from, ip + 12, 4);
		__builtin_memcpy(to, ip + 16, 4);
		*end = at + half(ip + 2);
		return at + bytes;
	}
	// Behind extension headers nothing is looked for.
	if (key->version != 6 || !fetch(place, at, ip, 40) || ip[6] != TCP)
		return 0;
	__builtin_memcpy(from, ip + 8, 16);
	__builtin_memcpy(to, ip + 24, 16);
	*end = at + 40 + half(ip + 4);
	return at + 40;
}

INLINE int look_for_stamps(const struct place *place, u32 at, u32 end, struct stamps *stamps)
{
	u8 option[10];

	for (int n = 0; n < MOST_OPTIONS && at + 2 <= end; n++) {
		if (!fetch(place, at, option, 2) || option[0] == 0)
			return 0;
		if (option[0] == 1) {
			at++;
			continue;
		}
		if (option[1] < 2)
			return 0;
		if (option[0] == 8 && option[1] == 10) {
			if (at + 10 > end || !fetch(place, at, option, 10))
				return 0;
			stamps->value = word(option + 2);
			stamps->echo = word(option + 6);
			return 1;
		}
		at += option[1];
	}
	return 0;
}

// Whether it is a segment of TCP with time stamps.
INLINE int read_stamps(const struct place *place, struct key *key, struct stamps *stamps, int is_leaving)
{
	// The two ports come first, the acknowledgement behind the sequence number (RFC 9293 section 3.1).
	u8 tcp[STAMPED];
	u32 at, bytes, end = 0;

	__builtin_memset(key, 0, sizeof(*key));
	at = read_ip(place, key, &end, is_leaving);
	if (!at || !fetch(place, at, tcp, sizeof(tcp)))
		return 0;
	bytes = (tcp[12] >> 4) * 4;
	if (bytes < STAMPED || !is_within(place, at + bytes))
		return 0;
	__builtin_memcpy(is_leaving ? &key->near_port : &key->far_port, tcp, 2);
	__builtin_memcpy(is_leaving ? &key->far_port : &key->near_port, tcp + 2, 2);
	stamps->acknowledged = word(tcp + 8);
	stamps->has_data = end != at + bytes;
	if (word(tcp + BARE) != 0x0101080a)
		return look_for_stamps(place, at + BARE, at + bytes, stamps);
	stamps->value = word(tcp + BARE + 4);
	stamps->echo = word(tcp + BARE + 8);
	return 1;
}
