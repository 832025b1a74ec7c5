//! Flow and user tables and every per-flow analysis: one shard's packets in time order to rows.
