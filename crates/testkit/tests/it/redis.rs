//! Redis, with a real client.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{Client, RedisError, cmd};
use trunkline_testkit::Redis;

const SHORT: Duration = Duration::from_millis(200);

async fn dial(url: String) -> Result<MultiplexedConnection, RedisError> {
    Client::open(url)?.get_multiplexed_async_connection().await
}

async fn count(connection: &mut MultiplexedConnection) -> Result<i64, RedisError> {
    cmd("INCR").arg("count").query_async(connection).await
}

#[tokio::test]
async fn a_killed_or_stopped_redis_comes_back_empty_on_the_same_port() {
    let redis = Redis::start().await;
    let mut first = dial(redis.url()).await.unwrap();
    assert_eq!(count(&mut first).await.unwrap(), 1);
    assert_eq!(count(&mut first).await.unwrap(), 2);

    redis.kill_9();
    assert!(!redis.runs());
    drop(count(&mut first).await.unwrap_err());
    assert!(dial(redis.url()).await.is_err());
    redis.restart();
    let mut second = dial(redis.url()).await.unwrap();
    assert_eq!(count(&mut second).await.unwrap(), 1);

    redis.stop();
    assert!(!redis.runs());
    redis.restart();
    let mut third = dial(redis.url()).await.unwrap();
    assert_eq!(count(&mut third).await.unwrap(), 1);
}

#[tokio::test]
async fn a_flushed_redis_has_forgotten_everything() {
    let redis = Redis::start().await;
    let mut connection = dial(redis.url()).await.unwrap();
    assert_eq!(count(&mut connection).await.unwrap(), 1);
    redis.flush();
    assert_eq!(count(&mut connection).await.unwrap(), 1);
}

#[tokio::test]
async fn a_paused_redis_answers_later() {
    let redis = Redis::start().await;
    let mut connection = dial(redis.url()).await.unwrap();
    count(&mut connection).await.unwrap();
    redis.pause();
    assert!(redis.runs());
    let waited = tokio::time::timeout(SHORT, count(&mut connection)).await;
    assert!(!matches!(waited, Ok(Ok(_))), "no answer comes");
    redis.resume();
    let mut after = dial(redis.url()).await.unwrap();
    assert!(count(&mut after).await.unwrap() >= 2);
}

#[tokio::test]
async fn a_line_to_redis_can_be_cut() {
    let redis = Redis::start().await;
    let wire = redis.wire();
    let mut connection = dial(redis.url_through(&wire)).await.unwrap();
    assert_eq!(count(&mut connection).await.unwrap(), 1);
    wire.refuse();
    drop(count(&mut connection).await.unwrap_err());
    assert!(dial(redis.url_through(&wire)).await.is_err());
    wire.pass();
    let mut repeated = dial(redis.url_through(&wire)).await.unwrap();
    assert_eq!(count(&mut repeated).await.unwrap(), 2);
}
