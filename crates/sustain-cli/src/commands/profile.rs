//! `sustain profile`: samples targets over their positions, and says the rate at each place.

use sustain::disk::target::Direction;
use sustain::document::profile::ProfileResult;
use sustain::document::reader;
use sustain::document::vocabulary::ExperimentEnd;
use sustain::host::Roots;
use sustain::measure::LoadPlan;
use sustain::profile::{ProfilePlan, profile, rehearse_profile};
use sustain::report::html;
use sustain::report::terminal::{ProfileView, profile_answer, profile_text};

use super::begin::{CommandSetup, begin, rehearsed};
use super::output::{self, Outputs};
use crate::exit::Exit;
use crate::flags::profile::ProfileFlags;
use crate::request::{arguments, load};
use crate::usage_error::UsageError;

pub(crate) fn run(flags: &ProfileFlags) -> anyhow::Result<Exit> {
    let plan = plan(flags)?;
    let roots = Roots::default();
    if flags.safety.dry_run {
        return Ok(rehearsed(&rehearse_profile(&plan, &roots)?));
    }
    let outputs = Outputs::from(&flags.output);
    let CommandSetup { stop, live } = begin(&flags.targets, outputs)?;
    let mut view = ProfileView::new(live, Box::new(std::io::stderr()));
    let result = profile(&plan, &roots, &stop, &mut |event| view.take(&event));
    view.finish();
    let result = result?;
    present(outputs, &result)?;
    Ok(exit(&result))
}

fn plan(flags: &ProfileFlags) -> Result<ProfilePlan, UsageError> {
    if flags.read && !flags.write && !flags.safety.destroy.is_empty() {
        let text = "--read destroys nothing: leave out --destroy";
        return Err(UsageError(text.to_owned()));
    }
    let directions = [
        (flags.write, Direction::Write),
        (flags.read, Direction::Read),
    ];
    let asked = directions.into_iter().filter(|(asked, _)| *asked);
    Ok(ProfilePlan {
        load: LoadPlan {
            seed: flags.seed,
            ..load(&flags.targets, flags.size, &flags.safety, flags.request)
        },
        directions: asked.map(|(_, direction)| direction).collect(),
        budget_ns: flags.budget,
        arguments: arguments(),
    })
}

/// The text about a profile, also for saved ones.
pub(super) fn words(result: &ProfileResult) -> String {
    let width = output::width();
    let answer = profile_answer(result, width);
    output::answered(&answer, &profile_text(result, width))
}

fn present(outputs: Outputs<'_>, result: &ProfileResult) -> anyhow::Result<()> {
    outputs.deliver(
        &words(result),
        || reader::write(result),
        || html::profile_html(std::slice::from_ref(result)),
    )
}

fn exit(result: &ProfileResult) -> Exit {
    if result.ended == ExperimentEnd::Interrupted {
        Exit::Interrupted
    } else if result
        .targets
        .iter()
        .any(|target| !target.errors.is_empty())
    {
        Exit::Failed
    } else {
        Exit::Done
    }
}
