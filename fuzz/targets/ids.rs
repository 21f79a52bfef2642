//! Sealed ids: no text from outside opens, but those that were sealed for the same binding.
#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use trunkline_fuzz::chosen;
use trunkline_keyring::{Binding, Document, Keyring, SystemRandom};
use trunkline_types::Timestamp;

static KEYRING: LazyLock<Keyring> = LazyLock::new(keyring);
/// Seals nothing: the fuzzer learns texts that this process has compared, those of the other keyring among them.
static UNUSED: LazyLock<Keyring> = LazyLock::new(keyring);

fn keyring() -> Keyring {
    let random = SystemRandom;
    let document = Document::generate(Timestamp::from_micros(0), &random).expect("random bytes");
    Keyring::new(&document, Arc::new(random)).expect("a keyring")
}

fuzz_target!(|data: &[u8]| {
    let Some(([at, bit], bytes)) = chosen(data) else {
        return;
    };
    let binding = Binding {
        account: None,
        context: b"fuzz",
    };
    let text = String::from_utf8_lossy(bytes);
    assert!(
        UNUSED.open_id(&binding, "resp_", &text).is_err(),
        "a foreign text opened"
    );
    let Ok(sealed) = KEYRING.seal_id(&binding, "resp_", bytes) else {
        return;
    };
    let opened = KEYRING
        .open_id(&binding, "resp_", &sealed)
        .expect("its own text opens");
    assert_eq!(opened.reveal(), bytes);
    let mut other = sealed.clone().into_bytes();
    let place = usize::from(at) % other.len();
    other[place] ^= 1 << (bit % 7);
    let other = String::from_utf8_lossy(&other);
    if other != sealed {
        assert!(
            KEYRING.open_id(&binding, "resp_", &other).is_err(),
            "a changed text opened"
        );
    }
});
