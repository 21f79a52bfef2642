//! Every kind of token that an upstream tells apart is billed at its own face's price, for every caller.

use crate::client_encode::{CallParams, ClientFormat};
use crate::format_pairs::{FormatPair, harness, in_each, same, unit};
use crate::test_gateway::TestOptions;

/// Long enough that parts of it can come from a cache.
fn long(directives: &str) -> String {
    format!("{} {directives}", "word ".repeat(60))
}

fn of(upstream: ClientFormat) -> Vec<FormatPair> {
    let all = FormatPair::all().into_iter();
    all.filter(|pair| pair.upstream == upstream).collect()
}

#[tokio::test]
async fn tokens_read_from_a_cache_have_their_own_price() {
    let harness = harness(TestOptions::default()).await;
    in_each(&harness, FormatPair::all(), async |harness, pair| {
        let prompt = long("[[tokens:5]] [[cached:20]]");
        let params = CallParams {
            prompt: &prompt,
            ..CallParams::default()
        };
        let (got, received) = pair.ask(harness, params).await?;
        let (row, _) = pair.billed(harness, (&got, &received)).await?;
        same("cache_read", unit(&row, "cache_read"), 20)?;
        same("shown cached", received.tokens.cached, 20)
    })
    .await;
}

#[tokio::test]
async fn cache_writes_have_one_price_for_five_minutes_and_one_for_an_hour() {
    let harness = harness(TestOptions::default()).await;
    in_each(
        &harness,
        of(ClientFormat::Messages),
        async |harness, pair| {
            let prompt = long("[[tokens:5]] [[cached:10]] [[written_5m:7]] [[written_1h:3]]");
            let params = CallParams {
                prompt: &prompt,
                ..CallParams::default()
            };
            let (got, received) = pair.ask(harness, params).await?;
            let (row, _) = pair.billed(harness, (&got, &received)).await?;
            same("cache_read", unit(&row, "cache_read"), 10)?;
            same("cache_write", unit(&row, "cache_write"), 7)?;
            same("cache_write_1h", unit(&row, "cache_write_1h"), 3)
        },
    )
    .await;
}

#[tokio::test]
async fn cache_writes_of_the_responses_format_are_billed_as_such() {
    let harness = harness(TestOptions::default()).await;
    in_each(
        &harness,
        of(ClientFormat::Responses),
        async |harness, pair| {
            let prompt = long("[[tokens:5]] [[cached:10]] [[cache_write:7]]");
            let params = CallParams {
                prompt: &prompt,
                ..CallParams::default()
            };
            let (got, received) = pair.ask(harness, params).await?;
            let (row, truth) = pair.billed(harness, (&got, &received)).await?;
            same("cache_write", unit(&row, "cache_write"), 7)?;
            same("input", unit(&row, "input"), truth.prompt_tokens - 17)
        },
    )
    .await;
}

#[tokio::test]
async fn thoughts_are_output_and_shown_apart() {
    let harness = harness(TestOptions::default()).await;
    in_each(&harness, FormatPair::all(), async |harness, pair| {
        let params = CallParams {
            prompt: "Think [[tokens:5]] [[reasoning:9]]",
            thinks: true,
            ..CallParams::default()
        };
        let (got, received) = pair.ask(harness, params).await?;
        let (row, _) = pair.billed(harness, (&got, &received)).await?;
        same("output", unit(&row, "output"), 14)?;
        same("shown output", received.tokens.output, 14)?;
        same("shown thoughts", received.tokens.reasoning, 9)
    })
    .await;
}

#[tokio::test]
async fn sound_and_pictures_that_google_tells_apart_have_their_own_prices() {
    let harness = harness(TestOptions::default()).await;
    in_each(&harness, of(ClientFormat::Gemini), async |harness, pair| {
        let details = "[[prompt_detail:IMAGE:258]] [[prompt_detail:AUDIO:32]] \
                       [[answer_detail:IMAGE:6]] [[answer_detail:AUDIO:4]] [[tool_prompt:7]]";
        let prompt = long(&format!("[[tokens:5]] {details}"));
        let params = CallParams {
            prompt: &prompt,
            ..CallParams::default()
        };
        let (got, received) = pair.ask(harness, params).await?;
        let (row, _) = pair.billed(harness, (&got, &received)).await?;
        for (face, tokens) in [
            ("image_input", 258),
            ("audio_input", 32),
            ("image_output", 6),
            ("audio_output", 4),
            ("output", 5),
        ] {
            same(face, unit(&row, face), tokens)?;
        }
        Ok(())
    })
    .await;
}
