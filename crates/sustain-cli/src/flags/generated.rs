//! The flags of `sustain completions` and `sustain man`, which write what an installation needs.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use clap_complete::Shell;

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  source <(sustain completions bash)
      For this shell only.
  sustain completions bash > ~/.local/share/bash-completion/completions/sustain
      For every bash to come.
  sustain completions zsh > ~/.zfunc/_sustain
      With a line fpath+=~/.zfunc before compinit in ~/.zshrc.
  sustain completions fish > ~/.config/fish/completions/sustain.fish
      For every fish to come.

Exit codes: 0 done; 1 it could not be written; 2 usage.";

#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub(crate) struct CompletionsFlags {
    /// The shell that is to complete commands, flags and files.
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: Shell,
}

const MAN_EXAMPLES: &str = "\
Examples:
  sustain man | man -l -
      Reads the page of sustain, before anything is installed.
  sustain man ~/.local/share/man/man1
      Installs all pages; from then on: man sustain-measure.

Exit codes: 0 done; 1 it could not be written; 2 usage.";

#[derive(Debug, Args)]
#[command(after_help = MAN_EXAMPLES)]
pub(crate) struct ManFlags {
    /// Where to write sustain.1 and a page for each command; made if it is not there [default:
    /// sustain.1 alone, on standard output].
    #[arg(value_name = "DIRECTORY", value_hint = ValueHint::DirPath)]
    pub(crate) directory: Option<PathBuf>,
}
