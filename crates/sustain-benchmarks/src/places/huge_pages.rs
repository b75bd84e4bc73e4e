//! Huge pages kept aside for fio, given back when dropped. `sustain` asks for them as it maps its
//! buffers (`madvise`) and needs none kept aside.

use anyhow::{Context, bail};

const CONTROL: &str = "/proc/sys/vm/nr_hugepages";

/// So many huge pages more than before.
#[derive(Debug)]
pub(crate) struct HugePages {
    before: u64,
}

impl HugePages {
    /// Keeps `count` pages aside.
    pub(crate) fn keep(count: u64) -> anyhow::Result<HugePages> {
        let pages = HugePages { before: read()? };
        let wanted = pages.before + count;
        std::fs::write(CONTROL, wanted.to_string())
            .with_context(|| format!("cannot write {CONTROL}"))?;
        // The kernel takes what it finds and does not complain.
        let found = read()?;
        if found < wanted {
            bail!("{CONTROL}: {found} huge pages instead of {wanted}; free some memory first");
        }
        Ok(pages)
    }
}

impl Drop for HugePages {
    fn drop(&mut self) {
        // Where that fails nothing better can be done; the memory stays kept aside.
        let _ = std::fs::write(CONTROL, self.before.to_string());
    }
}

fn read() -> anyhow::Result<u64> {
    let text =
        std::fs::read_to_string(CONTROL).with_context(|| format!("cannot read {CONTROL}"))?;
    text.trim()
        .parse()
        .with_context(|| format!("{CONTROL} holds no number"))
}
