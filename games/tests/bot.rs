//! Bots at unusual times.

use evenkeel_core::{Endpoint, LocalTime, Seed, Span, Synchronized};
use evenkeel_dr::{DrConfig, EntityId};
use evenkeel_games::{Bot, BotConfig, Driver};

fn bot(tick: Span) -> Bot<Synchronized> {
    let (dr, entity, seed) = (DrConfig::default(), EntityId(3), Seed::new(1));
    Bot::new(&BotConfig { dr, entity, driver: Driver::Random, seed, tick }, Synchronized)
}

#[test]
fn a_bot_continues_at_once_after_years_of_absence() {
    let mut bot = bot(Span::from_millis(20));
    for nanos in [i64::MIN, -5, 0, 1 << 61, i64::MAX - 40_000_000] {
        let now = LocalTime::from_nanos(nanos);
        bot.handle_timeout(now);
        let next = bot.poll_timeout().expect("its next tick");
        assert!(next > now && next - now <= Span::from_millis(20), "at {now:?} it waits for {next:?}");
    }
}

#[test]
fn the_tick_is_limited_to_between_a_millisecond_and_a_minute() {
    for (tick, millis) in [(Span::from_nanos(-1), 1), (Span::from_secs(1 << 40), 60_000)] {
        let mut bot = bot(tick);
        bot.handle_timeout(LocalTime::from_nanos(0));
        assert_eq!(bot.poll_timeout(), Some(LocalTime::from_nanos(millis * 1_000_000)));
    }
}
