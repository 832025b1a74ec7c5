//! Names of link types that captures have and nobody here reads.

/// Frames of Wi-Fi as they are on the air.
pub(crate) fn is_wifi(number: u16) -> bool {
    matches!(number, 105 | 119 | 127 | 163 | 192)
}

/// What people call a LINKTYPE_ number.
pub(crate) fn name(number: u16) -> &'static str {
    match number {
        6 => "Token Ring",
        10 => "FDDI",
        11 | 100 | 123 => "ATM",
        104 => "Cisco HDLC",
        105 => "IEEE 802.11",
        107 => "Frame Relay",
        119 | 127 | 163 | 192 => "IEEE 802.11 with radio headers",
        117 => "OpenBSD pf log",
        122 => "IP over Fibre Channel",
        143 => "DOCSIS",
        187 | 201 | 251 | 254 | 255 | 256 => "Bluetooth",
        189 | 220 | 249 => "USB",
        190 | 227 => "CAN",
        195 | 215 | 230 | 283 => "IEEE 802.15.4",
        239 => "Linux netfilter log",
        253 => "Linux netlink",
        147..=162 => "private use",
        _ => "not known to unbloat",
    }
}

/// What is read, for people who have to capture again.
pub(crate) const READ: &str = "Ethernet (1), raw IP (12, 14, 101, 228, 229), BSD loopback (0, 108), PPP (9, 50, 51) and Linux \"any\" (113, 276)";
