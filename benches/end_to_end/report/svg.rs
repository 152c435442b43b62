//! A picture: for each workload one bar for everybody, as long as pods were bound each second.

use std::fmt::Write as _;

use crate::contestant::Contestant::{self, Bayplan, BindEventLoop, BindLoop, KubeScheduler};
use crate::report::Row;

/// Who has a bar, in which colour, and what it is called.
const BARS: [(Contestant, &str, &str); 4] = [
    (BindLoop, "#c3c9d1", "bind loop"),
    (BindEventLoop, "#98a2b0", "bind + event loop"),
    (KubeScheduler, "#d08a4a", "kube-scheduler"),
    (Bayplan, "#2f6fb3", "Bayplan"),
];

const BAR_HEIGHT: usize = 12;
const ROW_HEIGHT: usize = BAR_HEIGHT * BARS.len() + 14;
const TOP: usize = 40;
const LEFT: f64 = 230.0;
const BAR_WIDTH: f64 = 480.0;
const WIDTH: usize = 800;

/// The picture.
pub(crate) fn bars(rows: &[Row<'_>]) -> String {
    let rate = |row: &Row<'_>, contestant| row.figure(contestant, |m| Some(m.pods_per_second));
    let rates = rows
        .iter()
        .flat_map(|row| BARS.iter().filter_map(move |bar| rate(row, bar.0)));
    let longest = rates.fold(1.0, f64::max);
    let height = TOP + ROW_HEIGHT * rows.len() + 10;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"10\" y=\"22\" font-size=\"14\">Pods bound each second</text>\n"
    );
    // Writing to a string cannot fail.
    for (place, (_, colour, name)) in BARS.iter().enumerate() {
        let x = LEFT + place as f64 * 130.0;
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"12\" width=\"10\" height=\"10\" fill=\"{colour}\"/>\
             <text x=\"{}\" y=\"21\">{name}</text>",
            x + 14.0
        );
    }
    for (number, row) in rows.iter().enumerate() {
        let y = TOP + number * ROW_HEIGHT;
        let _ = writeln!(
            svg,
            "<text x=\"10\" y=\"{}\">{}, {} running</text>",
            y + ROW_HEIGHT / 2,
            row.workload,
            row.running
        );
        for (place, (contestant, colour, _)) in BARS.iter().enumerate() {
            let Some(rate) = rate(row, *contestant) else {
                continue;
            };
            let (y, width) = (y + place * BAR_HEIGHT, rate / longest * BAR_WIDTH);
            let _ = writeln!(
                svg,
                "<rect x=\"{LEFT}\" y=\"{y}\" width=\"{width:.1}\" height=\"{}\" \
                 fill=\"{colour}\"/><text x=\"{:.1}\" y=\"{}\" font-size=\"9\">{rate:.0}</text>",
                BAR_HEIGHT - 2,
                LEFT + width + 4.0,
                y + BAR_HEIGHT - 3
            );
        }
    }
    svg.push_str("</svg>\n");
    svg
}
