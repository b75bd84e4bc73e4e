//! The combinations of targets whose rates a user asks for, beside those that the search needs:
//! all there are, or a list. Pure; the run measures them once the targets are open and have names.

use sustain_document::setting::MATRIX;

use crate::error::MeasureError;

/// More of them take hours in each direction.
const COMBINATIONS_MAX: usize = 1024;

/// Which combinations are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Combinations {
    /// Every set of targets that there is, single ones first.
    All,
    /// These, each a list of targets by their names, or by the last part of their paths.
    Listed(Vec<Vec<String>>),
}

impl Combinations {
    /// Reads `all`, or a list such as `sda,sda+sdb,sdc+sdd`.
    #[must_use]
    pub fn parse(text: &str) -> Combinations {
        if text.trim() == "all" {
            return Combinations::All;
        }
        let names = |one: &str| one.split('+').map(|name| name.trim().to_owned()).collect();
        Combinations::Listed(text.split(',').map(names).collect())
    }

    /// The combinations of targets of these names, each in the order of the targets.
    ///
    /// # Errors
    /// [`MeasureError::Usage`] if there are too many, if one is listed twice, or if a name is
    /// unknown or ambiguous; `time_per_run_ns` is said with a number that is too large.
    pub fn of_targets(
        &self,
        names: &[String],
        time_per_run_ns: u64,
    ) -> Result<Vec<Vec<usize>>, MeasureError> {
        match self {
            Combinations::All => all(names.len(), time_per_run_ns),
            Combinations::Listed(listed) => listed_sets(listed, names, time_per_run_ns),
        }
    }
}

fn all(targets: usize, time_per_run_ns: u64) -> Result<Vec<Vec<usize>>, MeasureError> {
    let count = 2_f64.powi(i32::try_from(targets).unwrap_or(i32::MAX)) - 1.0;
    check_count(count, &format!("{targets} targets have"), time_per_run_ns)?;
    let sets = (1_usize..1 << targets).map(|bits| {
        let members = (0..targets).filter(|target| bits >> target & 1 == 1);
        members.collect::<Vec<usize>>()
    });
    let mut sets: Vec<Vec<usize>> = sets.collect();
    sets.sort_by_key(|set| (set.len(), set.clone()));
    Ok(sets)
}

fn listed_sets(
    listed: &[Vec<String>],
    names: &[String],
    time_per_run_ns: u64,
) -> Result<Vec<Vec<usize>>, MeasureError> {
    check_count(listed.len() as f64, "these are", time_per_run_ns)?;
    let mut sets: Vec<Vec<usize>> = Vec::new();
    for one in listed {
        let mut set = Vec::new();
        for name in one {
            let target = target_of(name, names)?;
            if set.contains(&target) {
                return usage(format!("{name} stands twice in {}", one.join("+")));
            }
            set.push(target);
        }
        set.sort_unstable();
        if sets.contains(&set) {
            return usage(format!("{} is listed twice", one.join("+")));
        }
        sets.push(set);
    }
    Ok(sets)
}

/// The target of this name. The last part of its path is enough where no other target has it.
fn target_of(name: &str, names: &[String]) -> Result<usize, MeasureError> {
    if let Some(target) = names.iter().position(|known| known == name) {
        return Ok(target);
    }
    let last_part = |known: &String| known.rsplit(['/', ':']).next() == Some(name);
    let mut called = (0..names.len()).filter(|target| last_part(&names[*target]));
    match (called.next(), called.next()) {
        (Some(target), None) => Ok(target),
        (Some(_), Some(_)) => usage(format!(
            "{name} may be more than one of the targets: give its whole name"
        )),
        (None, _) => usage(format!(
            "'{name}' is none of the targets ({}): give {} such as {}",
            names.join(", "),
            MATRIX.to("all, or combinations"),
            example(names)
        )),
    }
}

/// A list that these targets could have.
fn example(names: &[String]) -> String {
    match names {
        [first, second, ..] => format!("{first},{second},{first}+{second}"),
        _ => "a,b,a+b".to_owned(),
    }
}

fn check_count(count: f64, whose: &str, time_per_run_ns: u64) -> Result<(), MeasureError> {
    if count <= COMBINATIONS_MAX as f64 {
        return Ok(());
    }
    let hours = count * time_per_run_ns as f64 / 3.6e12;
    let time = match hours < 48.0 {
        true => format!("{hours:.1} hours"),
        false => format!("{:.0} days", hours / 24.0),
    };
    usage(format!(
        "{whose} {count:.0} combinations, which would take {time} in each direction, and \
         {COMBINATIONS_MAX} are the most: leave targets out, or list the combinations that you \
         want: {}",
        MATRIX.to("a,b,a+b")
    ))
}

fn usage<T>(text: String) -> Result<T, MeasureError> {
    Err(MeasureError::Usage(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN_NS: u64 = 3_000_000_000;

    fn sets(text: &str, names: &[&str]) -> Result<Vec<Vec<usize>>, String> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let asked = Combinations::parse(text);
        let sets = asked.of_targets(&names, RUN_NS);
        sets.map_err(|error| error.to_string())
    }

    #[test]
    fn all_of_three_are_seven_and_single_ones_come_first() {
        let all = sets(" all ", &["a", "b", "c"]).unwrap();
        let expected: [&[usize]; 7] = [&[0], &[1], &[2], &[0, 1], &[0, 2], &[1, 2], &[0, 1, 2]];
        assert_eq!(all, expected);
    }

    #[test]
    fn a_list_names_targets_or_the_last_parts_of_their_paths() {
        let names = ["/dev/sda", "/dev/sdb", "/a/x", "/b/x"];
        let listed = sets("sdb+/dev/sda, /b/x", &names).unwrap();
        assert_eq!(listed, [vec![0, 1], vec![3]]);
        let wrong = ["x", "sda+sdz", "sda+sda", "sda+sdb,sdb+sda", ""];
        let refused = wrong.map(|text| sets(text, &names).unwrap_err());
        insta::assert_snapshot!(refused.join("\n"), @"
        x may be more than one of the targets: give its whole name
        'sdz' is none of the targets (/dev/sda, /dev/sdb, /a/x, /b/x): give the list of combinations all, or combinations such as /dev/sda,/dev/sdb,/dev/sda+/dev/sdb
        sda stands twice in sda+sda
        sdb+sda is listed twice
        '' is none of the targets (/dev/sda, /dev/sdb, /a/x, /b/x): give the list of combinations all, or combinations such as /dev/sda,/dev/sdb,/dev/sda+/dev/sdb
        ");
    }

    #[test]
    fn more_than_hours_of_combinations_are_refused_with_their_number_and_time() {
        let names: Vec<String> = (0..20).map(|number| format!("d{number}")).collect();
        let refused = Combinations::All.of_targets(&names, RUN_NS).unwrap_err();
        insta::assert_snapshot!(refused.to_string(), @"20 targets have 1048575 combinations, which would take 36 days in each direction, and 1024 are the most: leave targets out, or list the combinations that you want: the list of combinations a,b,a+b");
        let refused = Combinations::All.of_targets(&names[..11], RUN_NS);
        assert!(
            refused
                .unwrap_err()
                .to_string()
                .contains("2047 combinations")
        );
        let most = Combinations::All.of_targets(&names[..10], RUN_NS);
        assert_eq!(most.unwrap().len(), 1023);
        let endless = Combinations::All.of_targets(&vec![String::new(); 5000], RUN_NS);
        assert!(endless.is_err());
    }
}
