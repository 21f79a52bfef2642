//! Email templates: a subject, a few plain sentences, the link.

use time::format_description::BorrowedFormatItem;
use time::macros::format_description;
use trunkline_db::to_sql_time;
use trunkline_store::emails::{Content, Kind};
use trunkline_store::low_balance::Language;
use trunkline_types::Timestamp;

/// Longest part of a name in an email: names are user input.
const MAX_NAME_CHARACTERS: usize = 80;

const UNTIL: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day] [hour]:[minute] UTC");

/// An email as text and HTML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RenderedEmail {
    pub(crate) subject: String,
    pub(crate) text: String,
    pub(crate) html: String,
}

/// The texts of one kind of email.
struct Parts {
    subject: String,
    lead: String,
    button: &'static str,
    /// What to know about the link.
    about: String,
    /// What to do if the recipient did not request it.
    otherwise: &'static str,
}

pub(crate) fn render(
    instance: &str,
    kind: Kind,
    content: &Content,
    expires_at: Timestamp,
) -> RenderedEmail {
    let instance = plain(instance);
    let language = content.low_balance.as_ref();
    let language = language.and_then(|low| Language::of(&low.language));
    let language = language.unwrap_or(Language::English);
    let parts = parts(&instance, kind, content, expires_at);
    let name = plain(&content.name);
    let greeting = match (language, name.is_empty()) {
        (Language::English, true) => "Hello,".to_owned(),
        (Language::English, false) => format!("Hello {name},"),
        (Language::Chinese, true) => "您好：".to_owned(),
        (Language::Chinese, false) => format!("{name}，您好："),
    };
    let about = if parts.about.is_empty() {
        String::new()
    } else {
        format!("{}\n\n", parts.about)
    };
    let text = format!(
        "{greeting}\n\n{}\n\n{}\n\n{about}{}\n\n{instance}\n",
        parts.lead, content.link, parts.otherwise
    );
    RenderedEmail {
        text,
        html: html(&instance, &greeting, &parts, &content.link, language),
        subject: parts.subject,
    }
}

/// A notice to an operator: plain sentences, no link.
pub(crate) fn render_notice(instance: &str, subject: &str, text: &str) -> RenderedEmail {
    let instance = plain(instance);
    let lines = text.lines().map(escaped).collect::<Vec<_>>().join("<br>");
    RenderedEmail {
        subject: format!("{instance}: {}", plain(subject)),
        text: format!("{text}\n\n{instance}\n"),
        html: format!("<p>{lines}</p><p>{}</p>", escaped(&instance)),
    }
}

fn parts(instance: &str, kind: Kind, content: &Content, expires_at: Timestamp) -> Parts {
    let until = to_sql_time(expires_at).format(UNTIL).unwrap_or_default();
    let once = format!("The link works once and expires at {until}.");
    match kind {
        Kind::Verify => Parts {
            subject: format!("Verify your email for {instance}"),
            lead: format!(
                "open this link to verify your email address and activate your account at {instance}:"
            ),
            button: "Verify email",
            about: once,
            otherwise: "If you did not sign up, ignore this email; nothing changes unless the link is opened.",
        },
        Kind::Reset => Parts {
            subject: format!("Reset your password for {instance}"),
            lead: format!(
                "we received a request to reset the password of your account at {instance}. Open this link to choose a new one:"
            ),
            button: "Choose a password",
            about: once,
            otherwise: "If that was not you, ignore this email; your password is unchanged.",
        },
        Kind::Invitation => {
            let organisation = content.organisation.as_deref().map(without_addresses);
            let organisation = organisation.as_deref().unwrap_or(instance);
            let by = content.by.as_deref().map(without_addresses);
            let by = by.as_deref().unwrap_or("A member");
            Parts {
                // The sender chooses its names, and a subject is read before its sender is judged.
                subject: format!("Invitation to an organisation at {instance}"),
                lead: format!(
                    "a member with the name \"{by}\" invited you to join the organisation \"{organisation}\" at {instance}. Open this link to accept:"
                ),
                button: "Accept invitation",
                about: once,
                otherwise: "If you do not know the sender, ignore this email; nothing changes unless the link is opened.",
            }
        }
        Kind::Known => Parts {
            subject: format!("You already have an account at {instance}"),
            lead: format!(
                "we received a sign-up at {instance} with this email address. You already have an account, and nothing was changed. Sign in here:"
            ),
            button: "Sign in",
            about: "If you forgot your password, you can reset it on the sign-in page.".to_owned(),
            otherwise: "If that was not you, ignore this email.",
        },
        Kind::LowBalance => low_balance(instance, content),
    }
}

fn low_balance(instance: &str, content: &Content) -> Parts {
    let organisation = plain(content.organisation.as_deref().unwrap_or(instance));
    let low = content.low_balance.as_ref();
    let usd = |text: Option<&String>| text.map_or("", String::as_str).to_owned();
    let balance = usd(low.map(|low| &low.balance_usd));
    let threshold = usd(low.map(|low| &low.threshold_usd));
    match low.and_then(|low| Language::of(&low.language)) {
        Some(Language::Chinese) => Parts {
            subject: format!("{instance} 余额不足提醒"),
            lead: format!(
                "组织“{organisation}”在 {instance} 的余额为 {balance} 美元，低于您设置的提醒金额 {threshold} 美元。请在钱包中充值："
            ),
            button: "打开钱包",
            about: "余额用完后，调用会被拒绝。".to_owned(),
            otherwise: "您可以在钱包页面更改提醒金额或关闭此邮件。",
        },
        Some(Language::English) | None => Parts {
            subject: format!("Low balance at {instance}"),
            lead: format!(
                "the balance of \"{organisation}\" at {instance} is {balance} USD, below your alert of {threshold} USD. Add credit in the wallet:"
            ),
            button: "Open the wallet",
            about: "Calls are refused when the balance is used up.".to_owned(),
            otherwise: "You can change the alert or turn this email off in the wallet.",
        },
    }
}

fn html(instance: &str, greeting: &str, parts: &Parts, link: &str, language: Language) -> String {
    let (lang, copy) = match language {
        Language::English => ("en", "Or copy this address into your browser:"),
        Language::Chinese => ("zh-Hans", "或将此地址复制到浏览器中："),
    };
    let (instance, greeting, link) = (escaped(instance), escaped(greeting), escaped(link));
    let (lead, about) = (escaped(&parts.lead), escaped(&parts.about));
    let (button, otherwise) = (parts.button, escaped(parts.otherwise));
    format!(
        "<!doctype html>\n<html lang=\"{lang}\"><head><meta charset=\"utf-8\"><title>{instance}</title></head>\n\
         <body style=\"margin:0;padding:24px;font:16px/1.5 system-ui,sans-serif;color:#1a1a1a;background:#ffffff\">\n\
         <div style=\"max-width:520px;margin:0 auto\">\n\
         <p>{greeting}</p>\n<p>{lead}</p>\n\
         <p><a href=\"{link}\" style=\"display:inline-block;padding:10px 18px;border-radius:8px;background:#1a1a1a;\
         color:#ffffff;text-decoration:none\">{button}</a></p>\n\
         <p style=\"font-size:13px;color:#555555\">{copy}<br>\
         <span style=\"word-break:break-all\">{link}</span></p>\n\
         <p style=\"font-size:13px;color:#555555\">{about}</p>\n\
         <p style=\"font-size:13px;color:#555555\">{otherwise}</p>\n<p>{instance}</p>\n</div></body></html>\n"
    )
}

/// A name on one line, truncated: a line break in a subject would allow header injection.
fn plain(name: &str) -> String {
    let cleaned = name.split(char::is_control).collect::<Vec<_>>().join(" ");
    let cleaned = cleaned.trim();
    if cleaned.chars().count() <= MAX_NAME_CHARACTERS {
        return cleaned.to_owned();
    }
    let kept: String = cleaned.chars().take(MAX_NAME_CHARACTERS).collect();
    format!("{kept}…")
}

/// A name that its owner chose, without what mail programs make a link of.
fn without_addresses(name: &str) -> String {
    let is_link = |word: &&str| {
        let inner = word.trim_matches(|c: char| !c.is_alphanumeric());
        inner.contains("://") || inner.contains(['@', '.'])
    };
    let words = plain(name);
    let words = words.split_whitespace();
    let kept: Vec<&str> = words
        .map(|word| if is_link(&word) { "…" } else { word })
        .collect();
    kept.join(" ").replace('"', "'")
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use trunkline_store::emails::LowBalanceContent;

    use super::*;

    fn rendered(kind: Kind, name: &str) -> RenderedEmail {
        let content = Content {
            link: "https://dash.example.com/verify#t_0".to_owned(),
            name: name.to_owned(),
            organisation: Some(format!("Works of {name}")),
            by: Some(name.to_owned()),
            low_balance: None,
        };
        render(
            "Trunk & Line",
            kind,
            &content,
            Timestamp::from_micros(1_800_000_000_000_000),
        )
    }

    #[test]
    fn every_email_has_its_link_in_text_and_html_and_names_its_purpose() {
        let subjects: Vec<String> = Kind::ALL
            .into_iter()
            .map(|kind| {
                let rendered = rendered(kind, "Ada");
                let link = "https://dash.example.com/verify#t_0";
                assert!(rendered.text.contains(link), "{}", rendered.text);
                assert!(
                    rendered.html.contains(&format!("href=\"{link}\"")),
                    "{}",
                    rendered.html
                );
                assert!(
                    rendered.html.contains("Trunk &amp; Line"),
                    "{}",
                    rendered.html
                );
                assert_eq!(
                    rendered.text.contains("expires at 2027-01-15 08:00 UTC"),
                    !matches!(kind, Kind::Known | Kind::LowBalance),
                    "{}",
                    rendered.text
                );
                rendered.subject
            })
            .collect();
        assert_eq!(
            subjects,
            [
                "Verify your email for Trunk & Line",
                "Reset your password for Trunk & Line",
                "Invitation to an organisation at Trunk & Line",
                "You already have an account at Trunk & Line",
                "Low balance at Trunk & Line",
            ]
        );
    }

    #[test]
    fn an_email_about_a_low_balance_is_in_the_accounts_language() {
        for (language, subject, lead) in [
            (
                "en",
                "Low balance at Trunk & Line",
                "the balance of \"Acme\" at Trunk & Line is 4.5 USD, below your alert of 5 USD.",
            ),
            (
                "zh",
                "Trunk & Line 余额不足提醒",
                "组织“Acme”在 Trunk & Line 的余额为 4.5 美元，低于您设置的提醒金额 5 美元。",
            ),
        ] {
            let content = Content {
                link: "https://dash.example.com/wallet".to_owned(),
                name: "Ada".to_owned(),
                organisation: Some("Acme".to_owned()),
                by: None,
                low_balance: Some(LowBalanceContent {
                    balance_usd: "4.5".to_owned(),
                    threshold_usd: "5".to_owned(),
                    language: language.to_owned(),
                }),
            };
            let at = Timestamp::from_micros(1);
            let rendered = render("Trunk & Line", Kind::LowBalance, &content, at);
            assert_eq!(rendered.subject, subject);
            assert!(rendered.text.contains(lead), "{}", rendered.text);
            let lang = format!("<html lang=\"{language}");
            assert!(rendered.html.contains(&lang), "{}", rendered.html);
        }
    }

    #[test]
    fn a_sender_cannot_put_a_link_or_a_message_into_an_invitation() {
        let name = "Account locked, see https://evil.example/x or evil.example, ask x@evil.example";
        let content = Content {
            link: "https://dash.example.com/invitation#t_0".to_owned(),
            name: String::new(),
            organisation: Some(name.to_owned()),
            by: Some(name.to_owned()),
            low_balance: None,
        };
        let rendered = render(
            "Trunk & Line",
            Kind::Invitation,
            &content,
            Timestamp::from_micros(1),
        );
        assert!(!rendered.text.contains("evil"), "{}", rendered.text);
        assert!(!rendered.html.contains("evil"), "{}", rendered.html);
        assert!(!rendered.subject.contains("locked"), "{}", rendered.subject);
    }

    #[test]
    fn a_name_is_text_and_never_markup_or_a_header() {
        let name = "<img src=x onerror=alert(1)>\r\nBcc: all@example.com";
        for kind in Kind::ALL {
            let rendered = rendered(kind, name);
            assert!(!rendered.html.contains("<img"), "{}", rendered.html);
            assert!(
                !rendered.subject.contains(['\r', '\n']),
                "{}",
                rendered.subject
            );
        }
        let long = rendered(Kind::Verify, &"a".repeat(500));
        assert!(
            long.text
                .starts_with(&format!("Hello {}…,", "a".repeat(80))),
            "{}",
            long.text
        );
    }
}
