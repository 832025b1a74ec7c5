// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Which device of which network namespace: only the members that are read, by the kernel's names. Where they lie in the running
// kernel is found out when the programs are loaded (CO-RE).
#pragma once

#include "types.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	u32 inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct net_device {
	u32 ifindex;
	possible_net_t nd_net;
};

#pragma clang attribute pop
