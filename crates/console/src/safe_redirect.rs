//! Which page to show after a way elsewhere: one of our own, whatever was asked for.

use trunkline_store::oidc::RETURN_TO_MAX_CHARACTERS;
use url::Url;

/// A path on our own site, whatever was asked for.
pub(crate) fn own_path(dash_url: &str, return_to: Option<&str>) -> String {
    let home = || "/".to_owned();
    let Some(return_to) = return_to.filter(|return_to| return_to.len() <= RETURN_TO_MAX_CHARACTERS)
    else {
        return home();
    };
    // Browsers read a backslash as a slash and overlook tabs and line breaks.
    let plain = return_to
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if !plain || !return_to.starts_with('/') || return_to.starts_with("//") {
        return home();
    }
    let Ok(base) = Url::parse(dash_url) else {
        return home();
    };
    match base.join(return_to) {
        Ok(url) if url.origin() == base.origin() => {
            let query = url.query().map(|query| format!("?{query}"));
            let fragment = url.fragment().map(|fragment| format!("#{fragment}"));
            let path = format!(
                "{}{}{}",
                url.path(),
                query.unwrap_or_default(),
                fragment.unwrap_or_default()
            );
            if path.starts_with("//") || path.len() > RETURN_TO_MAX_CHARACTERS {
                return home();
            }
            path
        }
        Ok(_) | Err(_) => home(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_never_leave_the_site() {
        let own = |return_to: &str| own_path("https://dash.example", Some(return_to));
        for good in [
            "/",
            "/keys",
            "/logs?from=2026-11-01&key=7",
            "/wallet#redeem",
            "/a//b",
        ] {
            assert_eq!(own(good), good);
        }
        let long = format!("/{}", "a".repeat(512));
        for bad in [
            "",
            "keys",
            "//evil.example",
            "///evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "https://evil.example/",
            "https:evil.example",
            "javascript:alert(1)",
            "/\t/evil.example",
            "/\n/evil.example",
            "/.//evil.example",
            "/..//evil.example",
            "/%0d%0aset-cookie:x\r\n",
            " /keys",
            &long,
        ] {
            assert_eq!(own(bad), "/", "{bad:?}");
        }
        assert_eq!(own_path("https://dash.example", None), "/");
        // It stays a path of ours, dots and all.
        assert_eq!(own("/a/../keys"), "/keys");
    }
}
