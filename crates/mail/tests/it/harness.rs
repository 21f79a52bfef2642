//! A mail worker with its own database.

use std::sync::Arc;
use std::time::Duration;

use trunkline_db::{Database, Role};
use trunkline_keyring::{Binding, Document, Keyring, Purpose, SystemRandom};
use trunkline_mail::{Instance, MailSettings, MailWorker, Mailer, Server};
use trunkline_store::emails::{self, Content, Kind, NewEmail};
use trunkline_testkit::{Db, SystemClock, random_bytes};
use trunkline_types::{Clock as _, Secret, uuid_v7};
use uuid::Uuid;

pub(crate) const FROM: &str = "Trunkline <mail@gateway.example>";
pub(crate) const CANARY: &str = "canary-7f3a9c";

pub(crate) struct Harness {
    pub(crate) db: Db,
    pub(crate) keyring: Arc<Keyring>,
    pub(crate) data: Database,
    writer: Database,
}

/// How mail is sent to an address.
pub(crate) fn settings(url: &str) -> MailSettings {
    MailSettings {
        server: Server::parse(&Secret::new(url.to_owned())).unwrap(),
        from: FROM.to_owned(),
        timeout: Duration::from_secs(30),
        extra_roots: None,
    }
}

impl Harness {
    pub(crate) async fn new() -> Self {
        let db = Db::fresh().await;
        let document = Document::generate(SystemClock.now(), &SystemRandom).unwrap();
        let keyring = Keyring::new(&document, Arc::new(SystemRandom)).unwrap();
        Self {
            keyring: Arc::new(keyring),
            data: db.connect(Role::Data).await,
            writer: db.connect(Role::Console).await,
            db,
        }
    }

    /// A mail worker that sends there; none for no server.
    pub(crate) fn worker(&self, mail: Option<&MailSettings>) -> MailWorker {
        let mailer = mail.map(|settings| Mailer::new(settings).unwrap());
        let keyring = Arc::clone(&self.keyring);
        MailWorker::new(
            self.data.clone(),
            keyring,
            Instance {
                name: "The Instance".to_owned(),
                console_url: "https://dash.example".to_owned(),
            },
            mailer,
        )
    }

    pub(crate) async fn write(&self, to: &str, is_mailed: bool) -> Uuid {
        let id = uuid_v7(SystemClock.now(), random_bytes());
        let content = Content {
            link: format!("https://dash.example/verify#{CANARY}"),
            name: "Ada".to_owned(),
            ..Content::default()
        };
        let context = emails::context(id);
        let binding = Binding::of_operator(&context);
        let sealed = self
            .keyring
            .seal(Purpose::Emails, &binding, &content.bytes());
        let email = NewEmail {
            id,
            kind: Kind::Verify,
            to,
            sealed: &sealed.unwrap(),
            expires_at: SystemClock.now().plus_seconds(48 * 3_600),
            is_mailed,
        };
        let mut tx = self.writer.begin().await.unwrap();
        emails::write(&mut tx, &email).await.unwrap();
        tx.commit().await.unwrap();
        id
    }

    /// One column of an email.
    pub(crate) async fn column(&self, id: Uuid, column: &str) -> String {
        let query =
            format!("SELECT COALESCE(({column})::text, 'null') FROM app.email WHERE id = '{id}'");
        self.db.ask(&query).await.remove(0)
    }

    pub(crate) async fn assert_sound(&self) {
        for view in ["audit_email_overdue", "audit_email_outlives_its_link"] {
            let rows = self
                .db
                .ask(&format!("SELECT id::text FROM app.{view}"))
                .await;
            assert!(rows.is_empty(), "{view}: {rows:?}");
        }
    }
}
