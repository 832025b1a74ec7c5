//! System calls behind safe functions: what rustix and socket2 do not have, and what several crates do alike.
//!
//! - [`batch`]: many packets by one system call
//! - [`checksum`]: the Internet checksum
//! - [`clock`]: the kernel's clocks
//! - [`device`]: network devices
//! - [`epoll`]: waiting for many sockets, to the nanosecond
//! - [`files`]: files in folders that others may have filled
//! - [`guard`]: a second process that undoes what a killed process left
//! - [`heap`]: how much of the heap is in use
//! - [`icmp`]: echo requests and replies
//! - [`limit`]: limits of this process
//! - [`lock`]: mutexes that outlive a panic
//! - [`message`]: a packet with what the kernel says beside it
//! - [`namespace`]: network namespaces
//! - [`netlink`]: requests and attributes that the netlink crates do not model
//! - [`offload`]: segmentation and merge offloads of an interface
//! - [`packet`]: packet sockets
//! - [`priority`]: the scheduling class of a thread
//! - [`signal`]: signals of a process that waits for another
//! - [`sockopt`]: socket options
//! - [`tcp`]: what a TCP socket is asked beside its bytes
//! - [`tcp_info`]: the kernel's view of a TCP connection
//! - [`tun`]: TUN devices
//! - [`user`]: whose rights this process has

pub mod batch;
pub mod checksum;
pub mod clock;
pub mod device;
pub mod epoll;
pub mod files;
pub mod folders;
pub mod guard;
pub mod heap;
pub mod icmp;
pub mod limit;
pub mod lock;
pub mod message;
pub mod namespace;
pub mod netlink;
pub mod offload;
pub mod packet;
pub mod priority;
pub mod privilege;
pub mod signal;
pub mod sockopt;
pub mod stacked;
pub mod tcp;
pub mod tcp_info;
pub mod tun;
pub mod user;
