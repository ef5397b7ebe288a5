"""Thresholds to try: a slider for each group, presets for each criterion, rates and profit as they move.

It is one script in the page itself. Sliders and buttons are the browser's own, so they work with the keyboard and with
screen readers; what changes is announced.
"""

from __future__ import annotations

import json
from html import escape
from typing import Any

from fastdp.fairness.achieving.prices import Price
from fastdp.fairness.sanitized.tables import SanitizedTable
from fastdp.fairness.tables import FairnessTable
from fastdp.report.dots import colour

NAMES = {
    "profit": "most profit", "single": "one threshold", "independence": "independence",
    "equal_opportunity": "equal opportunity", "predictive_equality": "equal false positives",
    "separation": "equalized odds",
}  # fmt: skip
"""What buttons say."""

SCRIPT = """
"use strict";
(function () {
  const data = JSON.parse(document.getElementById("threshold-data").textContent);
  const count = data.edges.length, groups = data.groups;
  let chances = groups.map(() => new Array(count).fill(0));
  const sum = (xs) => xs.reduce((a, b) => a + b, 0);
  const total = sum(groups.map((g) => sum(g.bad) + sum(g.good)));
  const show = (x) => (Number.isFinite(x) ? (100 * x).toFixed(1) + " %" : "cannot be told");
  function rates(g, row) {
    const good = sum(g.good.map((n, k) => n * row[k])), bad = sum(g.bad.map((n, k) => n * row[k]));
    return {
      good: good, bad: bad, selection: (good + bad) / (sum(g.good) + sum(g.bad)),
      tpr: good / sum(g.good), fpr: bad / sum(g.bad), ppv: good / (good + bad),
    };
  }
  function bars(i) {
    const g = groups[i], most = Math.max(...g.good.map((n, k) => n + g.bad[k]));
    const step = Math.max(1, Math.ceil(count / 60)), scale = 60 / (most * step);
    const box = document.getElementById("bars-" + i);
    while (box.firstChild) box.removeChild(box.firstChild);
    for (let k = 0; k < count; k += step) {
      let good = 0, bad = 0, chance = 0, n = 0;
      for (let j = k; j < Math.min(k + step, count); j++) {
        good += g.good[j]; bad += g.bad[j]; chance += chances[i][j]; n++;
      }
      chance /= n;
      const bar = (from, to, colour, opacity) => {
        const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
        rect.setAttribute("x", (k / count) * 300); rect.setAttribute("width", Math.max(1, (step / count) * 300 - 0.5));
        rect.setAttribute("y", 60 - scale * to); rect.setAttribute("height", scale * (to - from));
        rect.setAttribute("fill", colour); rect.setAttribute("opacity", opacity); box.appendChild(rect);
      };
      bar(0, good, "#2060a0", 0.25 + 0.75 * chance); bar(good, good + bad, "#c03020", 0.25 + 0.75 * chance);
    }
  }
  function refresh() {
    let profit = 0;
    groups.forEach((g, i) => {
      const found = rates(g, chances[i]);
      profit += data.gain * found.good - data.cost * found.bad;
      for (const name of ["selection", "tpr", "fpr", "ppv"])
        document.getElementById(name + "-" + i).textContent = show(found[name]);
      bars(i);
    });
    profit /= total;
    const share = data.maximum > 0 ? ", " + (100 * profit / data.maximum).toFixed(2) + " % of the most" : "";
    document.getElementById("threshold-profit").textContent = "Profit per person " + profit.toFixed(4) + share;
  }
  function slide(i) {
    const slider = document.getElementById("slider-" + i), place = Number(slider.value);
    const stated = place === count ? "nobody" : "from " + data.edges[place];
    chances[i] = chances[i].map((_, k) => (k >= place ? 1 : 0));
    slider.setAttribute("aria-valuetext", stated);
    document.getElementById("threshold-" + i).textContent = stated;
  }
  function preset(name) {
    const policy = data.policies[name];
    groups.forEach((_, i) => {
      const row = policy.chances[i], slider = document.getElementById("slider-" + i);
      let place = row.findIndex((c) => c >= row[count - 1] - 1e-9);
      if (row[count - 1] < 1e-9) place = count;
      slider.value = String(place);
      slide(i);
      chances[i] = row.slice();
      document.getElementById("threshold-" + i).textContent = policy.words[i];
      slider.setAttribute("aria-valuetext", policy.words[i]);
    });
    for (const button of document.querySelectorAll("[data-policy]"))
      button.setAttribute("aria-pressed", String(button.dataset.policy === name));
    refresh();
  }
  groups.forEach((_, i) => {
    document.getElementById("slider-" + i).addEventListener("input", () => {
      for (const button of document.querySelectorAll("[data-policy]")) button.setAttribute("aria-pressed", "false");
      slide(i); refresh();
    });
  });
  for (const button of document.querySelectorAll("[data-policy]"))
    button.addEventListener("click", () => preset(button.dataset.policy));
  preset("profit");
})();
"""


def threshold_view(table: FairnessTable | SanitizedTable, price: Price, gain: float, cost: float) -> str:
    """The controls, the table that they change, and the data behind them."""
    scores = table.scores
    assert scores is not None
    cells = scores.cells()
    names = [", ".join(map(str, group)) for group in price["profit"].groups]
    data: dict[str, Any] = {
        "edges": [float(f"{edge:.6g}") for edge in scores.edges],
        "gain": gain, "cost": cost, "maximum": price["profit"].profit,
        "groups": [{"bad": bad.tolist(), "good": good.tolist()} for bad, good in cells],
        "policies": {
            policy.criterion: {
                "chances": policy.chances.tolist(), "words": [str(one) for one in policy.thresholds],
            }
            for policy in price.policies
        },
    }  # fmt: skip
    count = len(data["edges"])
    buttons = "".join(
        f'<button type="button" data-policy="{criterion}" aria-pressed="false">{escape(NAMES[criterion])}</button> '
        for criterion in data["policies"]
    )
    rows = "".join(_row(i, name, count) for i, name in enumerate(names))
    heads = "".join(
        f"<th>{escape(head)}</th>"
        for head in ("group", "scores", "threshold", "", "selected", "true positives", "false positives", "right")
    )
    text = json.dumps(data).replace("<", "\\u003c")
    return (
        f'<div role="group" aria-label="policies">{buttons}</div>'
        f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
        '<p id="threshold-profit" role="status" aria-live="polite"></p>'
        f'<script type="application/json" id="threshold-data">{text}</script>'
    )


def _row(i: int, name: str, count: int) -> str:
    shown, quoted = escape(name), escape(name, quote=True)
    numbers = "".join(f'<td class="number" id="{rate}-{i}"></td>' for rate in ("selection", "tpr", "fpr", "ppv"))
    return (
        f'<tr><th scope="row" style="color: {colour(i)}">{shown}</th>'
        f'<td><svg viewBox="0 0 300 60" width="300" height="60" role="img" aria-label="scores of {quoted}">'
        f'<g id="bars-{i}"></g></svg></td>'
        f'<td><input type="range" id="slider-{i}" min="0" max="{count}" step="1" value="0" '
        f'aria-label="threshold of {quoted}"></td>'
        f'<td id="threshold-{i}"></td>{numbers}</tr>'
    )
