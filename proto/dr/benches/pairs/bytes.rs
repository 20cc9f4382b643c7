//! The memory that an owner holds for each pair, counted by the allocator.

// Implementing an allocator takes unsafe code.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, Ordering};

use evenkeel_core::Vec3;
use evenkeel_dr::{DrCommand, EntityId, MotionState, RelayCommand};

use crate::room::{Room, budget, even};

struct Counting;

static HELD: AtomicI64 = AtomicI64::new(0);

// SAFETY: every call is forwarded to the system allocator. Counting does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: the caller upholds the same contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: the caller upholds the same contract.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes per pair, with some vectors in flight: first on average, then for each additional pair if receivers are
/// doubled. Only the first includes the memory per entity.
pub(crate) fn per_pair(entities: usize, receivers: usize, in_flight: usize) -> (f64, f64) {
    let (held, of_twice) = (held(entities, receivers, in_flight), held(entities, 2 * receivers, in_flight));
    let each = |bytes: i64| bytes as f64 / (entities * receivers) as f64;
    (each(held), each(of_twice - held))
}

/// The bytes that an owner holds when all introductions are acknowledged and some vectors per pair are in flight. The
/// policy is `even` in the end, so its state of each pair is included.
fn held(entities: usize, receivers: usize, in_flight: usize) -> i64 {
    let before = HELD.load(Ordering::Relaxed);
    let mut room = Room::new(entities, receivers, "base".parse().expect("a policy"), 1.0);
    let still = |entity: u32, place: usize| {
        let state = MotionState { position: Vec3::xy(10.0 * place as f64, 0.0), ..MotionState::default() };
        (EntityId(entity), state)
    };
    let all = |place: usize| (0..entities as u32).map(|entity| still(entity, place)).collect::<Vec<_>>();
    for _ in 0..45 {
        room.step_with(all(0));
    }
    room.is_delivering = false;
    for place in 0..in_flight {
        room.step_with(all(1 + place));
    }
    let mut owner = room.into_owner();
    let policy = DrCommand::Policy(RelayCommand::Switch { policy: even(), budget: budget(receivers) });
    let now = evenkeel_core::LocalTime::from_nanos(0) + crate::room::TICK.times(46 + in_flight as i64);
    evenkeel_core::Endpoint::handle_command(&mut owner, now, policy);
    // One trigger makes `even` look at all of them.
    let mut states = all(in_flight);
    states[0] = still(0, in_flight + 1);
    crate::room::look_at_all(&mut owner, now, states);
    let held = HELD.load(Ordering::Relaxed) - before;
    drop(owner);
    held
}
