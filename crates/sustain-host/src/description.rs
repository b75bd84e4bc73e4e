//! A short description of the machine, so that a result can be compared and repeated elsewhere. It
//! is read once per run for the result document. It must never contain what names its owner: no
//! host name, no addresses.

use std::path::Path;

use sustain_document::host::Description;

use crate::error::HostError;
use crate::roots::{Roots, attribute, read_text};
use crate::system::meminfo_bytes;

/// Describes the host.
///
/// # Errors
/// `HostError::Read` or `HostError::Malformed` when procfs is not as expected.
pub fn describe_host(roots: &Roots) -> Result<Description, HostError> {
    let cpu_info = read_text(&roots.proc.join("cpuinfo"))?;
    let memory_path = roots.proc.join("meminfo");
    let memory_text = read_text(&memory_path)?;
    let memory_bytes =
        meminfo_bytes(&memory_text, "MemTotal").ok_or_else(|| HostError::Malformed {
            path: memory_path,
            why: "no MemTotal".to_owned(),
        })?;
    // Not every architecture names its processors; the board's name is the next best.
    let cpu_model = ["model name", "cpu model", "cpu", "Model", "Hardware"]
        .iter()
        .find_map(|field| cpu_field(&cpu_info, field))
        .map(str::to_owned)
        .or_else(|| attribute(&roots.proc.join("device-tree/model")));
    let flags = cpu_field(&cpu_info, "flags").unwrap_or_default();
    let governor = Path::new("devices/system/cpu/cpu0/cpufreq/scaling_governor");
    Ok(Description {
        kernel: read_text(&roots.proc.join("sys/kernel/osrelease"))?
            .trim()
            .to_owned(),
        architecture: std::env::consts::ARCH.to_owned(),
        cpu_model,
        cpu_count: cpu_count(&cpu_info),
        cpu_frequency_governor: attribute(&roots.sys.join(governor)),
        virtual_machine: flags.split_whitespace().any(|flag| flag == "hypervisor"),
        memory_bytes,
        page_size_bytes: rustix::param::page_size() as u64,
    })
}

/// The first value of a field in `/proc/cpuinfo`.
fn cpu_field<'a>(cpu_info: &'a str, field: &str) -> Option<&'a str> {
    let mut fields = cpu_info.lines().filter_map(|line| line.split_once(':'));
    fields
        .find(|(name, _)| name.trim() == field)
        .map(|(_, value)| value.trim())
}

fn cpu_count(cpu_info: &str) -> u32 {
    let processors = cpu_info.lines().filter(|line| {
        line.split_once(':')
            .is_some_and(|(name, _)| name.trim() == "processor")
    });
    u32::try_from(processors.count()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_host::FakeHost;

    #[test]
    fn a_host_is_described_without_its_name() {
        let host = FakeHost::new();
        host.write_proc("sys/kernel/osrelease", "6.12.48-amd64\n");
        host.write_proc("sys/kernel/hostname", "secret\n");
        host.write_proc("meminfo", "MemTotal:       16384 kB\nMemFree: 1 kB\n");
        host.write_proc(
            "cpuinfo",
            "processor\t: 0\nmodel name\t: Fast CPU\nflags\t\t: fpu hypervisor\n\n\
             processor\t: 1\nmodel name\t: Fast CPU\n",
        );
        host.write_sys(
            "devices/system/cpu/cpu0/cpufreq/scaling_governor",
            "schedutil\n",
        );
        let description = describe_host(host.roots()).unwrap();
        assert_eq!(description.kernel, "6.12.48-amd64");
        assert_eq!(description.cpu_model.as_deref(), Some("Fast CPU"));
        assert_eq!(description.cpu_count, 2);
        assert!(description.virtual_machine);
        assert_eq!(description.memory_bytes, 16384 * 1024);
        assert_eq!(
            description.cpu_frequency_governor.as_deref(),
            Some("schedutil")
        );
        assert!(
            !serde_json::to_string(&description)
                .unwrap()
                .contains("secret")
        );
    }

    #[test]
    fn a_processor_without_a_name_is_no_error() {
        let host = FakeHost::new();
        host.write_proc("sys/kernel/osrelease", "6.12.48\n");
        host.write_proc("meminfo", "MemTotal: 1 kB\n");
        host.write_proc("cpuinfo", "processor\t: 0\nBogoMIPS\t: 48.00\n");
        host.write_proc("device-tree/model", "Small Board\0");
        let description = describe_host(host.roots()).unwrap();
        assert_eq!(description.cpu_model.as_deref(), Some("Small Board"));
    }
}
