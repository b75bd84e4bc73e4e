//! The flags of `sustain completions` and `sustain man`, which write what an installation needs.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use clap_complete::Shell;

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  source <(sustain completions bash)
      For this shell alone.
  sustain completions bash > ~/.local/share/bash-completion/completions/sustain
      For every new bash.
  sustain completions zsh > ~/.zfunc/_sustain
      Needs a line fpath+=~/.zfunc before compinit in ~/.zshrc.
  sustain completions fish > ~/.config/fish/completions/sustain.fish
      For every new fish.

Exit codes: 0 done; 1 it could not be written; 2 usage error.";

#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
#[command(override_usage = "sustain completions <SHELL>")]
pub(crate) struct CompletionsFlags {
    /// The shell to complete commands, flags, files and simulated disks in.
    #[arg(value_enum, value_name = "SHELL", required_unless_present = "targets")]
    pub(crate) shell: Option<Shell>,
    /// Print the simulated machines and disks whose names begin so; the scripts ask for them.
    #[arg(long, value_name = "WORD", hide = true)]
    pub(crate) targets: Option<String>,
}

const MAN_EXAMPLES: &str = "\
Examples:
  sustain man | man -l -
      Shows the page of sustain before anything is installed.
  sustain man ~/.local/share/man/man1
      Installs all pages; then `man sustain-measure` works.

Exit codes: 0 done; 1 it could not be written; 2 usage error.";

#[derive(Debug, Args)]
#[command(after_help = MAN_EXAMPLES)]
pub(crate) struct ManFlags {
    /// The directory for sustain.1 and a page for each command; created if it does not exist
    /// [default: none; sustain.1 alone goes to standard output].
    #[arg(value_name = "DIRECTORY", value_hint = ValueHint::DirPath)]
    pub(crate) directory: Option<PathBuf>,
}
