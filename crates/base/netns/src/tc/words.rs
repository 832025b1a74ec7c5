//! Words of disciplines whose options are plain numbers, with the attribute that each one sets
//! (include/uapi/linux/pkt_sched.h; spelling as in iproute2's q_*.c).

/// What follows a word, or what it says by itself.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    Count,
    Micros,
    Nanos,
    Bytes,
    /// Bytes per second in 32 bits.
    Rate,
    /// Bytes per second in 64 bits.
    Rate64,
    Signed,
    Says(u32),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Word {
    pub(super) name: &'static str,
    pub(super) attribute: u16,
    pub(super) value: Value,
}

macro_rules! words {
    ($($name:literal $attribute:literal $value:expr;)*) => {
        &[$(Word { name: $name, attribute: $attribute, value: { use Value::*; $value } },)*]
    };
}

pub(super) const CODEL: &[Word] = words! {
    "target" 1 Micros;
    "limit" 2 Count;
    "interval" 3 Micros;
    "ecn" 4 Says(1);
    "noecn" 4 Says(0);
    "ce_threshold" 5 Micros;
};

pub(super) const FQ_CODEL: &[Word] = words! {
    "target" 1 Micros;
    "limit" 2 Count;
    "interval" 3 Micros;
    "ecn" 4 Says(1);
    "noecn" 4 Says(0);
    "flows" 5 Count;
    "quantum" 6 Bytes;
    "ce_threshold" 7 Micros;
    "drop_batch" 8 Count;
    "memory_limit" 9 Bytes;
};

pub(super) const PIE: &[Word] = words! {
    "target" 1 Micros;
    "limit" 2 Count;
    "tupdate" 3 Micros;
    "alpha" 4 Count;
    "beta" 5 Count;
    "ecn" 6 Says(1);
    "noecn" 6 Says(0);
    "bytemode" 7 Says(1);
    "nobytemode" 7 Says(0);
    "dq_rate_estimator" 8 Says(1);
    "no_dq_rate_estimator" 8 Says(0);
};

pub(super) const FQ: &[Word] = words! {
    "limit" 1 Count;
    "flow_limit" 2 Count;
    "quantum" 3 Bytes;
    "initial_quantum" 4 Bytes;
    "pacing" 5 Says(1);
    "nopacing" 5 Says(0);
    "maxrate" 7 Rate;
    "buckets" 8 Count;
    "refill_delay" 9 Micros;
    "orphan_mask" 10 Count;
    "low_rate_threshold" 11 Rate;
    "ce_threshold" 12 Micros;
    "timer_slack" 13 Nanos;
    "horizon" 14 Micros;
};

/// `nat` is left out: the guest's kernel tracks no connections.
pub(super) const CAKE: &[Word] = words! {
    "bandwidth" 2 Rate64;
    "unlimited" 2 Says(0);
    "diffserv3" 3 Says(0);
    "diffserv4" 3 Says(1);
    "diffserv8" 3 Says(2);
    "besteffort" 3 Says(3);
    "precedence" 3 Says(4);
    "noatm" 4 Says(0);
    "atm" 4 Says(1);
    "ptm" 4 Says(2);
    "flowblind" 5 Says(0);
    "srchost" 5 Says(1);
    "dsthost" 5 Says(2);
    "hosts" 5 Says(3);
    "flows" 5 Says(4);
    "dual-srchost" 5 Says(5);
    "dual-dsthost" 5 Says(6);
    "triple-isolate" 5 Says(7);
    "overhead" 6 Signed;
    "rtt" 7 Micros;
    "target" 8 Micros;
    "autorate-ingress" 9 Says(1);
    "memlimit" 10 Bytes;
    "raw" 12 Says(0);
    "nowash" 13 Says(0);
    "wash" 13 Says(1);
    "mpu" 14 Count;
    "egress" 15 Says(0);
    "ingress" 15 Says(1);
    "no-ack-filter" 16 Says(0);
    "ack-filter" 16 Says(1);
    "ack-filter-aggressive" 16 Says(2);
    "no-split-gso" 17 Says(0);
    "split-gso" 17 Says(1);
};
