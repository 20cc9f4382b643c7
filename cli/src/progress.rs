//! The progress bar of a batch, on standard error if that is a terminal, and cancellation with Ctrl-C.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use evenkeel_lab::parallel::{Cancelled, Progress};
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::failure::Failure;

const REDRAWN_EVERY: Duration = Duration::from_millis(100);
const BAR: &str = "{bar:32} {pos} of {len} runs, {elapsed} elapsed{msg}";

/// Runs `work` with a progress bar. Ctrl-C cancels it; a second Ctrl-C exits at once.
pub(crate) fn watch<T>(work: impl FnOnce(&Progress) -> Result<T, Cancelled>) -> Result<T, Failure> {
    let progress = Arc::new(Progress::default());
    let cancelled = Arc::clone(&progress);
    let handler = move || {
        if cancelled.is_cancelled() {
            process::exit(130);
        }
        cancelled.cancel();
    };
    ctrlc::set_handler(handler).map_err(|error| Failure::mistake(format!("Ctrl-C: {error}")))?;
    let over = AtomicBool::new(false);
    let result = thread::scope(|scope| {
        let drawing = scope.spawn(|| draw(&progress, &over));
        let result = work(&progress);
        over.store(true, Ordering::Release);
        drawing.thread().unpark();
        result
    });
    result.map_err(|Cancelled { done, total }| {
        Failure::Interrupted(format!("stopped: {done} of {total} runs were done; nothing was written"))
    })
}

/// Updates the bar until the work is over, then clears it.
fn draw(progress: &Progress, over: &AtomicBool) {
    // The bar hides itself if standard error is not a terminal.
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    bar.set_style(ProgressStyle::with_template(BAR).expect("the template is valid").progress_chars("##."));
    while !over.load(Ordering::Acquire) {
        let (done, total) = (progress.done(), progress.total());
        bar.set_length(total as u64);
        bar.set_position(done as u64);
        // An estimate needs at least one finished run.
        if done > 0 {
            let left = bar.elapsed().mul_f64(total.saturating_sub(done) as f64 / done as f64);
            bar.set_message(format!(", {} left", HumanDuration(left)));
        }
        bar.tick();
        thread::park_timeout(REDRAWN_EVERY);
    }
    bar.finish_and_clear();
}
