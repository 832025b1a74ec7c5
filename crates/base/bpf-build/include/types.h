// SPDX-License-Identifier: MIT OR GPL-2.0-only
//
// Names of types, for programs of all crates; some are compiled for this machine, too.
#pragma once

#define INLINE static __attribute__((always_inline, unused)) inline

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;
