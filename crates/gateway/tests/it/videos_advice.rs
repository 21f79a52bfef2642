//! Advice about a field of a video: a caller who takes it gets what the field asked for.

use serde_json::{Value, json};

use crate::videos::{generation, made, quick, task_view};

/// The advice about a field of a task's request.
fn advice(task: &Value, field: &str) -> Option<String> {
    let mut notes = task["metadata"]["warnings"].as_array()?.iter();
    let note = notes.find(|note| note["field"] == field)?;
    Some(note["fix"].as_str().unwrap().to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_who_sends_seconds_to_kling_is_told_the_field_that_makes_the_clip_as_long() {
    let harness = generation(quick()).await;
    let omni = json!({ "aspect_ratio": "16:9" });
    for (model, metadata, fix, taken) in [
        (
            "kling-v3",
            json!({}),
            "use `duration: 10`",
            json!({ "duration": 10 }),
        ),
        (
            "kling-3.0-turbo",
            json!({}),
            "use `duration: 10`",
            json!({ "duration": 10 }),
        ),
        (
            "kling-v3-omni",
            omni,
            "use `metadata.duration: \"10\"`",
            json!({ "metadata": { "aspect_ratio": "16:9", "duration": "10" } }),
        ),
    ] {
        let mut body = json!({ "model": model, "prompt": "a cat", "metadata": metadata });
        body["seconds"] = json!("10");
        let task = task_view(&harness, &made(&harness, &body).await).await;
        assert_eq!(task["seconds"], "5", "{model}");
        assert_eq!(advice(&task, "seconds").as_deref(), Some(fix), "{model}");
        let body = body.as_object_mut().unwrap();
        body.remove("seconds");
        body.extend(taken.as_object().unwrap().clone());
        let body = Value::Object(body.clone());
        let task = task_view(&harness, &made(&harness, &body).await).await;
        assert_eq!(task["seconds"], "10", "{model}");
        assert_eq!(advice(&task, "seconds"), None, "{model}");
    }
    harness.audit().await;
}
