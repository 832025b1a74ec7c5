//! The smallest or largest value of a moving window in constant space (Nichols' filter).
//!
//! # References
//! Linux `lib/win_minmax.c`: three candidates, the best of the whole window, of its last three
//! quarters and of its last half.

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Candidate {
    at: u32,
    value: u32,
}

/// Three candidates for the extreme; `at` is in whatever unit the window is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Windowed([Candidate; 3]);

impl Windowed {
    pub(crate) fn new(at: u32, value: u32) -> Windowed {
        Windowed([Candidate { at, value }; 3])
    }

    pub(crate) fn get(&self) -> u32 {
        self.0[0].value
    }

    pub(crate) fn reset(&mut self, at: u32, value: u32) -> u32 {
        *self = Windowed::new(at, value);
        value
    }

    pub(crate) fn running_min(&mut self, window: u32, at: u32, value: u32) -> u32 {
        self.update(window, Candidate { at, value }, |a, b| a <= b)
    }

    pub(crate) fn running_max(&mut self, window: u32, at: u32, value: u32) -> u32 {
        self.update(window, Candidate { at, value }, |a, b| a >= b)
    }

    fn update(&mut self, window: u32, new: Candidate, beats: fn(u32, u32) -> bool) -> u32 {
        let [first, second, third] = &mut self.0;
        if beats(new.value, first.value) || new.at.wrapping_sub(third.at) > window {
            return self.reset(new.at, new.value);
        }
        if beats(new.value, second.value) {
            *second = new;
            *third = new;
        } else if beats(new.value, third.value) {
            *third = new;
        }
        self.age(window, new)
    }

    fn age(&mut self, window: u32, new: Candidate) -> u32 {
        let [first, second, third] = &mut self.0;
        let age = new.at.wrapping_sub(first.at);
        if age > window {
            (*first, *second, *third) = (*second, *third, new);
            if new.at.wrapping_sub(first.at) > window {
                (*first, *second, *third) = (*second, *third, new);
            }
        } else if second.at == first.at && age > window / 4 {
            *second = new;
            *third = new;
        } else if third.at == second.at && age > window / 2 {
            *third = new;
        }
        self.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minimum_is_forgotten_when_the_window_has_passed_it() {
        let mut min = Windowed::new(0, 10);
        assert_eq!(min.running_min(100, 30, 20), 10);
        assert_eq!(min.running_min(100, 60, 15), 10);
        assert_eq!(min.running_min(100, 101, 30), 15);
        assert_eq!(min.running_min(100, 102, 5), 5);
    }

    #[test]
    fn a_maximum_is_the_mirror_of_a_minimum() {
        let mut max = Windowed::new(0, 10);
        assert_eq!(max.running_max(10, 4, 7), 10);
        assert_eq!(max.running_max(10, 11, 3), 7);
        assert_eq!(max.running_max(10, 40, 1), 1);
    }
}
