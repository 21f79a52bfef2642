//! Events out of bytes cut anywhere, and edits of JSON that leave JSON.
#![no_main]

use libfuzzer_sys::fuzz_target;
use trunkline_fuzz::{chosen, cut, frames_of};
use trunkline_wire::canonical::{find_signatures, strip_signature_tags};
use trunkline_wire::{Edit, Format, patch, patch_at, scan};

const MAX_STEPS: usize = 8;

fuzz_target!(|data: &[u8]| {
    let Some(([first, step], bytes)) = chosen(data) else {
        return;
    };
    let whole = frames_of(&[bytes]);
    assert_eq!(frames_of(&cut(bytes, first, step)), whole, "frames");
    let _ = find_signatures(bytes);
    let _ = strip_signature_tags(bytes, Format::Gemini, "7");
    let Ok(object) = scan(bytes) else {
        return;
    };
    let keys: Vec<String> = object
        .members()
        .iter()
        .map(|it| it.key.to_string())
        .collect();
    for key in keys.iter().map(String::as_str).chain(["new", "a.b"]) {
        let set = patch(&object, &[Edit::Set(key, b"[1]".to_vec())]);
        let again = scan(&set).expect("JSON after a member is set");
        assert_eq!(again.value(key), Some(b"[1]".as_slice()), "{key}");
        // Paths are ours: none has many steps.
        if key.matches('.').count() > MAX_STEPS {
            continue;
        }
        let at = patch_at(&object, &[(key.to_owned(), Some(b"2".to_vec()))]);
        scan(&at).expect("JSON after a path is set");
        let gone = patch_at(&object, &[(key.to_owned(), None)]);
        scan(&gone).expect("JSON after a path is left out");
    }
});
