//! Chance that can be had again: everything a world does hangs on one number.

/// `SplitMix64`: two multiplications a throw, and every seed is a good one.
#[derive(Debug, Clone)]
pub(crate) struct Rng(u64);

/// What happened so far, as one number: equal trails are equal histories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Trail(u64);

// === impl Rng ===

impl Rng {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn throw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number from zero up to, and without, `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        let wide = u128::from(self.throw()) * (end as u128);
        (wide >> 64) as usize
    }

    /// A number between both, which are possible too.
    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low + 1) as usize) as i64
    }

    /// True once in so many throws.
    pub(crate) fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    /// 64 coins at once.
    pub(crate) fn coins(&mut self) -> u64 {
        self.throw()
    }
}

// === impl Trail ===

impl Trail {
    pub(crate) const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    pub(crate) fn mark(&mut self, what: u64) {
        self.0 = mix(self.0 ^ what);
    }
}

const fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
