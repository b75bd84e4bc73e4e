//! The commands on stores, on files: what they make, what they give back, what they refuse, and
//! that nothing is harmed by mistake. No test needs root, but those
//! that mount are skipped without.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on should stop where it is, and may say why"
)]

#[path = "store/create.rs"]
mod create;
#[path = "store/dead.rs"]
mod dead;
#[path = "store/degraded.rs"]
mod degraded;
#[allow(dead_code, reason = "it is made for the tests of the guard")]
#[path = "guard/devices.rs"]
mod devices;
#[path = "store/extract.rs"]
mod extract;
#[path = "store/frames.rs"]
mod frames;
#[path = "store/gone_slots.rs"]
mod gone_slots;
#[path = "store/index.rs"]
mod index;
#[path = "store/larger.rs"]
mod larger;
#[path = "store/medium.rs"]
mod medium;
#[path = "store/old_members.rs"]
mod old_members;
#[path = "store/parity.rs"]
mod parity;
#[path = "store/pins.rs"]
mod pins;
#[path = "store/places.rs"]
mod places;
#[path = "store/recorded.rs"]
mod recorded;
#[path = "store/refused.rs"]
mod refused;
#[allow(dead_code, reason = "some of it is for the tests of a mount")]
#[path = "store/repaired.rs"]
mod repaired;
#[path = "store/retired.rs"]
mod retired;
#[path = "store/ring.rs"]
mod ring;
#[path = "store/standard.rs"]
mod standard;
mod support;
#[path = "store/tell.rs"]
mod tell;
#[path = "store/unequal.rs"]
mod unequal;

use support::{Place, unwrapped};

#[test]
fn every_help_has_an_example_and_the_exit_codes() {
    let place = Place::new();
    for command in ["create", "list", "extract", "verify", "recover", "unpin"] {
        let help = place.run(&[command, "--help"]).expect(0).stdout;
        assert!(
            help.contains(&format!("sustain {command} ")),
            "no example in {help}"
        );
        let help = unwrapped(&help);
        for words in ["Example", "Exit codes: 0", "--json"] {
            assert!(help.contains(words), "no {words} in {help}");
        }
    }
    let all = place.run(&["--help"]).expect(0).stdout;
    for command in ["create", "list", "extract", "verify", "recover", "unpin"] {
        assert!(
            all.contains(&format!("\n  {command} ")),
            "no {command} in {all}"
        );
    }
}
