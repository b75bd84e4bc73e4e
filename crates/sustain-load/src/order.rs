//! The order in which targets are used, as typed. Pure.

use sustain_document::setting::ORDER;

/// The numbers of the targets in an order that has all of their names, separated by commas.
///
/// # Errors
/// A message, if a name is unknown, given twice, or missing.
pub fn order_of(typed: &str, names: &[String]) -> Result<Vec<usize>, String> {
    let (asked, mut order) = (ORDER.to(typed), Vec::new());
    for name in typed.split(',').map(str::trim) {
        let target = names
            .iter()
            .position(|known| known == name)
            .ok_or_else(|| {
                format!(
                    "{asked}: there is no target {name:?}, the targets are {}",
                    names.join(",")
                )
            })?;
        if order.contains(&target) {
            return Err(format!("{asked} has {name} twice: name each target once"));
        }
        order.push(target);
    }
    match (0..names.len()).find(|target| !order.contains(target)) {
        Some(missing) => Err(format!(
            "{asked} leaves out {}: name each target once",
            names[missing]
        )),
        None => Ok(order),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_names_every_target_once() {
        let names = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(order_of("c, a,b", &names), Ok(vec![2, 0, 1]));
        let why = |typed| order_of(typed, &names).unwrap_err();
        assert!(why("a,b").contains("leaves out c"));
        assert!(why("a,b,b,c").contains("has b twice"));
        assert!(why("a,b,x").contains("no target \"x\", the targets are a,b,c"));
    }
}
