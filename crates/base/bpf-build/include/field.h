// Members of the kernel's structures as the running kernel has them: the loader fills in where they lie (CO-RE).
// For programs of all crates; whoever includes it has defined INLINE, u8 to u64.
#pragma once

#define FIELD_BYTES 0
#define FIELD_SIZE 1
#define FIELD_EXISTS 2
#define FIELD_LEFT 4
#define FIELD_RIGHT 5
#define FIELD(what, member) __builtin_preserve_field_info(member, what)

INLINE u64 bytes_at(const void *base, u32 offset, u32 size)
{
	switch (size) {
	case 1:
		return *(const u8 *)(base + offset);
	case 2:
		return *(const u16 *)(base + offset);
	case 4:
		return *(const u32 *)(base + offset);
	default:
		return *(const u64 *)(base + offset);
	}
}

// A bit field lies in some bytes of the running kernel's structure: the loader fills in which, and by
// how much to shift them.
#define BIT_FIELD(base, member)                                                                    \
	((bytes_at((base), FIELD(FIELD_BYTES, (base)->member), FIELD(FIELD_SIZE, (base)->member))  \
	  << FIELD(FIELD_LEFT, (base)->member)) >>                                                 \
	 FIELD(FIELD_RIGHT, (base)->member))
