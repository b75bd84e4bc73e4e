//! Finds the program that made a volume of the device mapper, and the command that removes the
//! volume. The command is one of that program, which knows what belongs together. Pure; called by
//! `block_device` and `refusal`.

use sustain_document::block_device::MapperMaker;

/// Finds the maker by the volume's UUID, as sysfs has it in `dm/uuid`.
pub(crate) fn maker_of_uuid(uuid: &str) -> Option<MapperMaker> {
    match uuid.split_once('-')?.0 {
        "LVM" => Some(MapperMaker::Lvm),
        "CRYPT" => Some(MapperMaker::Cryptsetup),
        "mpath" => Some(MapperMaker::Multipath),
        _ => None,
    }
}

/// LVM's name of a volume, from the device mapper's name of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LvmName {
    pub(crate) group: String,
    /// `None` for a part that LVM keeps below volumes, which cannot be named.
    pub(crate) volume: Option<String>,
}

/// Names of such parts contain one of these, which LVM reserves (lvm(8), reserved names).
const LVM_INTERNAL: [&str; 11] = [
    "_cdata", "_cmeta", "_corig", "_cvol", "_mimage", "_mlog", "_rimage", "_rmeta", "_tdata",
    "_tmeta", "_vdata",
];

/// Reads `group-volume` or `group-volume-layer`, where a dash of a name itself is doubled.
pub(crate) fn lvm_name(mapper_name: &str) -> Option<LvmName> {
    const DASH: &str = "\0";
    let marked = mapper_name.replace("--", DASH);
    let mut words = marked.split('-').map(|word| word.replace(DASH, "-"));
    let (group, volume) = (words.next()?, words.next()?);
    let is_internal =
        words.next().is_some() || LVM_INTERNAL.iter().any(|part| volume.contains(part));
    Some(LvmName {
        group,
        volume: (!is_internal).then_some(volume),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(group: &str, volume: Option<&str>) -> Option<LvmName> {
        Some(LvmName {
            group: group.to_owned(),
            volume: volume.map(str::to_owned),
        })
    }

    #[test]
    fn a_doubled_dash_belongs_to_the_name() {
        assert_eq!(lvm_name("vg-home"), name("vg", Some("home")));
        assert_eq!(
            lvm_name("my--host--vg-swap_1"),
            name("my-host-vg", Some("swap_1"))
        );
        assert_eq!(lvm_name("a---b"), name("a-", Some("b")));
        assert_eq!(lvm_name("vg-a--b--c"), name("vg", Some("a-b-c")));
        assert_eq!(lvm_name("alone"), None);
    }

    #[test]
    fn what_lies_below_volumes_has_no_name_of_its_own() {
        for below in ["vg-pool_tdata", "vg-mirror_rimage_0", "vg-home-real"] {
            assert_eq!(lvm_name(below), name("vg", None), "{below}");
        }
    }

    #[test]
    fn the_beginning_of_the_uuid_tells_the_maker() {
        let of = maker_of_uuid;
        assert_eq!(of("LVM-Yqu0rDrZ-tpool"), Some(MapperMaker::Lvm));
        assert_eq!(of("CRYPT-LUKS2-06f0-home"), Some(MapperMaker::Cryptsetup));
        assert_eq!(of("mpath-36001405"), Some(MapperMaker::Multipath));
        assert_eq!(of("part1-mpath-36001405"), None, "kpartx made it");
        assert_eq!(of("lab"), None);
    }
}
