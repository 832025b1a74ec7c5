//! Values in places that are used again, addressed by number.

/// A slab; the number of a value stays the same until it is taken.
#[derive(Clone, Debug)]
pub struct Slab<T> {
    places: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Slab<T> {
        Slab {
            places: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T: Copy> Slab<T> {
    /// The number under which the value is kept.
    #[inline]
    pub fn put(&mut self, value: T) -> u32 {
        if let Some(place) = self.free.pop() {
            self.places[place as usize] = value;
            return place;
        }
        self.places.push(value);
        (self.places.len() - 1) as u32
    }

    /// The value under a number that was given and not taken since.
    #[inline]
    pub fn get(&self, place: u32) -> &T {
        &self.places[place as usize]
    }

    #[inline]
    pub fn get_mut(&mut self, place: u32) -> &mut T {
        &mut self.places[place as usize]
    }

    /// Takes the value out. Each number is taken once for each time that it was given.
    #[inline]
    pub fn take(&mut self, place: u32) -> T {
        *self.release(place)
    }

    /// The same, where a look at the value is enough.
    #[inline]
    pub fn release(&mut self, place: u32) -> &T {
        self.free.push(place);
        &self.places[place as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_used_again() {
        let mut slab = Slab::default();
        let [a, b] = ["a", "b"].map(|text| slab.put(text));
        assert_eq!(slab.take(a), "a");
        let c = slab.put("c");
        assert_eq!((c, slab.take(b)), (a, "b"));
    }
}
