//! Makes the tables of the command, its settings and the machine, so that someone else can repeat
//! the run. The sections of all kinds of results call them.

use serde_json::Value;
use sustain_document::block_device::BlockDevice;
use sustain_document::host::{Description, FileSystem, Host};
use sustain_document::measure::Plan;
use sustain_targets::shell_argument;

use super::escape;
use super::table::Table;
use crate::ReportError;
use crate::format::{memory, rate, size, stretch};

/// The settings of a measurement, with the command to copy.
pub(super) fn asked(plan: &Plan) -> String {
    let mut table = Table::new("Command and settings", &[]);
    if let Some(started) = &plan.started {
        table.pair("started", started);
    }
    table.pair("direction", plan.direction.name());
    table.pair("targets", plan.targets.join(", "));
    let engine = format!(
        "{} (--engine {}): {}",
        plan.engine_used, plan.engine, plan.engine_why
    );
    table.pair("engine", engine);
    table.pair("threads", plan.threads.to_string());
    table.pair("record size", size(plan.record_size_bytes));
    table.pair("depth per target", plan.depth.to_string());
    table.pair("I/O path", plan.path.name());
    let chunk = plan
        .chunk_bytes
        .map_or_else(String::new, |bytes| format!(", chunk {}", size(bytes)));
    table.pair("layout", format!("{}{chunk}", plan.layout));
    if let Some(order) = &plan.order {
        table.pair("order of the targets", order.join(", "));
    }
    table.pair("run until", until(plan));
    if let Some(bytes) = plan.size_bytes {
        table.pair("used part of each target", size(bytes));
    }
    if let Some(bytes_per_s) = plan.rate_bytes_per_s {
        table.pair("paced rate of all targets", rate(bytes_per_s));
    }
    table.pair("buffer of the recorder", memory(plan.buffer_bytes));
    if let Some(seconds) = plan.interval_s {
        table.pair("interval", stretch(seconds));
    }
    if let Some(bytes) = plan.interval_bytes {
        table.pair("interval", size(bytes));
    }
    table.pair("data", plan.data.name());
    table.pair("seed", plan.seed.to_string());
    table.pair("machine", machine_words(plan.simulated));
    table.pair("sustain version", &plan.sustain_version);
    asked_markup(&plan.arguments, &table)
}

/// Tells a real machine from a simulated one.
pub(super) fn machine_words(is_simulated: bool) -> &'static str {
    if is_simulated {
        "simulated, in virtual time"
    } else {
        "real"
    }
}

/// The command to copy, and the table of its settings.
pub(super) fn asked_markup(arguments: &[String], table: &Table) -> String {
    format!(
        "<h2>Command and settings</h2>\n<pre class=\"command\">{}</pre>\n{}",
        escape::text(&command(arguments)),
        table.markup()
    )
}

fn until(plan: &Plan) -> String {
    let steady = plan.until_steady.then(|| "the rate is steady".to_owned());
    let time = plan.time_s.map(stretch);
    let bytes = plan
        .bytes
        .map(|bytes| format!("{} per target", size(bytes)));
    let bounds: Vec<String> = [steady, time, bytes].into_iter().flatten().collect();
    if bounds.is_empty() {
        "the end of each target".to_owned()
    } else {
        bounds.join(" or ")
    }
}

/// The command line, quoted so that it can be pasted into a shell.
fn command(arguments: &[String]) -> String {
    let quoted: Vec<String> = arguments.iter().map(|word| shell_argument(word)).collect();
    let named = arguments
        .first()
        .is_some_and(|first| first.rsplit('/').next() == Some("sustain"));
    if named {
        quoted.join(" ")
    } else {
        format!("sustain {}", quoted.join(" "))
    }
}

/// The command with its settings, and the machine, closed until someone opens them.
pub(super) fn command_settings_and_machine(
    arguments: &[String],
    settings: &Table,
    of: &Host,
) -> Result<String, ReportError> {
    Ok(format!(
        "<details><summary>Command, settings and machine</summary>\n{}{}</details>\n",
        asked_markup(arguments, settings),
        host(of)?,
    ))
}

/// Every fact that the result has of the machine of a measurement.
pub(super) fn host(host: &Host) -> Result<String, ReportError> {
    let file_systems = host.file_systems.iter();
    let places = file_systems.map(|place| (place.target.as_str(), &place.file_system));
    machine(host.description.as_ref(), &host.devices, places)
}

/// A machine, its devices, and its file systems with the name of the target on each.
pub(super) fn machine<'a>(
    description: Option<&Description>,
    devices: &[BlockDevice],
    file_systems: impl Iterator<Item = (&'a str, &'a FileSystem)>,
) -> Result<String, ReportError> {
    let mut markup = String::new();
    if let Some(description) = description {
        markup.push_str(&facts("Machine", &to_value(description)?));
    }
    for device in devices {
        markup.push_str(&facts("Device", &to_value(device)?));
    }
    for (name, file_system) in file_systems {
        let heading = format!("File system of {name}");
        markup.push_str(&facts(&heading, &to_value(file_system)?));
    }
    if markup.is_empty() {
        return Ok(markup);
    }
    Ok(format!(
        "<h2>Machine, devices and file systems</h2>\n<div class=\"columns\">\n{markup}</div>\n"
    ))
}

/// The facts as JSON, so that a fact that is added to the result later appears here by itself.
fn to_value(facts: &impl serde::Serialize) -> Result<Value, ReportError> {
    serde_json::to_value(facts).map_err(ReportError::NotWritable)
}

fn facts(heading: &str, value: &Value) -> String {
    let mut table = Table::new("Facts", &[]);
    add_facts(&mut table, "", value);
    format!(
        "<div><h3>{}</h3>\n{}</div>\n",
        escape::text(heading),
        table.markup()
    )
}

fn add_facts(table: &mut Table, name: &str, value: &Value) {
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            for (key, field) in fields {
                let inner = if name.is_empty() {
                    key.clone()
                } else {
                    format!("{name} {key}")
                };
                add_facts(table, &inner, field);
            }
        }
        Value::Array(items) if items.is_empty() => {}
        Value::Array(items) if items.iter().all(|item| !item.is_object()) => {
            let words: Vec<String> = items.iter().map(plain).collect();
            table.pair(&key_words(name), words.join(", "));
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                add_facts(table, &format!("{name} {}", index + 1), item);
            }
        }
        Value::Number(number) if name.ends_with("_bytes") => {
            let words = number.as_u64().map_or_else(|| number.to_string(), size);
            table.pair(&key_words(name.trim_end_matches("_bytes")), words);
        }
        value => table.pair(&key_words(name), plain(value)),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        other => other.to_string(),
    }
}

fn key_words(key: &str) -> String {
    key.replace('_', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_found_at_any_depth_and_unknown_ones_left_out() {
        let value = serde_json::json!({
            "model": "<X>", "size_bytes": 1_000_000_000_u64, "rotational": false, "serial": null,
            "node": {"name": "sda", "holders": []}, "slaves": ["sdb", "sdc"],
            "partitions": [{"name": "sda1"}],
        });
        let markup = facts("Device", &value);
        for pair in [
            "<th scope=\"row\">model</th><td>&lt;X&gt;</td>",
            "<th scope=\"row\">size</th><td>1 GB</td>",
            "<th scope=\"row\">rotational</th><td>no</td>",
            "<th scope=\"row\">node name</th><td>sda</td>",
            "<th scope=\"row\">slaves</th><td>sdb, sdc</td>",
            "<th scope=\"row\">partitions 1 name</th><td>sda1</td>",
        ] {
            assert!(markup.contains(pair), "{pair} is missing in {markup}");
        }
        assert!(!markup.contains("serial") && !markup.contains("holders"));
    }

    #[test]
    fn command_can_be_pasted() {
        let words = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            command(&words(&["measure", "my disk"])),
            "sustain measure 'my disk'"
        );
        assert_eq!(
            command(&words(&["/usr/bin/sustain", "measure"])),
            "/usr/bin/sustain measure"
        );
    }
}
