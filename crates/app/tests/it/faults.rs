//! A gateway in a process of its own, killed, frozen and cut off under load; then everything that
//! clients were told is compared with what the upstream served and with the books.

mod bad_day;
mod chat_chaos;
mod checker;
pub(crate) mod client_view;
mod cluster;
mod fault_matrix;
pub(crate) mod formats;
mod load;
mod losses;
mod media;
mod neighbours;
mod payment_chaos;
mod price_reload;
pub(crate) mod prices;
pub(crate) mod process_harness;
mod realtime;
mod restore_drill;
mod rotation;
mod silent_sockets;
mod social;
mod streams;
mod upgrade;
mod video_chaos;
mod workflow_runs;

/// How many, or how long: the size of the gate, or what a recipe of the long form sets.
pub(crate) fn number(name: &str, short: u64) -> u64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads how many and how long; tests have no configuration"
    )]
    let variable = std::env::var(name);
    variable.map_or(short, |text| text.parse().expect("a number"))
}

/// A number below another one; splitmix64.
pub(crate) fn draw(dice: &mut u64, below: usize) -> usize {
    *dice = dice.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *dice;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    usize::try_from(mixed % u64::try_from(below).unwrap()).unwrap()
}
