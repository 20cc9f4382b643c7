//! Results of soaks as text tables.

use evenkeel_soak::Verdict;
use evenkeel_soak::capacity::CapacityRow;
use evenkeel_soak::hostile::AttackCount;
use evenkeel_soak::saturate::SaturationStep;

use super::{Column, table};

/// The checks and figures of each soak.
pub(crate) fn verdicts(verdicts: &[Verdict]) -> String {
    verdicts.iter().map(verdict).collect()
}

fn verdict(verdict: &Verdict) -> String {
    let early = if verdict.stopped_early { " (stopped early)" } else { "" };
    let mut text = format!("{}{early}\n\n", verdict.title);
    for check in &verdict.checks {
        let mark = if check.passed { "pass" } else { "FAIL" };
        text += &format!("{mark}  {}\n      {}\n", check.what, check.measured);
    }
    text += "\n";
    for (name, figure) in &verdict.figures {
        text += &format!("      {name}: {figure}\n");
    }
    text + "\n"
}

/// What the attackers sent, and what the relay made of the members' messages.
pub(crate) fn attacks(counts: &[AttackCount]) -> String {
    let figures = counts.iter().map(|count| Some(count.count as f64)).collect();
    let labels = counts.iter().map(|count| vec![count.kind.to_owned()]).collect();
    let sent = table(&["attack"], labels, &[Column::new("count", figures, Some(0))]);
    let members: Vec<&AttackCount> =
        counts.iter().filter(|count| count.kind.starts_with("members:")).collect();
    let column = |title: &str, figure: fn(&AttackCount) -> u64| {
        let figures = members.iter().map(|count| Some(figure(count) as f64).filter(|count| *count > 0.0));
        Column::new(title, figures.collect(), Some(0))
    };
    let columns = [
        column("vectors\nsent", |count| count.vectors),
        column("\nrecorded", |count| count.recorded),
        column("passed\non", |count| count.passed_on),
        column("reports\nsent", |count| count.reports),
        column("\nsettled", |count| count.settled),
        column("untrue\nor cut", |count| count.clamped),
        column("messages\nrejected", |count| count.rejected),
        column("\ndropped", |count| count.dropped),
    ];
    let label =
        |count: &&AttackCount| vec![count.kind.trim_start_matches("members: ").chars().take(24).collect()];
    let took = table(&["members"], members.iter().map(label).collect(), &columns);
    format!("{sent}\n{took}{ATTACKS_LEGEND}")
}

const ATTACKS_LEGEND: &str = "
recorded   vectors that the relay confirmed as recorded, or as not needed
passed on  how often it sent one of them to an attacker
settled    acknowledgments that it confirmed
rejected   messages that are malformed or exceed the room's limits
dropped    datagrams above their sender's allowance; vectors and lives above a quota are listed further up
";

/// What rooms cost, by policy, budget and threads.
pub(crate) fn capacity(rows: &[CapacityRow]) -> String {
    let column = |title: &str, figure: &dyn Fn(&CapacityRow) -> f64, decimals: usize| {
        Column::new(title, rows.iter().map(|row| Some(figure(row))).collect(), Some(decimals))
    };
    let columns = [
        column("threads", &|row| row.threads as f64, 0),
        column("rooms", &|row| row.rooms as f64, 0),
        column("bots", &|row| row.bots as f64, 0),
        column("core\n%", &|row| 100.0 * row.core, 1),
        column("within 2 ms\n%", &|row| 100.0 * row.on_time_2ms, 2),
        column("error\nunits", &|row| row.error_seen, 3),
        column("kbit/s\nper bot", &|row| row.kbit_per_s, 1),
        column("vectors\nper s", &|row| row.vectors_per_s, 0),
        column("datagrams\nper s", &|row| row.datagrams_per_s, 0),
    ];
    let labels = rows.iter().map(|row| vec![row.policy.clone(), row.budget.clone()]).collect();
    format!("{}\nThe bots run on the same cores.\n", table(&["policy", "budget"], labels, &columns))
}

/// The measured sizes of room, and whether the largest was too large.
pub(crate) fn saturation(steps: &[SaturationStep]) -> String {
    let Some(last) = steps.last() else { return String::new() };
    let column = |title: &str, figure: &dyn Fn(&SaturationStep) -> f64, decimals: usize| {
        Column::new(title, steps.iter().map(|step| Some(figure(step))).collect(), Some(decimals))
    };
    let columns = [
        column("within 1 ms\n%", &|step| 100.0 * step.on_time_1ms, 2),
        column("within 2 ms\n%", &|step| 100.0 * step.on_time_2ms, 2),
        column("within 5 ms\n%", &|step| 100.0 * step.on_time_5ms, 2),
        column("core\n%", &|step| 100.0 * step.core, 1),
        column("vectors\nper s", &|step| step.vectors_per_s, 0),
        column("datagrams\nper s", &|step| step.datagrams_per_s, 0),
    ];
    let labels = steps.iter().map(|step| vec![step.bots.to_string()]).collect();
    let verdict = if last.is_saturated() {
        format!("{} bots in a room are too many here", last.bots)
    } else {
        format!("{} bots in a room are not too many here", last.bots)
    };
    format!("{}\n{verdict}: the bots run on the same cores\n", table(&["bots"], labels, &columns))
}
