"use strict";
// The charts of one setting, drawn by Plotly from the page's data in the colours of the theme.
// Name and colour of each term of a score; a colour stands for one thing on the whole page.
const TERMS = {
  residual: ["residual R (mission's end)", "residual"], immediate: ["immediate I (drift so far)", "so-far"],
  accumulated: ["accumulated A (its cost to come)", "accumulated"], drift: ["drift so far", "so-far"],
  pace: ["pace", "pace"],
};
const term = (name) => TERMS[name] || [name, "other-term"];
const CONFIG = { displayModeBar: false, responsive: true };

function axis(title, more) {
  return { title: { text: title, standoff: 8 }, gridcolor: theme.colour("line"), zeroline: false,
    linecolor: theme.colour("quiet"), automargin: true, fixedrange: true, ...more };
}

function layout(height, more) {
  return { height, margin: { l: 60, r: 12, t: 28, b: 50 }, paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)", font: { size: 13, color: theme.colour("ink") }, dragmode: false,
    hoverlabel: { bgcolor: theme.colour("raised"), font: { color: theme.colour("ink") } }, ...more };
}

// Plotly takes the text that it shows for HTML.
const plain = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
const narrow = () => innerWidth <= 600;

// The lines of a name: on a narrow screen it is broken at its spaces, so that charts keep most of the width.
function lines(name) {
  if (!narrow()) return [name];
  return name.split(" ").reduce((made, word) => {
    const joined = made.length ? made.at(-1) + " " + word : word;
    return joined.length > 18 ? [...made, word] : [...made.slice(0, -1), joined];
  }, []);
}
const label = (name) => lines(name).map(plain).join("<br>");
const rowHeight = (names) => 10 + 17 * Math.max(1, ...names.map((name) => lines(name).length));

// Over the left end of a pane, or ending with it where a screen has no room to the right.
function paneTitle(text, y) {
  return { text: "<b>" + text + "</b>", xref: "paper", yref: "paper", x: narrow() ? 1 : 0, y, xanchor: narrow() ? "right" : "left",
    align: "left", yanchor: "bottom", showarrow: false, bgcolor: theme.colour("ground") };
}

function driftTraces(setting) {
  const slip = setting.slip;
  const y = slip || setting.drift;
  const text = y.map((value, t) => (slip ? "slip " + value.toPrecision(3) + ", " : "") +
    (t < setting.drift.length ? "drift bound " + setting.drift[t].toPrecision(3) : ""));
  return [{ x: y.map((_, t) => t), y, text, mode: "lines", showlegend: false, hovertemplate: "t = %{x}: %{text}<extra></extra>",
    line: { color: theme.colour("ink"), width: 2.5 } }];
}

function updateTraces(setting, chosen) {
  return Object.entries(setting.rules).map(([name, rule], row) => ({
    x: rule.times, y: rule.times.map(() => row), yaxis: "y2", mode: "markers", showlegend: false,
    text: rule.reasons.map(plain), hovertemplate: plain(name) + ", t = %{x}<br>%{text}<extra></extra>",
    marker: { symbol: "line-ns", size: 12, line: {
      width: (name === chosen ? 5 : 3) - (narrow() ? 1 : 0), color: theme.colour(name === chosen ? "update" : "quiet") } },
  }));
}

function scoreTraces(rule) {
  const score = rule.score;
  if (!score) return [];
  const bars = Object.entries(score.terms).map(([name, y]) => ({
    type: "bar", x: score.times, y, yaxis: "y3", name: term(name)[0], marker: { color: theme.colour(term(name)[1]) },
    hovertemplate: "t = %{x}: %{y:.3g}<extra>" + term(name)[0] + "</extra>",
  }));
  const tops = score.times.map((_, i) => Object.values(score.terms).map((y) => y[i]))
    .map((terms) => (terms.includes(null) ? null : terms.reduce((sum, term) => sum + term, 0)));
  const fired = score.times.map((t, i) => [t, tops[i]]).filter(([t]) => rule.times.includes(t));
  return [...bars,
    { x: score.times, y: score.thresholds, yaxis: "y3", mode: "lines", name: "threshold",
      line: { color: theme.colour("ink"), width: 2.5, dash: "dash" },
      hovertemplate: "threshold %{y:.3g}<extra></extra>" },
    { x: fired.map((f) => f[0]), y: fired.map((f) => f[1]), yaxis: "y3", mode: "markers", name: "update",
      text: fired.map(([t]) => plain(rule.reasons[rule.times.indexOf(t)])),
      hovertemplate: "t = %{x}: %{text}<extra></extra>",
      marker: { symbol: "diamond", size: 11, color: theme.colour("update"),
        line: { width: 1, color: theme.colour("ground") } } }];
}

function drawTimeline(setting, chosen) {
  const names = Object.keys(setting.rules);
  const rule = setting.rules[chosen];
  const shaded = setting.fast.map(([begin, end]) => ({ type: "rect", xref: "x", yref: "paper", x0: begin,
    x1: end, y0: 0, y1: 1, line: { width: 0 }, fillcolor: theme.colour("shade"), layer: "below" }));
  const dotted = rule.times.map((t) => ({ type: "line", xref: "x", yref: "paper", x0: t, x1: t, y0: 0, y1: 1,
    line: { color: theme.colour("update"), width: 1, dash: "dot" }, layer: "below" }));
  const gaps = rule.score && Object.values(rule.score.terms).some((y) => y.includes(null));
  document.getElementById("about-score").hidden = !rule.score;
  // Panes from top to bottom with gaps between them, in pixels; a rule whose times do not come from a score has two.
  const heights = [150, Math.max(100, rowHeight(names) * names.length), ...(rule.score ? [240] : [])], gap = 70;
  const whole = heights.reduce((sum, height) => sum + height + gap, -gap);
  const [drift, updates, score] = heights.map((height, k) => {
    const top = heights.slice(0, k).reduce((sum, above) => sum + above + gap, 0);
    return [Math.max(1 - (top + height) / whole, 0), 1 - top / whole];
  });
  Plotly.react("timeline", [...driftTraces(setting), ...updateTraces(setting, chosen), ...scoreTraces(rule)],
    layout(whole + (rule.score ? 150 : 78), {
      barmode: "stack", bargap: 0.15, shapes: [...shaded, ...dotted],
      annotations: [paneTitle(setting.slip ? "How slippery the ground is" : "How fast the world drifts", 1),
        paneTitle("Updates of every rule", updates[1]),
        ...(rule.score ? [paneTitle("Score of " + label(chosen) + (gaps ? (narrow() ? ",<br>" : ", ") + "infinite where there is a gap" : ""), score[1])] : [])],
      legend: { orientation: "h", y: -60 / whole, yanchor: "top", x: 0, traceorder: "normal" },
      xaxis: axis("time t (steps)", { range: [-0.5, setting.horizon - 0.5], anchor: rule.score ? "y3" : "y2" }),
      yaxis: axis(setting.slip ? "slip probability" : "drift bound", { domain: drift, rangemode: "tozero" }),
      yaxis2: axis("", { domain: updates, range: [names.length - 0.4, -0.6],
        tickvals: names.map((_, row) => row), ticktext: names.map(label) }),
      ...(rule.score ? { yaxis3: axis("score", { domain: score, rangemode: "tozero" }) } : {}),
    }), CONFIG);
}

// Colour, symbol and dashes of a rule wherever it is a curve.
const LOOKS = { lookahead: ["ahead", "star", "solid"], even: ["evenly", "circle", "solid"],
  "best possible": ["quiet", "square", "dot"] };
const look = (name) => LOOKS[name] || ["guided", "diamond", "dash"];

function curve(name, x, y, more) {
  const [colour, symbol, dash] = look(name);
  return { x, y, name, showlegend: false, line: { color: theme.colour(colour), dash, width: 2.5 },
    marker: { symbol, size: symbol === "star" ? 11 : 9 }, ...more };
}

// The one legend of all curves: a line with the symbol of each rule.
function curvesLegend(names) {
  const SIGNS = { star: "★", circle: "●", square: "■", diamond: "◆" };
  document.getElementById("curves").replaceChildren(...names.map((name) => {
    const [colour, symbol, dash] = look(name), item = document.createElement("span"), sign = document.createElement("span");
    sign.textContent = SIGNS[symbol];
    sign.className = "curve " + dash;
    sign.style.color = `var(--${colour})`;
    item.append(sign, " " + (name === "even" ? "evenly spaced (even)" : name));
    return item;
  }));
}

function drawBudgets(setting) {
  const { budgets, curves, execution } = setting.budgets;
  const traces = Object.entries(curves).map(([name, y]) => curve(name, budgets, y, { mode: "lines+markers",
    hovertemplate: "%{x} updates: %{y:.3f}<extra>" + plain(name) + "</extra>" }));
  const ahead = setting.parts.find((part) => ["lookahead", "lookahead, " + execution].includes(part.rule));
  if (ahead && setting.budget && !curves.lookahead) traces.push(curve("lookahead", [setting.budget], [ahead.state + ahead.plan + ahead.model + (ahead.lateness ?? 0)],
    { mode: "markers", hovertemplate: "%{x} updates: %{y:.3f}<extra>lookahead</extra>" }));
  curvesLegend(traces.map((trace) => trace.name));
  Plotly.react("budgets", traces, layout(380, {
    xaxis: axis("budget B (updates)", { dtick: 1 }), yaxis: axis("exact regret" +
      (execution === "belief" ? ", acting on the belief" : ""), { rangemode: "tozero" }),
    shapes: setting.budget ? [{ type: "line", xref: "x", yref: "paper", x0: setting.budget, x1: setting.budget, y0: 0, y1: 1,
      line: { color: theme.colour("ink"), width: 2, dash: "dot" }, layer: "below" }] : [],
    annotations: setting.budget ? [{ text: "this setting's budget", xref: "x", yref: "paper", x: setting.budget, y: 1,
      xanchor: setting.budget > budgets.length / 2 ? "right" : "left",
      yanchor: "bottom", showarrow: false, font: { color: theme.colour("quiet") } }] : [],
  }), CONFIG);
}

// The least regret plus price of the updates, and the number of updates that has it; 0 is never updating.
function bought(regrets, price) {
  const losses = regrets.map((regret, updates) => regret + price * updates);
  const updates = losses.indexOf(Math.min(...losses));
  return { updates, loss: losses[updates] };
}

function drawPrices(setting) {
  const { curves, never } = setting.budgets, steps = 200;
  const worth = Math.max(...Object.values(curves).flatMap((regrets) =>
    regrets.map((regret, index) => (never - regret) / (index + 1))));
  const dearest = worth > 1e-9 ? 1.15 * worth : 1;
  const prices = Array.from({ length: steps + 1 }, (_, k) => dearest * k / steps);
  const traces = Object.entries(curves).map(([name, regrets]) => {
    const best = prices.map((price) => bought([never, ...regrets], price));
    const fewer = best.map((each, k) => (k > 0 && each.updates < best[k - 1].updates ? look(name)[1] : "none"));
    return curve(name, prices, best.map((each) => each.loss), { mode: "lines+markers",
      marker: { symbol: look(name)[1], size: fewer.map((sign) => (sign === "none" ? 0 : 9)) },
      text: best.map((each) => each.updates + (each.updates === 1 ? " update" : " updates")),
      hovertemplate: "price %{x:.3f}: %{text}, %{y:.3f} in all<extra>" + plain(name) + "</extra>" });
  });
  Plotly.react("prices", traces, layout(380, {
    xaxis: axis("price of an update (reward)", { rangemode: "tozero" }),
    yaxis: axis("regret and price of the updates", { rangemode: "tozero" }),
  }), CONFIG);
}

function drawParts(setting) {
  const rules = setting.parts.map((part) => part.rule);
  const causes = [["state", "state not seen", "state", ""], ["plan", "stale plan", "plan", "/"],
    ["model", "wrong model", "model", "x"], ["lateness", "late updates", "lateness", "."]].filter(([key]) => setting.parts.some((part) => key in part));
  const traces = causes.map(([key, name, colour, shape]) => ({ type: "bar", orientation: "h", y: rules, name,
    x: setting.parts.map((part) => part[key]), marker: { color: theme.colour(colour), pattern: { shape, size: 6 } },
    hovertemplate: "%{y}: %{x:.3g}<extra>" + plain(name) + "</extra>" }));
  Plotly.react("parts", traces, layout(150 + rowHeight(rules) * rules.length, {
    barmode: "relative", xaxis: axis("exact regret"), yaxis: axis("", { autorange: "reversed", tickvals: rules, ticktext: rules.map(label) }),
    legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, traceorder: "normal" } }), CONFIG);
}
