//! The pages, all of them.

use super::*;

fn built() -> Site {
    built_for(Audience::Operators)
}

fn built_for(audience: Audience) -> Site {
    let settings = DocsSettings {
        base_url: "https://api.example.com".to_owned(),
        dash_url: "https://console.example.com".to_owned(),
        model: "sim-fast".to_owned(),
    };
    Site::build(&Facts {
        audience,
        settings: &settings,
        console: &Value::Null,
        cells: &[],
    })
}

#[test]
fn every_page_has_a_head_and_a_place_of_its_own() {
    let site = built();
    assert_eq!(site.pages.len(), SOURCES.len().checked_add(3).unwrap());
    for page in &site.pages {
        assert!(
            !page.rendered.title.is_empty(),
            "{} has a title",
            page.head.slug
        );
        assert!(page.head.summary.ends_with('.'), "{}", page.head.slug);
    }
    let mut places: Vec<_> = site
        .pages
        .iter()
        .map(|page| (page.head.group, page.head.order))
        .collect();
    let count = places.len();
    places.dedup();
    assert_eq!(places.len(), count, "no two pages have one place");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the files are our own documents")]
fn every_document_of_the_two_folders_that_has_a_head_is_a_page() {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
    let mut found: usize = 0;
    for folder in ["guide", "operate"] {
        for entry in std::fs::read_dir(format!("{docs}/{folder}")).unwrap() {
            let entry = entry.unwrap();
            // Steps that pages lead to are files below them.
            if entry.path().is_dir() {
                continue;
            }
            let text = std::fs::read_to_string(entry.path()).unwrap();
            if text.starts_with("---\n") {
                let name = entry.file_name().into_string().unwrap();
                let slug = name.strip_suffix(".md").unwrap();
                assert!(SOURCES.iter().any(|source| source.slug == slug), "{name}");
                found = found.saturating_add(1);
            }
        }
    }
    assert_eq!(found, SOURCES.len(), "each page has its own document");
}

#[test]
fn every_link_between_pages_leads_to_a_page_and_a_heading() {
    let site = built();
    let mut wrong = Vec::new();
    for page in &site.pages {
        let slug = &page.head.slug;
        for broken in &page.rendered.broken {
            wrong.push(format!("{slug}: {broken} is no page"));
        }
        for link in page.rendered.html.split("href=\"").skip(1) {
            let to = link.split('"').next().unwrap();
            let (path, heading) = to.split_once('#').unwrap_or((to, ""));
            let target = match path {
                "" => Some(slug.as_str()),
                "/docs" => Some("index"),
                path => path.strip_prefix("/docs/"),
            };
            let Some(target) = target.filter(|_| !path.ends_with(".json")) else {
                continue;
            };
            let known = site.pages.iter().any(|page| page.head.slug == target);
            if !known {
                wrong.push(format!("{slug}: {to} is no page"));
            } else if !heading.is_empty() && !site.has_heading(target, heading) {
                wrong.push(format!("{slug}: {to} is no heading"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn customers_get_no_page_about_operating_in_any_document() {
    let site = built_for(Audience::Customers);
    let operating: Vec<&str> = built()
        .pages
        .iter()
        .filter(|page| page.head.group == Group::Operate)
        .map(|page| page.head.slug.as_str())
        .filter_map(|slug| SOURCES.iter().find(|source| source.slug == slug))
        .map(|source| source.slug)
        .collect();
    assert!(operating.len() > 15, "{operating:?}");
    for slug in &operating {
        assert!(site.file(&format!("/docs/{slug}")).is_none(), "{slug}");
        assert!(site.file(&format!("/docs/{slug}.md")).is_none(), "{slug}");
    }
    for (path, file) in &site.files {
        let text = String::from_utf8(file.body.to_vec()).unwrap();
        for slug in &operating {
            for link in [
                format!("/docs/{slug}.md"),
                format!("operate/{slug}.md"),
                format!("\"/docs/{slug}\""),
            ] {
                assert!(!text.contains(&link), "{path} leads to {link}");
            }
        }
    }
    let list = site.file("/llms.txt").unwrap().body.clone();
    assert!(
        !String::from_utf8(list.to_vec())
            .unwrap()
            .contains("## Operate")
    );
}

#[test]
fn an_installations_values_fill_every_placeholder() {
    let site = built();
    for (path, file) in &site.files {
        let text = String::from_utf8(file.body.to_vec()).unwrap();
        for place in ["{{base_url}}", "{{dash_url}}", "{{model}}"] {
            assert!(!text.contains(place), "{path} has {place}");
        }
    }
    let list = String::from_utf8(site.file("/llms.txt").unwrap().body.to_vec()).unwrap();
    assert!(list.contains("https://api.example.com/v1"));
    for page in &site.pages {
        let line = format!(
            "](https://console.example.com/docs/{}.md): ",
            page.head.slug
        );
        assert!(list.contains(&line), "{line}");
        let twin = site.file(&format!("/docs/{}.md", page.head.slug)).unwrap();
        assert!(twin.body.starts_with(b"# "), "{}", page.head.slug);
    }
}

#[test]
fn the_quickstart_leaves_a_place_for_a_key_that_a_reader_can_replace() {
    let site = built();
    let quickstart = site
        .pages
        .iter()
        .find(|page| page.head.slug == "quickstart");
    let html = &quickstart.unwrap().rendered.html;
    let line = "export TRUNKLINE_KEY=<b>&quot;<span class=\"key\" data-quote=\"\">sk-tl-…</span>&quot;</b>";
    assert!(html.contains(line), "{html}");
    for page in &site.pages {
        for line in page.rendered.html.lines() {
            let Some((_, set)) = line.split_once("export ") else {
                continue;
            };
            let name = set.split('=').next().unwrap();
            let itself = format!("${name}<");
            assert!(!set.contains(&itself), "{}: {line}", page.head.slug);
        }
    }
}

#[test]
fn no_page_has_inline_styles_or_scripts_which_our_csp_forbids() {
    for page in built().pages {
        let html = &page.rendered.html;
        for never in ["style=\"", "<script", "onclick", "javascript:", "<img"] {
            assert!(!html.contains(never), "{} has {never}", page.head.slug);
        }
    }
}

#[test]
fn a_page_that_is_not_there_names_those_that_may_be_meant() {
    let site = built();
    let page = String::from_utf8(site.missing("/docs/webhook").body.to_vec()).unwrap();
    let main = page.split("<main").nth(1).unwrap();
    assert!(main.contains("href=\"/docs/webhooks\""), "{main}");
}
