//! A window on its own: what it gives, returns and owes.

use super::*;

const MINUTE: Duration = Duration::from_secs(60);
const PART: Duration = Duration::from_secs(2);
const ALONE: Source = Source::Share(1);

fn window(now: Instant) -> Window {
    Window::new(MINUTE, now)
}

fn reply(granted: u64, left: u64, mark: u64) -> RedisReply {
    RedisReply {
        granted,
        left,
        mark,
        ends_in: PART,
        frees_in: MINUTE,
        generation: 1,
        refused: false,
    }
}

fn spend(window: &mut Window, amount: u64, source: Source, now: Instant) -> bool {
    window.roll(now);
    let has = window.has(10, amount, source, now) == Decision::Yes;
    if has {
        window.take(amount, now);
    }
    has
}

fn request(request: Option<RedisRequest>) -> (u64, u64, u64, Vec<Returned>) {
    match request {
        Some(RedisRequest::Window {
            need,
            owed,
            known,
            returned,
            ..
        }) => (need, owed, known, returned),
        other => panic!("a window asks as one: {other:?}"),
    }
}

#[test]
fn alone_a_window_gives_its_limit_and_as_much_comes_back_as_has_left_it() {
    let now = Instant::now();
    let mut window = window(now);
    let given = (0..20)
        .filter(|_| spend(&mut window, 1, ALONE, now))
        .count();
    assert_eq!(given, 10);
    let state = window.state(10, ALONE, now);
    assert_eq!((state.remaining, state.resets_in), (0, MINUTE));
    assert_eq!(window.has(10, 1, ALONE, now), Decision::No(MINUTE));
    let nearly = now + MINUTE - Duration::from_nanos(1);
    assert!(!spend(&mut window, 1, ALONE, nearly));
    assert!(spend(&mut window, 1, ALONE, now + MINUTE));
    assert_eq!(window.state(10, ALONE, now + MINUTE).remaining, 9);
}

/// Two callers read the clock and then take in the other order.
#[test]
fn no_caller_waits_longer_than_a_window() {
    let now = Instant::now();
    let mut alone = window(now);
    assert!(spend(&mut alone, 10, ALONE, now + PART / 2));
    assert_eq!(alone.has(10, 1, ALONE, now), Decision::No(MINUTE));
    assert_eq!(alone.state(10, ALONE, now).resets_in, MINUTE);
    let mut shared = window(now);
    let refused = RedisReply {
        frees_in: MINUTE + PART,
        refused: true,
        ..reply(0, 0, 5)
    };
    shared.apply(&refused, 0, now, now);
    let decided = shared.has(10, 1, Source::Shared, now);
    assert_eq!(decided, Decision::No(MINUTE));
}

/// Requests come as fast as they may, and at the worst times.
#[test]
fn no_minute_has_more_than_the_limit_wherever_it_begins() {
    let begin = Instant::now();
    for step in [70, 333, 1_000, 2_500, 19_000, 59_900] {
        let (mut window, mut given) = (window(begin), Vec::new());
        for number in 0..200_u32 {
            let now = begin + Duration::from_millis(step) * number;
            while spend(&mut window, 1, ALONE, now) {
                given.push(now);
            }
        }
        for (index, first) in given.iter().enumerate() {
            let in_minute = given[index..]
                .iter()
                .take_while(|at| **at < *first + MINUTE)
                .count();
            assert!(in_minute <= 10, "{in_minute} of 10, every {step} ms");
        }
        let span = (*given.last().unwrap() - begin).as_millis();
        // Over a long time, nearly the limit of every minute is given; the next one begins with a request.
        let minute = 62_000_u128.div_ceil(step.into()) * u128::from(step);
        let least = usize::try_from(span / minute * 10).unwrap();
        assert!(given.len() >= least, "{} in {span} ms", given.len());
    }
}

#[test]
fn one_of_three_nodes_gives_a_third_and_at_least_one() {
    let now = Instant::now();
    for (limit, given) in [(10, 3), (2, 1), (600, 200)] {
        let mut window = window(now);
        let mut count = 0;
        while window.has(limit, 1, Source::Share(3), now) == Decision::Yes {
            window.take(1, now);
            count += 1;
        }
        assert_eq!(count, given, "of {limit}");
    }
}

#[test]
fn a_slice_is_spent_without_asking_and_returned_with_the_end_of_its_part() {
    let now = Instant::now();
    let mut window = window(now);
    assert_eq!(window.has(10, 1, Source::Shared, now), Decision::AskRedis);
    window.apply(&reply(3, 7, 5), 0, now, now);
    assert!(spend(&mut window, 1, Source::Shared, now));
    assert_eq!(window.state(10, Source::Shared, now).remaining, 9);
    let later = now + PART;
    window.roll(later);
    assert_eq!(window.has(10, 1, Source::Shared, later), Decision::AskRedis);
    let back = vec![Returned { mark: 5, amount: 2 }];
    assert_eq!(request(Some(window.ask(10, 1, later))), (1, 0, 1, back));
    window.apply(&reply(1, 8, 6), 0, later, later);
    assert!(spend(&mut window, 1, Source::Shared, later));
    assert_eq!(window.state(10, Source::Shared, later).remaining, 8);
}

#[test]
fn what_was_spent_without_redis_is_owed_to_it_and_reported_once() {
    let now = Instant::now();
    let mut window = window(now);
    assert!(spend(&mut window, 1, Source::Share(2), now));
    assert!(spend(&mut window, 1, Source::Share(2), now));
    assert_eq!(request(Some(window.ask(10, 1, now))), (1, 2, 0, vec![]));
    window.apply(&reply(1, 7, 5), 2, now, now);
    assert_eq!(request(Some(window.ask(10, 2, now))), (1, 0, 3, vec![]));
}

#[test]
fn what_was_used_beyond_the_guess_is_counted_while_its_part_counts() {
    let now = Instant::now();
    let mut window = window(now);
    assert!(spend(&mut window, 4, ALONE, now));
    let turn = window.state(10, ALONE, now).turn;
    assert!(
        window.correct(turn, 4, 12),
        "more than there is: it is owed"
    );
    assert_eq!(window.state(10, ALONE, now).remaining, 0);
    let later = now + MINUTE - PART;
    assert!(!spend(&mut window, 1, ALONE, later));
    window.correct(turn, 12, 5);
    assert_eq!(window.state(10, ALONE, later).remaining, 5);
    let over = now + MINUTE;
    assert!(spend(&mut window, 1, ALONE, over));
    window.correct(turn, 4, 400);
    assert_eq!(window.state(10, ALONE, over).remaining, 9);
}

#[test]
fn tokens_that_were_not_used_go_back_to_the_part_that_redis_counts_them_in() {
    let now = Instant::now();
    let mut window = window(now);
    window.apply(&reply(8, 2, 5), 0, now, now);
    assert!(spend(&mut window, 8, Source::Shared, now));
    let turn = window.state(10, Source::Shared, now).turn;
    let later = now + PART;
    window.apply(&reply(1, 1, 6), 0, later, later);
    assert!(!window.correct(turn, 8, 3));
    // The slice of the new part is not used: it goes back too, to its own part.
    let back = vec![
        Returned { mark: 5, amount: 5 },
        Returned { mark: 6, amount: 1 },
    ];
    assert_eq!(request(window.due(10, later)), (0, 0, 3, back));
}

#[test]
fn a_call_larger_than_the_limit_takes_an_empty_window_whole() {
    let now = Instant::now();
    let mut window = window(now);
    assert!(spend(&mut window, 10, ALONE, now));
    assert!(!spend(&mut window, 10, ALONE, now));
}

#[test]
fn an_unused_slice_is_returned_and_not_spent_meanwhile() {
    let now = Instant::now();
    let mut window = window(now);
    window.apply(&reply(8, 2, 5), 0, now, now);
    assert!(window.due(10, now).is_none(), "it is fresh");
    let later = now + IDLE;
    let back = vec![Returned { mark: 5, amount: 8 }];
    assert_eq!(request(window.due(10, later)), (0, 0, 0, back));
    assert_eq!(window.has(10, 1, Source::Shared, later), Decision::AskRedis);
}
