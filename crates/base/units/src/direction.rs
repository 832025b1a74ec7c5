//! The two directions of a path, and values that exist once for each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Index, IndexMut};

/// A direction of data, seen from the client.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Towards the client.
    #[default]
    Down,
    /// Towards the server.
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

    pub const fn reverse(self) -> Direction {
        match self {
            Direction::Down => Direction::Up,
            Direction::Up => Direction::Down,
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A value for each direction, indexed by [`Direction`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Both<T> {
    pub down: T,
    pub up: T,
}

impl<T> Both<T> {
    pub const fn new(down: T, up: T) -> Both<T> {
        Both { down, up }
    }

    /// The value of each direction, down first.
    pub fn of(mut value: impl FnMut(Direction) -> T) -> Both<T> {
        let down = value(Direction::Down);
        Both {
            down,
            up: value(Direction::Up),
        }
    }

    /// The same, unless one of them fails.
    pub fn try_of<E>(mut value: impl FnMut(Direction) -> Result<T, E>) -> Result<Both<T>, E> {
        let down = value(Direction::Down)?;
        Ok(Both {
            down,
            up: value(Direction::Up)?,
        })
    }

    pub fn map<U>(self, mut change: impl FnMut(T) -> U) -> Both<U> {
        let down = change(self.down);
        Both {
            down,
            up: change(self.up),
        }
    }

    pub const fn as_ref(&self) -> Both<&T> {
        Both {
            down: &self.down,
            up: &self.up,
        }
    }

    pub const fn as_mut(&mut self) -> Both<&mut T> {
        Both {
            down: &mut self.down,
            up: &mut self.up,
        }
    }

    pub fn zip<U>(self, other: Both<U>) -> Both<(T, U)> {
        Both {
            down: (self.down, other.down),
            up: (self.up, other.up),
        }
    }

    /// Both values, down first.
    pub fn iter(&self) -> std::array::IntoIter<&T, 2> {
        self.as_ref().into_iter()
    }

    pub fn iter_mut(&mut self) -> std::array::IntoIter<&mut T, 2> {
        self.as_mut().into_iter()
    }

    /// Both values with their direction, down first.
    pub fn entries(&self) -> std::array::IntoIter<(Direction, &T), 2> {
        [(Direction::Down, &self.down), (Direction::Up, &self.up)].into_iter()
    }
}

impl<T> IntoIterator for Both<T> {
    type Item = T;
    type IntoIter = std::array::IntoIter<T, 2>;

    fn into_iter(self) -> Self::IntoIter {
        [self.down, self.up].into_iter()
    }
}

impl<'a, T> IntoIterator for &'a Both<T> {
    type Item = &'a T;
    type IntoIter = std::array::IntoIter<&'a T, 2>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, T> IntoIterator for &'a mut Both<T> {
    type Item = &'a mut T;
    type IntoIter = std::array::IntoIter<&'a mut T, 2>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<T> Index<Direction> for Both<T> {
    type Output = T;

    #[inline]
    fn index(&self, direction: Direction) -> &T {
        match direction {
            Direction::Down => &self.down,
            Direction::Up => &self.up,
        }
    }
}

impl<T> IndexMut<Direction> for Both<T> {
    #[inline]
    fn index_mut(&mut self, direction: Direction) -> &mut T {
        match direction {
            Direction::Down => &mut self.down,
            Direction::Up => &mut self.up,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_direction_has_its_own_value() {
        let mut both = Both::of(Direction::load);
        assert_eq!((both.down, both[Direction::Up]), ("download", "upload"));
        both[Direction::Down] = "x";
        assert_eq!(both, Both::new("x", "upload"));
        assert_eq!(both.map(str::len), Both::new(1, 6));
        let entries: Vec<_> = both.entries().collect();
        assert_eq!(
            entries,
            [(Direction::Down, &"x"), (Direction::Up, &"upload")]
        );
    }
}
