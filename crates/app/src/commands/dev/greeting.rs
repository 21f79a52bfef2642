//! What `trunkline dev` prints when it is ready: where everything is, and commands to copy.

use serde_json::{Value, json};
use trunkline_types::{AccountId, Secret};

use super::vendors::VendorKey;

/// What there is to tell.
pub(super) struct Greeting<'a> {
    /// Of the data plane, without a path.
    pub(super) base_url: String,
    pub(super) dash_url: String,
    /// Opens the console signed in.
    pub(super) console_link: Option<String>,
    /// Makes its visitor the operator.
    pub(super) setup_link: Option<String>,
    pub(super) admin_url: String,
    /// The customer, and a key of theirs.
    pub(super) account: AccountId,
    pub(super) key: String,
    pub(super) database_url: &'a Secret,
    pub(super) simulator_url: String,
    /// Vendors' keys of the environment.
    pub(super) keys: &'a [VendorKey],
}

impl Greeting<'_> {
    /// The same for a program.
    pub(super) fn facts(&self) -> Value {
        let vendors = self.keys.iter().map(|key| key.vendor.name);
        json!({
            "base_url": self.base_url,
            "dash_url": self.dash_url,
            "admin_url": self.admin_url,
            "console_link": self.console_link,
            "operator_link": self.setup_link,
            "account": self.account.number(),
            "key": self.key,
            "database_url": self.database_url.reveal(),
            "simulator_url": self.simulator_url,
            "vendors": vendors.collect::<Vec<_>>(),
        })
    }

    pub(super) fn text(&self) -> String {
        let Self { base_url, key, .. } = self;
        let console = match (&self.console_link, &self.setup_link) {
            (Some(link), _) => format!("{link} (opens signed in)"),
            (None, Some(link)) => format!("{link} (creates the operator account, once)"),
            (None, None) => self.dash_url.clone(),
        };
        let vendors = self.vendors();
        format!(
            "Trunkline is running.

  API        {base_url}/v1
  console    {console}
  API key    {key}
{vendors}
Try it:

  curl {base_url}/v1/chat/completions -H 'authorization: Bearer {key}' \\
    -H 'content-type: application/json' \\
    -d '{{\"model\":\"sim-fast\",\"messages\":[{{\"role\":\"user\",\"content\":\"Hello\"}}]}}'

  python -c \"from openai import OpenAI; c = OpenAI(base_url='{base_url}/v1', api_key='{key}'); \\
    print(c.chat.completions.create(model='sim-fast', messages=[{{'role': 'user', 'content': 'Hello'}}]).choices[0].message.content)\"

  node -e \"const O = require('openai'); new O({{baseURL: '{base_url}/v1', apiKey: '{key}'}}).chat.completions.create(\\
    {{model: 'sim-fast', messages: [{{role: 'user', content: 'Hello'}}]}}).then(r => console.log(r.choices[0].message.content))\"

  A video, charged when it is accepted and refunded if it fails:

  python -c \"from openai import OpenAI; c = OpenAI(base_url='{base_url}/v1', api_key='{key}'); \\
    v = c.videos.create_and_poll(model='sim-video', prompt='A cat', seconds='4'); \\
    c.videos.download_content(v.id).write_to_file('cat.mp4'); print(v.status, v.metadata['cost_usd'], 'USD')\"

  An image, speech charged by the character, and its transcript charged by the second:

  python -c \"from openai import OpenAI; c = OpenAI(base_url='{base_url}/v1', api_key='{key}'); \\
    print(c.images.generate(model='gpt-image-1.5', prompt='A cat', size='1024x1024', quality='low').data[0].url); \\
    c.audio.speech.create(model='tts-1', voice='alloy', input='Good morning.').write_to_file('morning.mp3'); \\
    print(c.audio.transcriptions.create(model='whisper-1', file=open('morning.mp3', 'rb')).text)\"

  Public posts of a platform, charged by the page, free without a result:

  curl -G {base_url}/v1/social/douyin/search -H 'authorization: Bearer {key}' --data-urlencode 'keyword=coffee'

Each call is shown here with its cost. Ctrl-C stops everything.
"
        )
    }

    /// Who bills for what is called here.
    fn vendors(&self) -> String {
        if self.keys.is_empty() {
            return "  vendors    simulated: no vendor is called, no vendor bills you\n".to_owned();
        }
        let real = self.keys.iter().map(|key| {
            format!(
                "  vendors    {} is called with {} of the environment and bills you\n",
                key.vendor.name, key.variable
            )
        });
        let rest = "             all others are simulated; --simulated calls none\n".to_owned();
        real.chain([rest]).collect()
    }
}
