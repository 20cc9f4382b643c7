//! `evenkeel eater` in a program that was built without peer-to-peer connections.

use crate::failure::Failure;

pub(crate) use UnbuiltEaterArgs as EaterArgs;

/// Arguments of `evenkeel eater`.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct UnbuiltEaterArgs {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

pub(crate) fn run(args: UnbuiltEaterArgs) -> Result<(), Failure> {
    let words = if args.words.is_empty() { "demo".to_owned() } else { args.words.join(" ") };
    Err(Failure::mistake(format!(
        "this program was built without peer-to-peer play, which takes minutes to build: run\n  \
         cargo run --release --features p2p -- eater {words}"
    )))
}
