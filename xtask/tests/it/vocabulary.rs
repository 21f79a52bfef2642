//! Words that the repository does not use, found wherever they may stand.

use crate::fixture::Fixture;

const TYPES: &str = "crates/types/src/lib.rs";
const LIST: &str = r#"
[vocabulary]
enforce = true
except = ["docs/old/"]

[[vocabulary.banned]]
words = ["parlour"]
look_for = "word"
say = "installation"
phrases = ["parlour game"]
except = ["docs/games.md"]

[[vocabulary.banned]]
words = ["muttered"]
look_for = "name"
say = "reported"

[[vocabulary.banned]]
words = ["chair"]
look_for = "name_part"
say = "permit"
"#;

fn fixture() -> Fixture {
    let fixture = Fixture::clean();
    fixture.append("tidy.toml", LIST);
    fixture
}

#[test]
fn a_banned_word_is_refused_in_names_comments_strings_documents_and_paths() {
    let fixture = fixture();
    fixture.append(
        TYPES,
        "// The parlour.\npub struct TheParlour;\npub const IN: &str = \"a parlour\";\n",
    );
    fixture.write("docs/notes.md", "Notes.\n\nEvery parlour has one.\n");
    fixture.write("web/parlour/index.ts", "export {};\n");
    let run = fixture.tidy();
    for line in 2..=4 {
        run.refuses(
            &format!("{TYPES}:{line}:"),
            "`parlour` is not our word; say installation",
        );
    }
    run.refuses("docs/notes.md:3:", "`parlour` is not our word");
    run.refuses("web/parlour/index.ts:1:", "`parlour` is not our word");
    run.counts(5);
}

#[test]
fn phrases_and_paths_of_the_policy_are_allowed() {
    let fixture = fixture();
    fixture.write("docs/rules.md", "A parlour game.\n");
    fixture.write("docs/games.md", "A parlour.\n");
    fixture.write("docs/old/notes.md", "A parlour.\n");
    fixture.tidy().passes();
}

#[test]
fn a_word_that_is_banned_as_a_name_may_stand_in_prose() {
    let fixture = fixture();
    fixture.append(
        TYPES,
        "// What was muttered on a chair.\npub fn was_muttered() {}\n",
    );
    fixture.tidy().passes();
    fixture.append(TYPES, "pub fn muttered() {}\npub fn chair_of() {}\n");
    let run = fixture.tidy();
    run.refuses(
        &format!("{TYPES}:4:"),
        "`muttered` is not our word; say reported",
    );
    run.refuses(
        &format!("{TYPES}:5:"),
        "`chair` is not our word; say permit",
    );
    run.counts(2);
}

#[test]
fn a_list_that_is_not_enforced_is_counted_and_refuses_nothing() {
    let fixture = fixture();
    fixture.replace("tidy.toml", "enforce = true", "enforce = false");
    fixture.append(TYPES, "// A parlour beside a parlour.\n");
    fixture.write("docs/notes.md", "A parlour.\n");
    fixture.tidy().passes();
    let run = fixture.tidy_with(&["--words"]);
    run.passes();
    assert!(run.text.contains("docs 1, types 1"), "{}", run.text);
    let run = fixture.tidy_with(&["--places"]);
    assert!(run.text.contains("docs/notes.md:1:"), "{}", run.text);
    fixture.replace(
        "tidy.toml",
        "words = [\"parlour\"]",
        "enforce = true\nwords = [\"parlour\"]",
    );
    fixture
        .tidy()
        .refuses("docs/notes.md:1:", "`parlour` is not our word");
}
