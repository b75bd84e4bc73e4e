//! Draws one recording on the page, from the answer down to everything that is needed to repeat it.

use sustain_document::record::{RecordResult, RecordingEnd, StreamResult};
use sustain_record::verdicts::{average_bytes_per_s, recorded_bytes};

use super::super::buffer_chart::{DrawnBufferCurve, curve_chart};
use super::super::chart::Figure;
use super::super::escape;
use super::super::section::{kernel_messages, notes};
use super::super::tiles::{self, Standing, Tiles};
use super::append_chart::append_chart;
use super::frame_charts::{frames_histogram, frames_over_time};
use super::member_charts::{bytes_chart, share_chart};
use super::protection_chart::protection_chart;
use super::{tables, time_chart};
use crate::ReportError;
use crate::format::{latency, memory, percent, position, rate, stretch};
use crate::terminal::record_sentence;

/// The title: `Recording 3: streams left and right, 60 s`.
pub(super) fn name(result: &RecordResult) -> String {
    let names: Vec<&str> = result
        .streams
        .iter()
        .map(|stream| stream.name.as_str())
        .collect();
    let streams = match names.as_slice() {
        [] => "no stream".to_owned(),
        [only] => format!("stream {only}"),
        [first @ .., last] if first.len() < 4 => {
            format!("streams {} and {last}", first.join(", "))
        }
        [first, second, rest @ ..] => {
            format!("streams {first}, {second} and {} more", rest.len())
        }
    };
    format!(
        "Recording {}: {streams}, {}",
        result.recording,
        stretch(result.seconds)
    )
}

/// The section of this recording; `index` keeps its charts apart from those of others.
pub(super) fn section(result: &RecordResult, index: usize) -> Result<String, ReportError> {
    let mut markup = format!(
        "<section>\n<h1>{}</h1>\n{}",
        escape::text(&name(result)),
        answer(result),
    );
    markup.push_str(&tables::alarms(result));
    markup.push_str(&tables::key_figures(result));
    markup.push_str(&tables::limited_by(result));
    markup.push_str("<h2>Charts</h2>\n");
    markup.push_str(&time_chart::time_chart(result, format!("time-{index}")).markup());
    let drawn = |chart: Option<Figure>| chart.map_or_else(String::new, |chart| chart.markup());
    markup.push_str(&drawn(append_chart(result, format!("appends-{index}"))));
    markup.push_str(&drawn(frames_over_time(result, format!("frames-{index}"))));
    markup.push_str(&drawn(frames_histogram(
        result,
        format!("intervals-{index}"),
    )));
    markup.push_str(&drawn(protection_chart(
        result,
        format!("protection-{index}"),
    )));
    markup.push_str(&share_chart(result, &format!("shares-{index}")));
    markup.push_str(&drawn(bytes_chart(result, format!("members-{index}"))));
    markup.push_str(&drawn(buffer(result, format!("buffer-{index}"))));
    markup.push_str(&kernel_messages(&result.system));
    markup.push_str(&notes(&result.notes));
    markup.push_str(&tables::asked(result));
    markup.push_str(&tables::host(result)?);
    markup.push_str("</section>\n");
    Ok(markup)
}

/// The answer and its figures. The answer is no if bytes were lost or a member failed.
fn answer(result: &RecordResult) -> String {
    let sum = |of: fn(&StreamResult) -> u64| result.streams.iter().map(of).sum::<u64>();
    let with_members: u64 = result.members.iter().map(|one| one.lost_bytes).sum();
    let lost = sum(|stream| stream.gap_bytes) + with_members;
    let failed = result.members.iter();
    let failed = failed.filter(|member| member.error.is_some()).count();
    let standing = |is_bad: bool| {
        if is_bad {
            Standing::Bad
        } else {
            Standing::Plain
        }
    };
    let mut tiles = Tiles::default();
    let offered = position(sum(|stream| stream.offered_bytes));
    let (figure, words) = match (lost, with_members) {
        (0, _) => (
            "nothing".to_owned(),
            format!("was lost of {offered} offered"),
        ),
        (_, 0) => (position(lost), format!("were LOST of {offered} offered")),
        _ => (
            position(lost),
            format!("at most were LOST of {offered} offered"),
        ),
    };
    tiles.stand(standing(lost > 0), &figure, &words);
    if failed > 0 {
        let figure = format!("{failed} of {}", result.members.len());
        tiles.stand(Standing::Bad, &figure, "members failed");
    }
    let recorded = format!("recorded in {}", stretch(result.seconds));
    tiles.add(&position(recorded_bytes(result)), &recorded);
    tiles.add(&rate(average_bytes_per_s(result)), "on average");
    let fills = result.samples.iter().map(|at| at.buffer_fill);
    let fill = fills.fold(0.0, f64::max);
    // A fill that came and went between two samples is not known.
    let words = format!(
        "of the {} buffer was filled at most, of all times that were sampled",
        memory(result.plan.buffer_bytes)
    );
    tiles.gauge(fill, &percent(fill), &words);
    let durable = result.streams.iter().filter(|one| one.recorded_bytes > 0);
    if let Some(longest_ns) = durable.map(|one| one.durable_latency_ns.p99_9).max() {
        let words = "until 99.9 % of the appends were durable";
        tiles.add(&latency(longest_ns), words);
    }
    let has_failed = lost > 0 || failed > 0 || result.ended == RecordingEnd::Error;
    tiles::answer(standing(has_failed), &record_sentence(result), &tiles)
}

fn buffer(result: &RecordResult, id: String) -> Option<Figure> {
    let points = result.buffer_curve.iter();
    let curve = DrawnBufferCurve {
        points: points
            .map(|point| (point.rate_bytes_per_s, point.buffer_bytes.ceil() as u64))
            .collect(),
        bound_bytes: result.plan.buffer_bytes,
        recommendation: None,
        caption: "For each rate of a stream, the memory that would have ridden out every stall in \
                  the writes of this recording. Where the sources limited the rate, the curve \
                  turns up at their rate: the members may be able to take more."
            .to_owned(),
    };
    curve_chart(curve, id)
}
