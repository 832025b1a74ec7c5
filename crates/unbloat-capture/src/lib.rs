//! Captured packets from files, streams and live interfaces, in time order.
