"use strict";
// Adds to the charts, which are complete without it: a cursor that tells the figures under it, by
// pointer and by keyboard; zoom; and lines that can be hidden. Figures are computed from the places
// in the drawing, so that the page has each of them once.
(function () {
  const FULL = 100000;
  const HINT = "Point at the chart, or use the arrow keys, to read its figures. Drag, or press + " +
    "and −, to zoom; 0 shows all.";
  const UNITS = { s: 1, min: 60, h: 3600 };

  // `more` are digits beyond three, which a zoomed axis needs to tell its places apart.
  function digits(value, factor, units, more) {
    let step = 0;
    while (step + 1 < units.length && Math.abs(value) >= factor * 0.9995) {
      value /= factor;
      step += 1;
    }
    const shown = Math.abs(value) < 999.5 ? value.toPrecision(3 + more) : value.toFixed(more);
    return shown + " " + units[step];
  }

  function words(kind, value, more = 0) {
    if (kind in UNITS) return Number((value / UNITS[kind]).toPrecision(4 + more)) + " " + kind;
    if (kind === "rate") return digits(value, 1000, ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"], more);
    if (kind === "data") return digits(value, 1000, ["B", "kB", "MB", "GB", "TB"], more);
    if (kind === "memory") return digits(value, 1024, ["B", "KiB", "MiB", "GiB", "TiB"], more);
    if (kind === "latency") return digits(value * 1e9, 1000, ["ns", "us", "ms", "s"], more);
    if (kind === "part") return Number((value * 100).toPrecision(3)) + " %";
    return String(Math.round(value));
  }

  function scale(text) {
    const [form, low, high, kind] = text.split(" ");
    const [from, to] = [Number(low), Number(high)];
    if (form === "log") return { kind, figure: (part) => from * Math.pow(to / from, part) };
    const part = (figure) => (figure - from) / (to - from);
    return { kind, part, figure: (part) => from + part * (to - from) };
  }

  // The points of a path. Of a bar, four places make one point at its middle.
  function pointsOf(path) {
    const numbers = path.getAttribute("d").match(/\d+/g).map(Number);
    const points = [];
    if (path.classList.contains("bars")) {
      for (let at = 0; at + 7 < numbers.length; at += 8) {
        const [left, right] = [numbers[at + 2], numbers[at + 4]];
        points.push({ x: (left + right) / 2, y: numbers[at + 3], left, right });
      }
    } else {
      for (let at = 0; at + 1 < numbers.length; at += 2) {
        points.push({ x: numbers[at], y: numbers[at + 1] });
      }
    }
    return points;
  }

  function element(name, className, parent) {
    const made = document.createElement(name);
    made.className = className;
    return parent.appendChild(made);
  }

  function chartOf(figure) {
    const panels = Array.from(figure.querySelectorAll(".panel"), (panel) => {
      const plot = panel.querySelector(".plot");
      return {
        plot,
        svg: plot.querySelector("svg"),
        up: scale(plot.dataset.y),
        cursor: element("i", "cursor", plot),
        readout: element("p", "readout", panel),
      };
    });
    const chart = { figure, panels, across: scale(figure.dataset.x), from: 0, to: FULL, at: null };
    chart.inStep = figure.classList.contains("over-time");
    chart.spoken = element("output", "spoken", figure);
    for (const panel of panels) panel.cursor.hidden = true;
    panels[0].readout.textContent = HINT;
    figure.tabIndex = 0;
    figure.setAttribute("role", "group");
    figure.setAttribute("aria-label", figure.querySelector("h3").textContent + ". " + HINT);
    return chart;
  }

  // The lines are read when the cursor first comes.
  function linesOf(panel) {
    panel.lines ??= Array.from(panel.plot.querySelectorAll("path[data-name]"), (path) =>
      ({ path, name: path.dataset.name, points: pointsOf(path) }));
    return panel.lines.filter((line) => line.path.style.display !== "none");
  }

  function nearest(points, at) {
    return points.reduce((best, one) =>
      Math.abs(one.x - at) < Math.abs(best.x - at) ? one : best);
  }

  function steps(chart) {
    const all = chart.panels.flatMap(linesOf).flatMap((line) => line.points.map((one) => one.x));
    return Array.from(new Set(all)).sort((one, other) => one - other);
  }

  // The words for a place on the axis, with the digits that the zoom needs.
  function placeWords(chart, figure) {
    const more = Math.ceil(Math.log10(FULL / (chart.to - chart.from)));
    return words(chart.across.kind, figure, more);
  }

  function told(chart, panel) {
    const place = (x) => placeWords(chart, chart.across.figure(x / FULL));
    const near = (chart.to - chart.from) / 60;
    const said = [];
    for (const line of linesOf(panel)) {
      const point = nearest(line.points, chart.at);
      if (panel.up.kind === "row") {
        // A row has stretches: two places are the ends of one.
        for (let at = 0; at + 1 < line.points.length; at += 2) {
          const inside = line.points[at].x <= chart.at && chart.at <= line.points[at + 1].x;
          if (inside) said.push(line.name);
        }
      } else if ("left" in point) {
        const count = words(panel.up.kind, panel.up.figure(1 - point.y / FULL));
        said.push(`${line.name}: ${count} from ${place(point.left)} to ${place(point.right)}`);
      } else if (Math.abs(point.x - chart.at) <= near) {
        said.push(`${line.name}: ${words(panel.up.kind, panel.up.figure(1 - point.y / FULL))}`);
      }
    }
    for (const mark of panel.plot.querySelectorAll(".mark")) {
      if (Math.abs(mark.dataset.at - chart.at) <= near / 2) said.push(mark.title);
    }
    return said.join("; ");
  }

  function draw(chart) {
    const part = (at) => ((at - chart.from) / (chart.to - chart.from)) * 100;
    const isSeen = (at) => part(at) >= 0 && part(at) <= 100;
    const said = [];
    for (const panel of chart.panels) {
      panel.svg.setAttribute("viewBox", `${chart.from} 0 ${chart.to - chart.from} ${FULL}`);
      for (const mark of panel.plot.querySelectorAll(".x, .mark")) {
        mark.style.left = part(mark.dataset.at) + "%";
        mark.hidden = !isSeen(mark.dataset.at);
      }
      panel.cursor.hidden = chart.at === null || !isSeen(chart.at);
      if (chart.at === null) continue;
      panel.cursor.style.left = part(chart.at) + "%";
      panel.readout.textContent = told(chart, panel);
      if (panel.readout.textContent) said.push(panel.readout.textContent);
    }
    if (chart.at === null) return;
    const moment = "At " + placeWords(chart, chart.across.figure(chart.at / FULL));
    const first = chart.panels[0].readout;
    first.textContent = moment + ". " + first.textContent;
    chart.spoken.textContent = moment + ". " + said.join(". ");
    chart.figure.dataset.at = moment;
  }

  // Round ticks for the part that is seen. A logarithmic axis keeps those that it has.
  function retick(chart) {
    if (!chart.across.part) return;
    const unit = UNITS[chart.across.kind] || 1;
    const [low, high] = [chart.from, chart.to].map((at) => chart.across.figure(at / FULL) / unit);
    const least = (high - low) / 10;
    const decade = Math.pow(10, Math.floor(Math.log10(least)));
    const step = [1, 2, 2.5, 5, 10].find((one) => one * decade >= least) * decade;
    for (const panel of chart.panels) {
      panel.plot.querySelectorAll(".x").forEach((tick) => tick.remove());
      for (let count = Math.ceil(low / step); count * step <= high; count += 1) {
        const tick = element("span", "x", panel.plot);
        tick.dataset.at = chart.across.part(count * step * unit) * FULL;
        element("b", "", tick).textContent =
          count === 0 ? "0" : placeWords(chart, count * step * unit);
      }
    }
  }

  function zoom(chart, from, to) {
    const width = Math.min(FULL, Math.max(FULL / 2000, to - from));
    chart.from = Math.min(FULL - width, Math.max(0, from));
    chart.to = chart.from + width;
    retick(chart);
    draw(chart);
  }

  const charts = Array.from(document.querySelectorAll("figure.chart[data-x]"), chartOf);

  // The same moment in all charts of runs, where these have it.
  function inStep(chart, change) {
    for (const other of charts) {
      if (other !== chart && !(chart.inStep && other.inStep)) continue;
      change(other, (at) => other === chart
        ? at : other.across.part(chart.across.figure(at / FULL)) * FULL);
    }
  }

  function moveTo(chart, at) {
    inStep(chart, (other, same) => {
      other.at = Math.min(FULL, Math.max(0, same(at)));
      draw(other);
    });
  }

  function zoomTo(chart, from, to) {
    inStep(chart, (other, same) => zoom(other, same(from), same(to)));
  }

  function zoomBy(chart, factor) {
    const middle = chart.at ?? (chart.from + chart.to) / 2;
    zoomTo(chart, middle - (middle - chart.from) * factor, middle + (chart.to - middle) * factor);
  }

  function all(chart) {
    inStep(chart, (other) => zoom(other, 0, FULL));
  }

  function step(chart, count) {
    const places = steps(chart);
    if (!places.length) return;
    const now = chart.at ?? chart.from;
    let index = places.findIndex((place) => place >= now);
    if (index < 0) index = places.length - 1;
    // The next place may be the one that was found; from nowhere, one step is to the first.
    const isBetween = chart.at === null || places[index] !== now;
    index += isBetween && count > 0 ? count - 1 : count;
    const at = places[Math.min(places.length - 1, Math.max(0, index))];
    const width = chart.to - chart.from;
    if (at < chart.from || at > chart.to) zoomTo(chart, at - width / 2, at + width / 2);
    moveTo(chart, at);
  }

  const KEYS = {
    ArrowLeft: (chart) => step(chart, -1), ArrowRight: (chart) => step(chart, 1),
    PageUp: (chart) => step(chart, -10), PageDown: (chart) => step(chart, 10),
    Home: (chart) => step(chart, -Infinity), End: (chart) => step(chart, Infinity),
    "+": (chart) => zoomBy(chart, 0.5), "=": (chart) => zoomBy(chart, 0.5),
    "-": (chart) => zoomBy(chart, 2), 0: all, Escape: all,
  };

  for (const chart of charts) {
    chart.figure.addEventListener("keydown", (event) => {
      const act = KEYS[event.key];
      if (!act || event.target !== chart.figure) return;
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      act(chart);
    });
    for (const { plot } of chart.panels) {
      const box = element("i", "selection", plot);
      let start = null;
      box.hidden = true;
      const placeOf = (event) => {
        const area = plot.getBoundingClientRect();
        const part = Math.min(1, Math.max(0, (event.clientX - area.left) / area.width));
        return chart.from + part * (chart.to - chart.from);
      };
      plot.addEventListener("pointermove", (event) => {
        moveTo(chart, placeOf(event));
        if (start === null) return;
        const ends = [start, chart.at].sort((one, other) => one - other);
        const width = chart.to - chart.from;
        box.hidden = ends[1] - ends[0] < width / 100;
        box.style.left = ((ends[0] - chart.from) / width) * 100 + "%";
        box.style.width = ((ends[1] - ends[0]) / width) * 100 + "%";
      });
      plot.addEventListener("pointerdown", (event) => { start = placeOf(event); });
      plot.addEventListener("pointerup", () => {
        if (!box.hidden) zoomTo(chart, Math.min(start, chart.at), Math.max(start, chart.at));
        start = null;
        box.hidden = true;
      });
      plot.addEventListener("pointerleave", () => { start = null; box.hidden = true; });
      plot.addEventListener("dblclick", () => all(chart));
    }
  }

  // The names in a legend show and hide their lines.
  for (const key of document.querySelectorAll(".chart[data-x] > .legend > [data-key]")) {
    const figure = key.closest("figure");
    const lines = figure.querySelectorAll(`path[data-key="${key.dataset.key}"]`);
    const toggle = () => {
      const hides = key.getAttribute("aria-pressed") === "true";
      key.setAttribute("aria-pressed", String(!hides));
      lines.forEach((line) => { line.style.display = hides ? "none" : ""; });
    };
    key.setAttribute("role", "button");
    key.setAttribute("aria-pressed", "true");
    key.tabIndex = 0;
    key.addEventListener("click", toggle);
    key.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      toggle();
    });
  }
})();
