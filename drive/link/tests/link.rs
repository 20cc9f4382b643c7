//! Links: what fates depend on, and the effect of each fault.

use evenkeel_core::{Seed, Span};
use evenkeel_link::{
    DelayLaw, Fate, Jitter, Link, LinkFaultError, LinkFaults, Loss, RateLimit, Reorder, TrueTime,
};
use proptest::prelude::*;

fn at(millis: i64) -> TrueTime {
    TrueTime::default() + Span::from_millis(millis)
}

fn bursts(loss_good: f64, loss_bad: f64) -> Loss {
    Loss::GilbertElliott {
        good_mean: Span::from_millis(900),
        bad_mean: Span::from_millis(100),
        loss_good,
        loss_bad,
    }
}

/// All faults that do not depend on traffic, combined.
fn all_faults() -> LinkFaults {
    LinkFaults {
        delay: DelayLaw { base: Span::from_millis(50), jitter: Jitter::Gamma { sd: Span::from_millis(20) } },
        loss: bursts(0.02, 0.7),
        duplicate: 0.1,
        reorder: Some(Reorder { share: 0.1, extra: Span::from_millis(30) }),
        ..LinkFaults::default()
    }
}

fn lost_share(loss: Loss, seed: u64) -> f64 {
    let mut link = Link::new(LinkFaults { loss, ..LinkFaults::default() }, Seed::new(seed));
    let lost = (0..200_000).filter(|i| link.fate(at(i * 5), 100) == Fate::Lost).count();
    lost as f64 / 200_000.0
}

#[test]
fn losses_have_their_long_run_rate() {
    assert_eq!(lost_share(Loss::None, 1), 0.0);
    for (loss, margin) in [(Loss::Independent { probability: 0.1 }, 0.004), (bursts(0.01, 0.6), 0.02)] {
        let share = lost_share(loss, 3);
        assert!((share - loss.rate()).abs() < margin, "{share} instead of {}", loss.rate());
    }
    assert!((bursts(0.01, 0.6).rate() - 0.069).abs() < 1e-12);
}

#[test]
fn bursts_have_their_mean_length_and_do_not_depend_on_traffic() {
    let states = |step: i64| -> Vec<bool> {
        let mut link =
            Link::new(LinkFaults { loss: bursts(0.0, 1.0), ..LinkFaults::default() }, Seed::new(9));
        (0..2_000_000 / step).map(|i| link.fate(at(i * step), 1) == Fate::Lost).collect()
    };
    let fine = states(1);
    let coarse: Vec<bool> = fine.iter().step_by(50).copied().collect();
    assert_eq!(states(50), coarse);
    let bad = fine.iter().filter(|bad| **bad).count() as f64;
    let bursts = fine.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
    assert!((bad / bursts - 100.0).abs() < 10.0, "mean burst {} ms", bad / bursts);
}

#[test]
fn a_link_starts_in_its_long_run_state() {
    let faults = LinkFaults { loss: bursts(0.0, 1.0), ..LinkFaults::default() };
    let bad =
        (0..10_000).filter(|seed| Link::new(faults.clone(), Seed::new(*seed)).fate(at(0), 1) == Fate::Lost);
    let bad = bad.count();
    assert!((850..1_150).contains(&bad), "{bad} of 10,000 links begin in a bad stretch");
}

#[test]
fn packets_of_one_instant_have_independent_fates() {
    let mut link = Link::new(LinkFaults { loss: Loss::None, ..all_faults() }, Seed::new(8));
    let arrivals: Vec<TrueTime> = (0..100).flat_map(|_| link.fate(at(5), 1).arrivals()).collect();
    let different: std::collections::BTreeSet<TrueTime> = arrivals.iter().copied().collect();
    assert_eq!(different.len(), arrivals.len());
}

#[test]
fn duplicates_arrive_twice_with_independent_delays() {
    let faults = LinkFaults { loss: Loss::None, duplicate: 0.25, ..all_faults() };
    let mut link = Link::new(faults, Seed::new(4));
    let doubles: Vec<_> = (0..20_000)
        .filter_map(|i| match link.fate(at(i), 100) {
            Fate::Twice(first, second) => Some((first, second)),
            _ => None,
        })
        .collect();
    assert!((4_700..5_300).contains(&doubles.len()), "{}", doubles.len());
    let second_first = doubles.iter().filter(|(first, second)| second < first).count();
    assert!((doubles.len() * 2 / 5..doubles.len() * 3 / 5).contains(&second_first), "{second_first}");
}

#[test]
fn reordering_holds_back_the_given_share() {
    let reorder = Some(Reorder { share: 0.2, extra: Span::from_millis(7) });
    let mut link =
        Link::new(LinkFaults { reorder, ..LinkFaults::constant(Span::from_millis(40)) }, Seed::new(5));
    let mut held = 0;
    for i in 0..10_000 {
        match link.fate(at(i), 100) {
            Fate::Once(arrival) if arrival == at(i + 47) => held += 1,
            fate => assert_eq!(fate, Fate::Once(at(i + 40))),
        }
    }
    assert!((1_850..2_150).contains(&held), "{held}");
}

#[test]
fn a_rate_limit_spaces_packets_and_drops_at_the_tail() {
    let rate = Some(RateLimit { bytes_per_s: 100_000.0, queue_max_bytes: 2_500.0 });
    let mut link =
        Link::new(LinkFaults { rate, ..LinkFaults::constant(Span::from_millis(30)) }, Seed::new(1));
    // A thousand bytes take 10 ms; two packets fit into the queue and the third does not.
    assert_eq!(link.fate(at(0), 1_000), Fate::Once(at(40)));
    assert_eq!(link.fate(at(0), 1_000), Fate::Once(at(50)));
    assert_eq!(link.fate(at(0), 1_000), Fate::Lost);
    assert_eq!(link.fate(at(0), 500), Fate::Once(at(55)));
    // Too little has left after 4 ms; after 10 ms there is room again.
    assert_eq!(link.fate(at(4), 1_000), Fate::Lost);
    assert_eq!(link.fate(at(10), 1_000), Fate::Once(at(65)));
    // A reliable message waits in the same queue and is never dropped.
    assert_eq!(link.reliable(at(10), 5_000), Some(at(115)));
    // An idle link takes a packet of any size.
    assert_eq!(link.fate(at(1_000), 9_000), Fate::Once(at(1_120)));
}

#[test]
fn all_reliable_messages_arrive_in_order_under_heavy_loss() {
    for loss in [Loss::Independent { probability: 0.3 }, bursts(0.1, 0.9)] {
        let mut link = Link::new(LinkFaults { loss, ..all_faults() }, Seed::new(6));
        let mut before = TrueTime::MIN;
        for i in 0..20_000 {
            let arrival = link.reliable(at(i * 3), 100).expect("nothing is lost");
            assert!(arrival >= before && arrival >= at(i * 3));
            before = arrival;
        }
    }
}

#[test]
fn a_lost_attempt_costs_one_and_a_half_round_trips_and_doubles() {
    let faults = LinkFaults {
        loss: Loss::Independent { probability: 0.5 },
        ..LinkFaults::constant(Span::from_millis(40))
    };
    let mut link = Link::new(faults, Seed::new(2));
    let mut seen = std::collections::BTreeMap::new();
    for i in 0..2_000i64 {
        // Far enough apart that no message waits for the one before.
        let sent = at(i * 2_000_000);
        *seen.entry((link.reliable(sent, 1).unwrap() - sent).as_nanos() / 1_000_000).or_insert(0u32) += 1;
    }
    let delays: Vec<i64> = seen.keys().copied().take(4).collect();
    assert_eq!(delays, [40, 40 + 130, 40 + 130 * 3, 40 + 130 * 7]);
    assert!((900..1_100).contains(&seen[&40]) && (430..570).contains(&seen[&170]), "{seen:?}");
}

#[test]
fn a_dead_link_stalls_its_stream_until_it_is_reopened() {
    let hours = |hours: i64| Span::from_secs(3_600 * hours);
    let loss =
        Loss::GilbertElliott { good_mean: hours(1), bad_mean: hours(9), loss_good: 0.0, loss_bad: 1.0 };
    let mut link = Link::new(LinkFaults { loss, ..LinkFaults::constant(Span::from_millis(5)) }, Seed::new(2));
    let mut minutes = (0..).map(|minute| at(minute * 60_000));
    minutes.find(|now| link.reliable(*now, 1).is_none()).expect("the link dies");
    let back = minutes.find(|now| link.fate(*now, 1) != Fate::Lost).expect("the link comes back");
    assert_eq!(link.reliable(back, 1), None, "messages behind a lost one never arrive");
    link.reopen();
    assert_eq!(link.reliable(back, 1), Some(back + Span::from_millis(5)));
}

#[test]
fn an_earlier_time_counts_as_the_latest_one() {
    let mut link = Link::new(LinkFaults::constant(Span::from_millis(5)), Seed::new(2));
    assert_eq!(link.fate(at(10), 1), Fate::Once(at(15)));
    assert_eq!(link.fate(at(3), 1), Fate::Once(at(15)));
}

#[test]
fn invalid_options_are_rejected_by_name() {
    let default = LinkFaults::default;
    let rate = |bytes_per_s, queue_max_bytes| Some(RateLimit { bytes_per_s, queue_max_bytes });
    let reorder = |share, extra| Some(Reorder { share, extra: Span::from_nanos(extra) });
    let lossy = |probability| Loss::Independent { probability };
    let cases = [
        (LinkFaults { loss: lossy(1.1), ..default() }, "loss.probability"),
        (LinkFaults { loss: lossy(f64::NAN), ..default() }, "loss.probability"),
        (LinkFaults { loss: bursts(-0.1, 0.0), ..default() }, "loss.loss_good"),
        (LinkFaults { loss: bursts(0.1, 2.0), ..default() }, "loss.loss_bad"),
        (LinkFaults { duplicate: -0.1, ..default() }, "duplicate"),
        (LinkFaults { reorder: reorder(1.5, 0), ..default() }, "reorder.share"),
        (LinkFaults { reorder: reorder(0.5, -1), ..default() }, "reorder.extra"),
        (LinkFaults { rate: rate(0.0, 1.0), ..default() }, "rate.bytes_per_s"),
        (LinkFaults { rate: rate(1.0, f64::NAN), ..default() }, "rate.queue_max_bytes"),
    ];
    for (faults, field) in cases {
        let error: LinkFaultError = faults.validate().expect_err(field);
        assert!(error.to_string().starts_with(field), "{error}");
    }
    assert_eq!(LinkFaults { rate: rate(1.0, f64::INFINITY), ..default() }.validate(), Ok(()));
}

proptest! {
    #[test]
    fn a_packets_fate_does_not_depend_on_other_traffic(
        seed: u64,
        times in prop::collection::btree_map(0i64..3_000, (any::<bool>(), 0usize..3), 1..100),
    ) {
        let mut alone = Link::new(all_faults(), Seed::new(seed));
        let mut crowded = alone.clone();
        for (millis, (is_shared, others)) in times {
            let _ = crowded.reliable(at(millis), 10);
            if is_shared {
                prop_assert_eq!(alone.fate(at(millis), 100), crowded.fate(at(millis), 1_000));
            }
            for _ in 0..others {
                // After the shared packet at its instant, or at instants of their own.
                crowded.fate(at(millis), 10);
            }
        }
    }

    #[test]
    fn the_settings_of_other_faults_do_not_change_the_delay(seed: u64, millis in 0i64..100_000) {
        let faults = |loss, duplicate| LinkFaults { loss, duplicate, ..all_faults() };
        let link = |loss, duplicate| Link::new(faults(loss, duplicate), Seed::new(seed));
        let mut lossless = link(Loss::None, 0.0);
        let mut lossy = link(Loss::Independent { probability: 0.5 }, 0.3);
        let first = lossless.fate(at(millis), 100).arrivals().next();
        let fate = lossy.fate(at(millis), 100);
        prop_assert!(fate == Fate::Lost || fate.arrivals().next() == first);
    }
}

#[test]
fn datagrams_with_a_label_meet_the_same_fate_whenever_they_are_sent() {
    let (mut early, mut late) =
        (Link::new(all_faults(), Seed::new(4)), Link::new(all_faults(), Seed::new(4)));
    let delays = |link: &mut Link, at: TrueTime, label| -> Vec<Span> {
        link.fate_of(at, 100, label).arrivals().map(|arrival| arrival - at).collect()
    };
    let faults = LinkFaults { loss: Loss::Independent { probability: 0.2 }, ..all_faults() };
    early.change(faults.clone());
    late.change(faults);
    for label in 0..200 {
        let now = at(label * 18);
        // Other traffic leaves the fates of labelled datagrams alone.
        late.fate(now, 100);
        let label = Some(label as u64);
        assert_eq!(delays(&mut early, now, label), delays(&mut late, now + Span::from_millis(7), label));
    }
    let all: Vec<_> = (0..200).map(|label| delays(&mut late, at(9_000), Some(label))).collect();
    assert!(all.windows(2).any(|pair| pair[0] != pair[1]), "labels differ");
}
