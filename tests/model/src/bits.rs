//! Numbers of a few bits, packed into one. Must never lose a bit of one that fits.

/// Puts numbers of a few bits together.
pub(crate) struct Writer(u128, u32);

impl Writer {
    pub(crate) const fn new() -> Self {
        Self(0, 0)
    }

    pub(crate) fn put(&mut self, value: u8, bits: u32) {
        debug_assert!(u32::from(value) < (1 << bits), "{value} has more than {bits} bits");
        self.0 |= u128::from(value) << self.1;
        self.1 += bits;
    }

    pub(crate) const fn packed(&self) -> u128 {
        self.0
    }
}

/// Reads what a [`Writer`] put together.
pub(crate) struct Reader(u128);

impl Reader {
    pub(crate) const fn new(packed: u128) -> Self {
        Self(packed)
    }

    pub(crate) fn get(&mut self, bits: u32) -> u8 {
        let value = self.0 & ((1 << bits) - 1);
        self.0 >>= bits;
        u8::try_from(value).unwrap_or_default()
    }
    pub(crate) fn flag(&mut self) -> bool {
        self.get(1) == 1
    }
}
