//! Diagnoses as a run leaves them, made by hand for the tests: five disks, four behind a link that
//! is a wall, two of these behind a port that is one too, and one wall that no hop explains; and a
//! machine of any size without a wall.

use sustain_document::chain::TopologyHop;
use sustain_document::devices::HopKind;
use sustain_document::diagnose::{
    Advice, Alone, DIAGNOSE_SCHEMA, DiagnosePlanUsed, DiagnoseResult, Drift, Measurement,
    MemberLimit, NoWall, Order, Prediction, SearchEnd, Share, Together, TopologyPath,
    UnexplainedLoss, Wall, WallKind, WallState, Weakest,
};
use sustain_document::host::Host;
use sustain_document::system::System;
use sustain_document::vocabulary::{DataPath, Direction, LayoutKind};

const MEGABYTE: f64 = 1e6;
const NAMES: [&str; 5] = ["/dev/sda", "/dev/sdb", "/dev/sdc", "/dev/sdd", "/dev/sde"];
/// MB/s of each alone, and with all at work.
const ALONE: [f64; 5] = [105.0, 104.0, 106.0, 103.0, 101.0];
const TOGETHER: [f64; 5] = [70.0, 70.0, 66.0, 46.0, 101.0];

/// Five disks, three walls, something of everything that a diagnosis can tell.
pub fn three_walls() -> DiagnoseResult {
    let mut result = without_wall(5);
    result.plan.targets = names(&[0, 1, 2, 3, 4]);
    result.order = order();
    result.alone = NAMES.iter().zip(ALONE).map(alone).collect();
    result.together = Some(Together {
        rate_bytes_per_s: TOGETHER.iter().sum::<f64>() * MEGABYTE,
        share_of_sum: TOGETHER.iter().sum::<f64>() / ALONE.iter().sum::<f64>(),
    });
    result.walls = vec![link_wall(), port_wall(), crossing_wall()];
    result.no_wall = None;
    result.measurements = measurements();
    result.advice = advice();
    result.drift = Drift {
        anchors: 3,
        largest_change: -0.021,
        significant: true,
        alone_repeated: true,
    };
    result.host = super::host();
    result.system = super::system();
    result.notes = vec!["something changed meanwhile, by up to -2.1 %".to_owned()];
    result
}

/// The same, ended by the user while each was measured alone.
pub fn interrupted() -> DiagnoseResult {
    let mut result = three_walls();
    result.measurements.truncate(3);
    for alone in &mut result.alone[3..] {
        alone.rate_bytes_per_s = None;
    }
    result.together = None;
    result.walls.clear();
    result.advice.clear();
    result.drift = Drift::default();
    result.ended = SearchEnd::Interrupted;
    result
}

/// Five disks that lose more together than any wall found explains.
#[allow(dead_code, reason = "each test takes its part of the samples")]
pub fn unexplained() -> DiagnoseResult {
    let mut result = without_wall(5);
    result.together = Some(Together {
        rate_bytes_per_s: 400.0 * MEGABYTE,
        share_of_sum: 0.8,
    });
    result.no_wall = None;
    result.unexplained = Some(UnexplainedLoss {
        members: Vec::new(),
        expected_bytes_per_s: 500.0 * MEGABYTE,
        measured_bytes_per_s: 400.0 * MEGABYTE,
    });
    result
}

/// The four behind the link fall below what two of them give.
pub fn collapse() -> DiagnoseResult {
    let mut result = three_walls();
    result.walls.truncate(1);
    let wall = &mut result.walls[0];
    wall.kind = WallKind::Collapse;
    wall.limit_bytes_per_s = 300.0 * MEGABYTE;
    wall.at_full_load_bytes_per_s = Some(252.0 * MEGABYTE);
    wall.missed_revolutions = true;
    result
}

/// So many disks of 100 MB/s that share nothing, each at a port of its own.
pub fn without_wall(disks: usize) -> DiagnoseResult {
    let names: Vec<String> = (0..disks).map(|disk| format!("d{disk:02}")).collect();
    let rate = 100.0 * MEGABYTE;
    let all = Measurement {
        members: names.clone(),
        rates_bytes_per_s: vec![rate; disks],
        sum_bytes_per_s: rate * disks as f64,
        predicted_bytes_per_s: Some(rate * disks as f64),
        step: "all together".to_owned(),
        dummy_bytes_per_s: None,
        limited_by: vec![MemberLimit::Nothing; disks],
        is_as_predicted: Some(true),
    };
    let way = |name: &String| TopologyPath {
        target: name.clone(),
        hops: vec![
            hop(name, None),
            hop(&format!("port of {name}"), Some(600.0)),
            hop("node", None),
        ],
    };
    let alone = |name: &String| Alone {
        target: name.clone(),
        rate_bytes_per_s: Some(rate),
    };
    DiagnoseResult {
        schema: DIAGNOSE_SCHEMA.to_owned(),
        plan: plan(names.clone()),
        host: Host {
            description: None,
            devices: Vec::new(),
            file_systems: Vec::new(),
        },
        order: Order {
            known: true,
            ways: names.iter().map(way).collect(),
            names: names.clone(),
        },
        alone: names.iter().map(alone).collect(),
        together: Some(Together {
            rate_bytes_per_s: rate * disks as f64,
            share_of_sum: 1.0,
        }),
        walls: Vec::new(),
        no_wall: Some(NoWall {
            largest_hidden_loss_bytes_per_s: 4.0 * MEGABYTE,
            none_below_share: 0.98,
        }),
        unexplained: None,
        runs: None,
        measurements: vec![all],
        chain: Vec::new(),
        memory_copy: None,
        pauses: None,
        advice: Vec::new(),
        drift: Drift::default(),
        noise: 0.008,
        dropped: Vec::new(),
        notes: Vec::new(),
        ended: SearchEnd::Done,
        system: System::default(),
    }
}

fn plan(targets: Vec<String>) -> DiagnosePlanUsed {
    DiagnosePlanUsed {
        sustain_version: "0.1.0".to_owned(),
        arguments: ["diagnose", "/dev/sda", "/dev/sdb"]
            .map(str::to_owned)
            .to_vec(),
        started: Some("2026-11-21T09:40:00Z".to_owned()),
        targets,
        direction: Direction::Read,
        time_per_run_s: 3.0,
        engine_used: "io_uring".to_owned(),
        engine_why: "registered buffers and files".to_owned(),
        threads: 1,
        record_size_bytes: 1 << 20,
        depth: 8,
        path: DataPath::Direct,
        size_bytes: Some(4 << 30),
        seed: 1,
        simulated: false,
    }
}

fn names(places: &[usize]) -> Vec<String> {
    places
        .iter()
        .map(|place| NAMES[*place].to_owned())
        .collect()
}

fn alone((name, rate): (&&str, f64)) -> Alone {
    Alone {
        target: (*name).to_owned(),
        rate_bytes_per_s: Some(rate * MEGABYTE),
    }
}

fn hop(name: &str, rate: Option<f64>) -> TopologyHop {
    TopologyHop {
        id: format!("id of {name}"),
        name: name.to_owned(),
        kind: HopKind::Port,
        rate_bytes_per_s: rate.map(|rate| rate * MEGABYTE),
        formula: rate.map(|_| "3 Gbit/s x 8/10".to_owned()),
    }
}

/// Two and two behind two ports of one link; one by itself.
fn order() -> Order {
    let way = |(place, name): (usize, &&str)| {
        let port = ["port 0", "port 0", "port 1", "port 1", "port 2"][place];
        let mut hops = vec![hop(name, None), hop(port, Some(150.0))];
        if place < 4 {
            hops.push(hop("PCIe link", Some(300.0)));
        }
        hops.push(hop("node", None));
        TopologyPath {
            target: (*name).to_owned(),
            hops,
        }
    };
    Order {
        known: true,
        names: names(&[0, 1, 2, 3, 4]),
        ways: NAMES.iter().enumerate().map(way).collect(),
    }
}

fn wall(members: &[usize], limit: f64, hop: Option<TopologyHop>) -> Wall {
    let share = |place: &usize| Share {
        target: NAMES[*place].to_owned(),
        rate_bytes_per_s: TOGETHER[*place] * MEGABYTE,
        fair_bytes_per_s: limit * MEGABYTE / members.len() as f64,
        below_fair: TOGETHER[*place] < 0.9 * limit / members.len() as f64,
    };
    Wall {
        members: names(members),
        limit_bytes_per_s: limit * MEGABYTE,
        deviation_bytes_per_s: 0.4 * MEGABYTE,
        kind: WallKind::Limit,
        explained_by: hop.as_ref().map(|hop| {
            format!(
                "{}: 230 MB/s of the 274 MB/s that it can carry, 84 %",
                hop.name
            )
        }),
        not_explained: hop
            .is_none()
            .then(|| "nothing is known that the data of all of them passes through".to_owned()),
        share_of_hop: hop.as_ref().map(|_| 0.84),
        hop,
        confidence: 0.997,
        state: WallState::Confirmed,
        headroom: 0.66,
        weakest: Some(Weakest {
            target: Some(NAMES[4].to_owned()),
            members: names(&[0, 4]),
            margin_sd: 6.5,
        }),
        prediction: None,
        at_full_load_bytes_per_s: None,
        missed_revolutions: false,
        lost_revolutions: None,
        shares: members.iter().map(share).collect(),
        fall: None,
        shares_repeat: Some(true),
    }
}

fn link_wall() -> Wall {
    Wall {
        prediction: Some(Prediction {
            members: names(&[0, 1, 2]),
            predicted_bytes_per_s: 252.0 * MEGABYTE,
            measured_bytes_per_s: 250.0 * MEGABYTE,
        }),
        ..wall(&[0, 1, 2, 3], 252.0, Some(hop("PCIe link", Some(300.0))))
    }
}

fn port_wall() -> Wall {
    wall(&[2, 3], 140.0, Some(hop("port 1", Some(150.0))))
}

fn crossing_wall() -> Wall {
    Wall {
        state: WallState::Crossing,
        shares: Vec::new(),
        fall: None,
        shares_repeat: None,
        ..wall(&[1, 2], 190.0, None)
    }
}

/// A measurement whose sum is as predicted; of its members each has this limit.
fn measured(
    places: &[usize],
    rates: &[f64],
    predicted: f64,
    limited_by: &[MemberLimit],
    step: &str,
) -> Measurement {
    Measurement {
        members: names(places),
        rates_bytes_per_s: rates.iter().map(|rate| rate * MEGABYTE).collect(),
        sum_bytes_per_s: rates.iter().sum::<f64>() * MEGABYTE,
        predicted_bytes_per_s: Some(predicted * MEGABYTE),
        step: step.to_owned(),
        dummy_bytes_per_s: None,
        limited_by: limited_by.to_vec(),
        is_as_predicted: Some(true),
    }
}

fn measurements() -> Vec<Measurement> {
    use MemberLimit::{Nothing, Unknown};
    let (link, port) = (MemberLimit::Wall { wall: 0 }, MemberLimit::Wall { wall: 1 });
    let together = [link, link, link, link, Nothing];
    let single = |place: usize| {
        measured(
            &[place],
            &[ALONE[place]],
            ALONE[place],
            &[Nothing],
            "each target alone",
        )
    };
    let mut all: Vec<Measurement> = (0..5).map(single).collect();
    let every = [0, 1, 2, 3, 4];
    all.push(measured(
        &every,
        &TOGETHER,
        353.0,
        &together,
        "all together",
    ));
    all.push(measured(
        &every,
        &TOGETHER,
        353.0,
        &together,
        "once more, to be sure",
    ));
    all.push(measured(
        &[2, 3],
        &[70.0, 70.0],
        140.0,
        &[port, port],
        "which targets share this limit",
    ));
    all.push(Measurement {
        is_as_predicted: Some(false),
        ..measured(
            &[0, 4],
            &[80.0, 101.0],
            206.0,
            &[Unknown, Nothing],
            "where is the loss",
        )
    });
    all.push(Measurement {
        dummy_bytes_per_s: Some(88.0 * MEGABYTE),
        ..measured(
            &every,
            &TOGETHER,
            353.0,
            &together,
            "is the limit in this program",
        )
    });
    all
}

fn advice() -> Vec<Advice> {
    let independent = Advice {
        layout: LayoutKind::Independent,
        chunk_bytes: None,
        order: names(&[0, 1, 2, 4]),
        leave_out: names(&[3]),
        move_elsewhere: Vec::new(),
        moved_from: None,
        then_limited_by: Vec::new(),
        expected_bytes_per_s: 353.0 * MEGABYTE,
        is_at_most: false,
        is_at_least: false,
        measured_bytes_per_s: Some(350.0 * MEGABYTE),
        why: "/dev/sdd adds nothing".to_owned(),
    };
    let stripe = Advice {
        layout: LayoutKind::Stripe,
        chunk_bytes: Some(1 << 20),
        order: names(&[0, 2, 4, 1, 3]),
        leave_out: Vec::new(),
        expected_bytes_per_s: 230.0 * MEGABYTE,
        is_at_most: false,
        is_at_least: false,
        why: "in lockstep each goes at 46 MB/s".to_owned(),
        ..independent.clone()
    };
    let moved = Advice {
        leave_out: Vec::new(),
        move_elsewhere: names(&[2]),
        moved_from: Some("port 2".to_owned()),
        measured_bytes_per_s: None,
        why: "move /dev/sdc from port 2 to a free port".to_owned(),
        ..independent.clone()
    };
    vec![independent, stripe, moved]
}
