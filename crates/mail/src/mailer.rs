//! Sends an email to the mail server within a timeout, and classifies its replies.

use std::time::{Duration, SystemTime};

use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, MultiPart};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Certificate, Tls, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use lettre::{Address, AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor};
use trunkline_types::Timestamp;
use uuid::Uuid;

use crate::smtp_url::{Server, TlsMode};
use crate::template::RenderedEmail;

/// SMTP codes about our login and not about the email: it waits until the operator fixes the setting.
const LOGIN_CODES: [u16; 5] = [500, 530, 534, 535, 538];

#[derive(Debug, Clone)]
pub struct MailSettings {
    pub server: Server,
    /// The sender, such as `Trunkline <mail@example.com>`.
    pub from: String,
    /// Timeout of one attempt, from DNS to the server's reply.
    pub timeout: Duration,
    /// Certificates that are trusted beside the public ones, PEM.
    pub extra_roots: Option<String>,
}

/// Why there is no mailer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MailError {
    /// The sender is no address.
    #[error("must be an address such as Trunkline <mail@example.com>")]
    From,
    /// TLS cannot be set up.
    #[error("TLS to the mail server cannot be set up: {0}")]
    Tls(String),
}

/// Sends emails to one server.
#[derive(Clone)]
pub struct Mailer {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    from: Mailbox,
    timeout: Duration,
}

pub(crate) struct Envelope<'a> {
    pub(crate) id: Uuid,
    pub(crate) to: &'a str,
    pub(crate) written_at: Timestamp,
    pub(crate) rendered: &'a RenderedEmail,
}

/// Why an email was not accepted. Without the server's own text, which may quote the email.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SmtpError {
    pub(crate) text: String,
    pub(crate) is_final: bool,
}

// === impl MailSettings ===

impl MailSettings {
    /// Whether the sender is an address.
    pub fn check_from(from: &str) -> Result<(), MailError> {
        sender(from).map(drop)
    }
}

// === impl Mailer ===

impl Mailer {
    /// Sets up the transport; it does not connect yet.
    pub fn new(settings: &MailSettings) -> Result<Self, MailError> {
        let server = &settings.server;
        let tls = match server.tls_mode {
            TlsMode::Local => Tls::None,
            TlsMode::StartTls => Tls::Required(parameters(settings)?),
            TlsMode::Tls => Tls::Wrapper(parameters(settings)?),
        };
        let from = sender(&settings.from)?;
        let mut builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(&server.host)
            .port(server.port)
            .tls(tls)
            .hello_name(ClientId::Domain(from.email.domain().to_owned()))
            .timeout(Some(settings.timeout));
        if let Some((user, password)) = &server.login {
            let password = password.reveal().to_owned();
            builder = builder.credentials(Credentials::new(user.clone(), password));
        }
        Ok(Self {
            transport: builder.build(),
            from,
            timeout: settings.timeout,
        })
    }

    pub(crate) const fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Sends an email. Every attempt has the same Message-ID and date, so that a receiver can detect a duplicate.
    pub(crate) async fn send(&self, envelope: &Envelope<'_>) -> Result<(), SmtpError> {
        let message = self.message(envelope)?;
        let sending = self.transport.send(message);
        match tokio::time::timeout(self.timeout, sending).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(smtp_error(&error)),
            Err(_) => Err(retryable("the mail server did not answer in time")),
        }
    }

    fn message(&self, envelope: &Envelope<'_>) -> Result<Message, SmtpError> {
        let unsendable = |_| over("the address is one that no mail can be sent to");
        let to: Address = envelope.to.parse().map_err(unsendable)?;
        let domain = self.from.email.domain();
        let millis = u64::try_from(envelope.written_at.millis()).unwrap_or(0);
        let date = SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(millis));
        let automatic = HeaderName::new_from_ascii_str("Auto-Submitted");
        let rendered = envelope.rendered;
        Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, to))
            .subject(rendered.subject.as_str())
            .message_id(Some(format!("<{}@{domain}>", envelope.id)))
            .date(date.unwrap_or(SystemTime::UNIX_EPOCH))
            .raw_header(HeaderValue::new(automatic, "auto-generated".to_owned()))
            .multipart(MultiPart::alternative_plain_html(
                rendered.text.clone(),
                rendered.html.clone(),
            ))
            .map_err(|_| over("building the email failed"))
    }
}

fn sender(from: &str) -> Result<Mailbox, MailError> {
    from.parse().map_err(|_| MailError::From)
}

fn parameters(settings: &MailSettings) -> Result<TlsParameters, MailError> {
    let wrong = |error: lettre::transport::smtp::Error| MailError::Tls(error.to_string());
    let mut builder = TlsParameters::builder(settings.server.host.clone());
    if let Some(pem) = &settings.extra_roots {
        let root = Certificate::from_pem(pem.as_bytes()).map_err(wrong)?;
        builder = builder.add_root_certificate(root);
    }
    builder.build().map_err(wrong)
}

/// Whether an error is final for the email, and its message.
fn smtp_error(error: &lettre::transport::smtp::Error) -> SmtpError {
    let code = error.status().map(u16::from);
    if error.is_permanent() {
        let code = code.unwrap_or_default();
        if LOGIN_CODES.contains(&code) {
            return retryable(&format!("the mail server does not let us in ({code})"));
        }
        return over(&format!("the mail server refused it for good ({code})"));
    }
    if error.is_transient() {
        let code = code.unwrap_or_default();
        return retryable(&format!("the mail server put it off ({code})"));
    }
    if error.is_timeout() {
        return retryable("the mail server did not answer in time");
    }
    if error.is_tls() {
        return retryable("the line to the mail server could not be made private (TLS)");
    }
    if error.is_response() || error.is_client() {
        return retryable("the mail server speaks in a way we do not understand");
    }
    retryable("the mail server could not be reached, or went away")
}

fn retryable(text: &str) -> SmtpError {
    SmtpError {
        text: text.to_owned(),
        is_final: false,
    }
}

fn over(text: &str) -> SmtpError {
    SmtpError {
        text: text.to_owned(),
        is_final: true,
    }
}
