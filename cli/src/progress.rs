//! A batch as the user sees it: a bar on standard error, if that is a terminal, and Ctrl-C.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use evenkeel_lab::parallel::{Cancelled, Progress};
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::failure::Failure;

const REDRAWN_EVERY: Duration = Duration::from_millis(100);
const BAR: &str = "{bar:32} {pos} of {len} runs, {elapsed} gone{msg}";

/// Does work that reports its progress, watched by the user. Ctrl-C cancels it; a second one does not wait for that.
pub(crate) fn watch<T>(work: impl FnOnce(&Progress) -> Result<T, Cancelled>) -> Result<T, Failure> {
    let progress = Arc::new(Progress::default());
    let heard = Arc::clone(&progress);
    let handler = move || {
        if heard.is_cancelled() {
            process::exit(130);
        }
        heard.cancel();
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

/// Keeps the bar up to date until the work is over, and wipes it then.
fn draw(progress: &Progress, over: &AtomicBool) {
    // Hidden by itself where standard error is not a terminal.
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    bar.set_style(ProgressStyle::with_template(BAR).expect("the template is ours").progress_chars("##."));
    while !over.load(Ordering::Acquire) {
        let (done, total) = (progress.done(), progress.total());
        bar.set_length(total as u64);
        bar.set_position(done as u64);
        // Before the first run is over nobody can tell.
        if done > 0 {
            let left = bar.elapsed().mul_f64(total.saturating_sub(done) as f64 / done as f64);
            bar.set_message(format!(", {} to go", HumanDuration(left)));
        }
        bar.tick();
        thread::park_timeout(REDRAWN_EVERY);
    }
    bar.finish_and_clear();
}
