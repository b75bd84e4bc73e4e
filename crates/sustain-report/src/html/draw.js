"use strict";
// Draws each chart from the data that stands beside it.
for (const place of document.querySelectorAll("[data-chart]")) {
  const figure = JSON.parse(document.getElementById(place.dataset.chart).textContent);
  Plotly.newPlot(place, figure.data, figure.layout, figure.config).then(() => {
    place.dataset.drawn = "yes";
  });
}
