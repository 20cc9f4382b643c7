//! A player that drives itself, in unusual times.

use evenkeel_core::{Endpoint, LocalTime, Seed, Span, Synchronized};
use evenkeel_dr::{DrConfig, EntityId};
use evenkeel_games::{Bot, BotConfig, Driver};

fn bot(tick: Span) -> Bot<Synchronized> {
    let (dr, entity, seed) = (DrConfig::default(), EntityId(3), Seed::new(1));
    Bot::new(&BotConfig { dr, entity, driver: Driver::Random, seed, tick }, Synchronized)
}

#[test]
fn a_bot_that_was_away_for_years_goes_on_at_once() {
    let mut bot = bot(Span::from_millis(20));
    for nanos in [i64::MIN, -5, 0, 1 << 61, i64::MAX - 40_000_000] {
        let now = LocalTime::from_nanos(nanos);
        bot.handle_timeout(now);
        let next = bot.poll_timeout().expect("it will look again");
        assert!(next > now && next - now <= Span::from_millis(20), "at {now:?} it waits for {next:?}");
    }
}

#[test]
fn a_bot_looks_at_its_tank_at_least_every_minute_and_at_most_every_millisecond() {
    for (tick, millis) in [(Span::from_nanos(-1), 1), (Span::from_secs(1 << 40), 60_000)] {
        let mut bot = bot(tick);
        bot.handle_timeout(LocalTime::from_nanos(0));
        assert_eq!(bot.poll_timeout(), Some(LocalTime::from_nanos(millis * 1_000_000)));
    }
}
