//! Every format to every model: what a caller of each sees of what an upstream of each says, streamed and
//! whole, and that the charge is what the upstream made.

use serde_json::{Value, json};

use crate::client_encode::{CallParams, ClientFormat, TOOLS, Why};
use crate::format_pairs::{FormatPair, harness, in_each, quote, same, unit};
use crate::test_gateway::TestOptions;

/// What the upstream got.
fn sent(body: &[u8]) -> String {
    String::from_utf8(body.to_vec()).unwrap()
}

fn is_loss(code: &str) -> bool {
    code.starts_with("translation_")
}

fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

// covers: G-1-03, G-1-04, G-1-05, G-4-02, G-4-03, D-1-39, D-1-40
#[tokio::test]
async fn text_and_a_system_text_pass_between_all_formats() {
    let harness = harness(TestOptions::default()).await;
    in_each(&harness, FormatPair::all(), async |harness, pair| {
        let params = CallParams {
            prompt: "Say hello [[tokens:7]]",
            system: Some("You are a lighthouse keeper"),
            ..CallParams::default()
        };
        let (got, received) = pair.ask(harness, params).await?;
        same(
            "text",
            received.text.trim(),
            "sim1 sim2 sim3 sim4 sim5 sim6 sim7",
        )?;
        same("why", received.why.as_str(), pair.caller.why(Why::End))?;
        let (_, truth) = pair.billed(harness, (&got, &received)).await?;
        same("words", truth.completion_tokens, 7)?;
        let sent = sent(&truth.body);
        same("system", sent.matches("lighthouse keeper").count(), 1)
    })
    .await;
}

#[tokio::test]
async fn a_call_of_a_tool_comes_back_and_its_result_is_understood() {
    let harness = harness(TestOptions::default()).await;
    in_each(&harness, FormatPair::all(), async |harness, pair| {
        let params = CallParams {
            prompt: "How is the weather? [[tool:get_weather]]",
            tools: true,
            ..CallParams::default()
        };
        let (got, received) = pair.ask(harness, params).await?;
        same("why", received.why.as_str(), pair.caller.why(Why::Tools))?;
        let names: Vec<&str> = received
            .calls
            .iter()
            .map(|call| call.name.as_str())
            .collect();
        same("calls", names, vec![TOOLS[0]])?;
        same(
            "arguments",
            &received.calls[0].arguments,
            &json!({ "city": "sim" }),
        )?;
        pair.billed(harness, (&got, &received)).await?;
        let next = received.sent_back(pair.caller, pair.body(params));
        let (got, received) = pair.ask_again(harness, &pair.model(), &next).await?;
        same("calls", received.calls.len(), 0)?;
        same("words", words(&received.text) > 0, true)?;
        same("why", received.why.as_str(), pair.caller.why(Why::End))?;
        let (_, truth) = pair.billed(harness, (&got, &received)).await?;
        let sent = sent(&truth.body);
        same("result", sent.contains("get_weather says 17"), true)
    })
    .await;
}

#[tokio::test]
async fn calls_at_once_come_back_in_order_and_each_result_finds_its_call() {
    let harness = harness(TestOptions::default()).await;
    in_each(&harness, FormatPair::all(), async |harness, pair| {
        let prompt = format!("Both, please {}", pair.upstream.calls_at_once());
        let params = CallParams {
            prompt: &prompt,
            tools: true,
            ..CallParams::default()
        };
        let (got, received) = pair.ask(harness, params).await?;
        let names: Vec<&str> = received
            .calls
            .iter()
            .map(|call| call.name.as_str())
            .collect();
        same("calls", names, TOOLS.to_vec())?;
        same("why", received.why.as_str(), pair.caller.why(Why::Tools))?;
        pair.billed(harness, (&got, &received)).await?;
        let next = received.sent_back(pair.caller, pair.body(params));
        let (got, received) = pair.ask_again(harness, &pair.model(), &next).await?;
        same("why", received.why.as_str(), pair.caller.why(Why::End))?;
        let (_, truth) = pair.billed(harness, (&got, &received)).await?;
        let sent = sent(&truth.body);
        for name in TOOLS {
            same(name, sent.contains(&format!("{name} says 17")), true)?;
        }
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_thought_is_shown_and_its_seal_comes_home_in_the_next_turn() {
    let harness = harness(TestOptions::default()).await;
    in_each(&harness, FormatPair::all(), async |harness, pair| {
        let params = CallParams {
            prompt: "Think about it [[reasoning:6]] [[tool:get_weather]]",
            tools: true,
            thinks: true,
            ..CallParams::default()
        };
        let (got, received) = pair.ask(harness, params).await?;
        let thought = match (pair.caller, pair.upstream) {
            // Chat has no way to ask that these show what they think.
            (ClientFormat::Chat, ClientFormat::Responses | ClientFormat::Gemini) => "",
            _ => "sim1 sim2 sim3 sim4 sim5 sim6",
        };
        same("thought", received.thought.trim(), thought)?;
        same("thoughts told", received.tokens.reasoning, 6)?;
        same("calls", received.calls.len(), 1)?;
        pair.billed(harness, (&got, &received)).await?;
        let next = received.sent_back(pair.caller, pair.body(params));
        // The simulator looks at its seals and refuses what it did not make.
        let (got, received) = pair.ask_again(harness, &pair.thinker(), &next).await?;
        same("calls", received.calls.len(), 0)?;
        let (row, truth) = pair.billed(harness, (&got, &received)).await?;
        // Nothing of the thought is lost; what else is has no field over there.
        let quoted = quote(harness, pair, &pair.thinker(), &next).await.json();
        let notes = quoted["fields"].as_array().ok_or("no notes")?.iter();
        let lost = notes.filter(|note| note["code"].as_str().is_some_and(is_loss));
        let lost: Vec<&str> = lost.filter_map(|note| note["field"].as_str()).collect();
        let known = [
            "thinking.budget_tokens",
            "generationConfig.thinkingConfig.thinkingBudget",
        ];
        let other = lost.iter().any(|field| !known.contains(field));
        same("other losses", other, false).map_err(|what| format!("{what}: {lost:?}"))?;
        let warned = row.warnings.iter().any(|code| is_loss(code));
        same("warned", warned, !lost.is_empty())?;
        let sent = sent(&truth.body);
        if let Some(seal) = pair.upstream.seal_field() {
            same("seal", sent.contains(seal), true).map_err(|what| format!("{what}: {sent}"))?;
        }
        same("mark of ours", sent.contains("tlsig1"), false)
    })
    .await;
}

#[tokio::test]
async fn a_picture_reaches_every_upstream() {
    let harness = harness(TestOptions::default()).await;
    in_each(&harness, FormatPair::all(), async |harness, pair| {
        let params = CallParams {
            prompt: "What is this? [[tokens:4]]",
            image: true,
            ..CallParams::default()
        };
        let (got, received) = pair.ask(harness, params).await?;
        same("words", words(&received.text), 4)?;
        let (row, truth) = pair.billed(harness, (&got, &received)).await?;
        let sent = sent(&truth.body);
        same("picture", sent.contains(crate::client_encode::PNG), true)?;
        // Google alone tells the tokens of pictures apart.
        let seen = match pair.upstream {
            ClientFormat::Gemini => 258,
            ClientFormat::Chat | ClientFormat::Messages | ClientFormat::Responses => 0,
        };
        same("image_input", unit(&row, "image_input"), seen)
    })
    .await;
}

#[tokio::test]
async fn structured_output_keeps_to_the_schema_in_every_pair() {
    let harness = harness(TestOptions::default()).await;
    in_each(&harness, FormatPair::all(), async |harness, pair| {
        let params = CallParams {
            prompt: "Answer as JSON",
            schema: true,
            ..CallParams::default()
        };
        let (got, received) = pair.ask(harness, params).await?;
        let read: Value = serde_json::from_str(&received.text)
            .map_err(|error| format!("{error}: {}", received.text))?;
        same("fields", read["answer"].is_string(), true)?;
        same("why", received.why.as_str(), pair.caller.why(Why::End))?;
        pair.billed(harness, (&got, &received)).await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_reached_its_length_says_so_in_the_callers_words() {
    let harness = harness(TestOptions::default()).await;
    in_each(&harness, FormatPair::all(), async |harness, pair| {
        let params = CallParams {
            prompt: "Go on [[tokens:100]]",
            most: Some(20),
            ..CallParams::default()
        };
        let (got, received) = pair.ask(harness, params).await?;
        same("words", words(&received.text), 20)?;
        same("why", received.why.as_str(), pair.caller.why(Why::Length))?;
        pair.billed(harness, (&got, &received)).await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_was_withheld_says_so_in_the_callers_words() {
    let harness = harness(TestOptions::default()).await;
    in_each(&harness, FormatPair::all(), async |harness, pair| {
        let prompt = format!("Something bad {}", pair.upstream.filtered());
        let params = CallParams {
            prompt: &prompt,
            ..CallParams::default()
        };
        let (got, received) = pair.ask(harness, params).await?;
        same("why", received.why.as_str(), pair.caller.why(Why::Filtered))?;
        pair.billed(harness, (&got, &received)).await?;
        Ok(())
    })
    .await;
}

#[tokio::test]
async fn a_model_that_says_no_is_heard_in_every_format() {
    let harness = harness(TestOptions::default()).await;
    let openai = [ClientFormat::Chat, ClientFormat::Responses];
    in_each(&harness, FormatPair::all(), async |harness, pair| {
        let params = CallParams {
            prompt: "Something bad [[refusal:3]]",
            ..CallParams::default()
        };
        let (got, received) = pair.ask(harness, params).await?;
        let reply = format!("{}{}", received.refusal, received.text);
        same("words", words(&reply), 3)?;
        // OpenAI's formats have a field for it; the others say it by how they end.
        if [pair.caller, pair.upstream]
            .iter()
            .all(|it| openai.contains(it))
        {
            same("refusal", words(&received.refusal), 3)?;
        } else {
            same("why", received.why.as_str(), pair.caller.why(Why::Filtered))?;
        }
        pair.billed(harness, (&got, &received)).await?;
        Ok(())
    })
    .await;
}
