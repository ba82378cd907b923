//! A set of packed states that numbers them in the order in which they came.

/// Open addressing: millions of states, and nothing beside their bits and a number.
pub(super) struct Set {
    pub(super) keys: Vec<u128>,
    table: Vec<u32>,
}

const FREE: u32 = u32::MAX;

impl Set {
    pub(super) fn new() -> Self {
        Self {
            keys: Vec::new(),
            table: vec![FREE; 1 << 12],
        }
    }

    /// The number of a state, and whether it is new.
    pub(super) fn add(&mut self, key: u128) -> (u32, bool) {
        if self.keys.len() * 2 > self.table.len() {
            self.grow();
        }
        let slot = self.slot(key);
        if self.table[slot] != FREE {
            return (self.table[slot], false);
        }
        let number = u32::try_from(self.keys.len()).expect("fewer than 2^32 states");
        self.table[slot] = number;
        self.keys.push(key);
        (number, true)
    }

    /// Where a state is, or would be.
    fn slot(&self, key: u128) -> usize {
        let mask = self.table.len() - 1;
        let mut slot = hash(key) & mask;
        while self.table[slot] != FREE && self.keys[self.table[slot] as usize] != key {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn grow(&mut self) {
        self.table = vec![FREE; self.table.len() * 2];
        for (number, key) in (0..).zip(&self.keys) {
            let mask = self.table.len() - 1;
            let mut slot = hash(*key) & mask;
            while self.table[slot] != FREE {
                slot = (slot + 1) & mask;
            }
            self.table[slot] = number;
        }
    }
}

/// The finisher of splitmix64 over both halves.
#[allow(clippy::cast_possible_truncation, reason = "the halves are what is meant")]
fn hash(key: u128) -> usize {
    let x = (key as u64) ^ ((key >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x ^ (x >> 31)) as usize
}
