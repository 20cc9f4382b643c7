//! The event queue against a plain binary heap: removing an event and inserting another at various queue
//! lengths.
//!
//! `cargo bench -p evenkeel-sim --bench queue`

// The queue is private to the crate, so this benchmark compiles its own copy.
#[allow(dead_code)]
#[path = "../src/queue.rs"]
mod queue;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use divan::Bencher;
use divan::counter::ItemsCount;
use evenkeel_core::{Seed, Span};
use evenkeel_link::TrueTime;
use queue::EventQueue;

fn main() {
    divan::main();
}

const EVENTS: usize = 100_000;
const WAITING: [usize; 5] = [10, 300, 1_000, 100_000, 1_000_000];

/// How far ahead of its cause each event happens: up to 800 ms.
fn spans() -> Vec<Span> {
    let mut draws = Seed::new(3).draws();
    (0..EVENTS).map(|_| Span::from_secs_f64(draws.uniform(0.0, 0.8))).collect()
}

#[divan::bench(args = WAITING)]
fn calendar(bencher: Bencher<'_, '_>, waiting: usize) {
    let spans = spans();
    let mut queue = EventQueue::new();
    for index in 0..waiting {
        queue.push(TrueTime::default() + spans[index % EVENTS], index as u32);
    }
    bencher.counter(ItemsCount::new(EVENTS)).bench_local(|| {
        for span in &spans {
            let (at, event) = queue.pop_until(TrueTime::MAX).expect("the queue is not empty");
            queue.push(at + *span, event);
        }
    });
}

#[divan::bench(args = WAITING)]
fn plain_heap(bencher: Bencher<'_, '_>, waiting: usize) {
    let spans = spans();
    let mut heap = BinaryHeap::new();
    for index in 0..waiting {
        heap.push(Reverse((TrueTime::default() + spans[index % EVENTS], index as u64, index as u32)));
    }
    let mut number = waiting as u64;
    bencher.counter(ItemsCount::new(EVENTS)).bench_local(|| {
        for span in &spans {
            let Reverse((at, _, event)) = heap.pop().expect("the queue is not empty");
            heap.push(Reverse((at + *span, number, event)));
            number += 1;
        }
    });
}
