//! Zhipu's recognition: `POST /api/paas/v4/audio/transcriptions`, a form. Refusals have a code as text.
//! Written after public clients; wordings are [unverified].

use serde_json::json;

use super::answer;
use super::audio_sniff::{AudioInfo, Container};
use super::fake_transcript::Words;
use super::upload::Upload;
use crate::audio_state::{AudioCall, AudioWork};
use crate::clock;
use crate::directives::Directives;
use crate::fault_stage::{self, RuleScope, UpstreamError};
use crate::models;
use crate::recorded_request::RecordedRequest;
use crate::script::Script;
use crate::scripted_body::VendorResult;

/// A refusal: status, code, text.
type Refused = (u16, &'static str, String);

pub(super) const PATH: &str = "/api/paas/v4/audio/transcriptions";
const VENDOR: &str = "zhipu";
const MODELS: [&str; 2] = ["glm-asr-2512", "glm-asr"];
const MAX_BYTES: u64 = 25 * 1024 * 1024;
const MAX_MILLIS: u64 = 30_000;
/// The code of a parameter that is not valid.
const INVALID: &str = "1214";

pub(super) async fn serve(mut recorded: RecordedRequest, upload: Upload) -> VendorResult {
    let model = upload.field("model").unwrap_or_default().to_owned();
    answer::note(&recorded, &model, false);
    if recorded.key.is_empty() {
        let text = "Header中未收到Authorization参数，无法进行身份验证。";
        return Ok(recorded.play(refusal(401, None, "1001", text), None));
    }
    if !recorded.state.accepts(&recorded.key) {
        let text = "Authorization Token非法，请确认Authorization Token正确传递。";
        return Ok(recorded.play(refusal(401, None, "1002", text), None));
    }
    let (audio, directives) = match checked(&model, &upload) {
        Ok(checked) => checked,
        Err((status, code, text)) => {
            return Ok(recorded.play(refusal(status, None, code, &text), None));
        }
    };
    let fault = fault_stage::select(&recorded, &directives, &model, RuleScope::Audio);
    if let Some(error) = fault_stage::before_answer(&mut recorded, fault, false).await? {
        let script = upstream_error(error);
        return Ok(recorded.play_error(script));
    }
    let words = Words::for_audio(&audio.sha256, None);
    let call = AudioCall::new(&recorded, VENDOR, AudioWork::Transcription, &model)
        .with_audio(&audio, &words)
        .marked(directives.marker.as_ref());
    recorded.state.audio.calls.add(call);
    let request = upload.field("request_id").map(str::to_owned);
    let reply = json!({
        "id": recorded.id(""),
        "created": clock::seconds(recorded.received_at_micros),
        "request_id": request.unwrap_or_else(|| recorded.id("req")),
        "model": model,
        "text": words.text(),
    });
    let script = answer::whole(reply.to_string(), words.count(), fault);
    Ok(recorded.play(script, None))
}

fn checked(model: &str, upload: &Upload) -> Result<(AudioInfo, Directives), Refused> {
    let wrong = |text: &str| Err((400, INVALID, text.to_owned()));
    if !upload.is_good {
        return wrong("请求体格式不正确");
    }
    if !MODELS.contains(&model) && !models::is_known(model) {
        return Err((400, "1211", "模型不存在，请检查模型代码。".to_owned()));
    }
    let Some(file) = &upload.file else {
        return wrong("file 参数不能为空");
    };
    let audio = &file.audio;
    if audio.bytes > MAX_BYTES {
        return wrong("音频文件大小不能超过25MB");
    }
    if !matches!(audio.container, Container::Wav | Container::Mp3) {
        return wrong("音频文件格式仅支持wav、mp3");
    }
    if audio.millis > MAX_MILLIS {
        return wrong("音频时长不能超过30秒");
    }
    let directives = Directives::read(upload.field("prompt").unwrap_or_default());
    match directives {
        Ok(directives) => Ok((audio.clone(), directives)),
        Err(error) => Err((400, INVALID, format!("simulator_directive: {}", error.0))),
    }
}

fn upstream_error(error: UpstreamError) -> Script {
    let (status, retry_after_secs, code, text) = match error {
        UpstreamError::RateLimited { retry_after_secs } => (
            429,
            Some(retry_after_secs),
            "1302",
            "您当前使用该API的并发数过高，请降低并发，或联系客服增加限额。",
        ),
        UpstreamError::Status(status) => match status {
            401 => (status, None, "1002", "Authorization Token非法"),
            429 => (status, None, "1113", "您的账户已欠费，请充值后重试。"),
            400..500 => (status, None, INVALID, "参数非法，请检查文档。"),
            _ => (status, None, "500", "网络错误，请稍后重试。"),
        },
        UpstreamError::Inside200 { code: _ } => (200, None, "1234", "网络错误，请稍后重试。"),
    };
    refusal(status, retry_after_secs, code, text)
}

fn refusal(status: u16, retry_after_secs: Option<u32>, code: &str, text: &str) -> Script {
    let reply = json!({ "error": { "code": code, "message": text } });
    Script::json(status, retry_after_secs, reply.to_string())
}
