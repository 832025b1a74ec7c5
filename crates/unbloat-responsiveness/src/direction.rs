//! Which way data goes.

/// As the client sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// To the client.
    Down,
    /// From the client.
    Up,
}

impl Direction {
    pub const BOTH: [Direction; 2] = [Direction::Down, Direction::Up];

    pub const fn name(self) -> &'static str {
        match self {
            Direction::Down => "down",
            Direction::Up => "up",
        }
    }

    /// What loads it.
    pub const fn load(self) -> &'static str {
        match self {
            Direction::Down => "download",
            Direction::Up => "upload",
        }
    }
}
