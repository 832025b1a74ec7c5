//! Numbers of linux/rtnetlink.h and its neighbours that requests are made of.

pub use libc::{
    AF_INET, IFF_UP, NUD_PERMANENT, RT_TABLE_MAIN, RTM_GETQDISC, RTM_NEWADDR, RTM_NEWLINK,
    RTM_NEWNEIGH, RTM_NEWQDISC, RTM_NEWROUTE, RTM_NEWTCLASS, TCA_KIND, TCA_OPTIONS, TCA_STAB,
    TCA_STATS2,
};
