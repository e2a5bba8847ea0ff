"use strict";
// What is chosen in the page, and everything that follows from it.
const settings = JSON.parse(document.getElementById("report-data").textContent).settings;

function startPage() {
  const settingBox = document.getElementById("setting"), ruleBox = document.getElementById("rule");
  const chosen = () => settings[settingBox.selectedIndex];
  const asked = new URLSearchParams(location.hash.slice(1)); // setting and rule, as the address keeps them
  let picked = null; // a rule that the reader chose stays; else each setting opens on its winner

  function fill(box, names, keep) {
    box.replaceChildren(...names.map((name) => new Option(name, name)));
    if (names.includes(keep)) box.value = keep;
  }

  const charts = new Map([
    ["timeline", () => drawTimeline(chosen(), ruleBox.value)],
    ["budgets", () => { if (chosen().budgets) drawBudgets(chosen()); }],
    ["prices", () => { if (chosen().budgets) drawPrices(chosen()); }],
    ["parts", () => { if (chosen().parts.length) drawParts(chosen()); }],
  ].map(([id, draw]) => [document.getElementById(id), { draw, near: id === "timeline", stale: true }]));

  // A chart is drawn when it is near the screen, so that the first one need not wait for the others.
  function drawNear() {
    if (!window.Plotly) return;
    for (const chart of charts.values()) {
      if (!chart.near || !chart.stale) continue;
      chart.draw();
      chart.stale = false;
    }
  }

  function drawCharts() {
    charts.forEach((chart) => { chart.stale = true; });
    drawNear();
  }

  function watchCharts() {
    const watch = new IntersectionObserver((seen) => {
      seen.forEach((entry) => { charts.get(entry.target).near = entry.isIntersecting; });
      drawNear();
    }, { rootMargin: "50%" });
    charts.forEach((_, box) => watch.observe(box));
    const glossary = document.getElementById("glossary");
    let before = null;
    addEventListener("beforeprint", () => {
      before = { dark: theme.dark(), told: glossary.open };
      glossary.open = true;
      document.documentElement.classList.add("printed"); // as wide as a sheet of paper
      charts.forEach((chart) => { chart.near = true; });
      theme.set(false); // draws the charts again
      charts.forEach((_, box) => { if (box.data) Plotly.relayout(box, { width: box.clientWidth }); });
    });
    addEventListener("afterprint", () => {
      document.documentElement.classList.remove("printed");
      glossary.open = before.told;
      theme.set(before.dark);
      charts.forEach((_, box) => { if (box.data) Plotly.relayout(box, { autosize: true }); });
    });
  }

  function showRule() {
    const rule = chosen().rules[ruleBox.value];
    drawCharts();
    document.getElementById("reasons").replaceChildren(...rule.times.map((t, k) => {
      const item = document.createElement("li");
      item.textContent = `Update ${k + 1}, t = ${t}: ${rule.reasons[k] || "planned in advance"}`;
      return item;
    }));
    path.show(chosen(), rule);
    const kept = new URLSearchParams({ setting: chosen().name, rule: ruleBox.value });
    history.replaceState(null, "", "#" + kept);
  }

  function showSetting() {
    document.getElementById("budgets").closest("section").hidden = !chosen().budgets;
    document.getElementById("parts").closest("section").hidden = !chosen().parts.length;
    document.getElementById("path").closest("section").hidden = !chosen().grid;
    const rules = Object.keys(chosen().rules);
    fill(ruleBox, rules, picked || asked.get("rule") || chosen().winner);
    showRule();
  }

  fill(settingBox, settings.map((setting) => setting.name), asked.get("setting"));
  settingBox.addEventListener("change", showSetting);
  ruleBox.addEventListener("change", () => { picked = ruleBox.value; showRule(); });
  path.slider.addEventListener("input", () => { path.pause(); path.draw(); });
  path.button.addEventListener("click", () => (path.timer ? path.pause() : path.play()));
  theme.listeners.push(drawCharts);
  showSetting();
  return () => { drawNear(); watchCharts(); };
}

function runPlotly() {
  const script = document.createElement("script");
  script.textContent = document.getElementById("plotly").textContent;
  document.head.append(script);
}

if (settings.length) {
  const showCharts = startPage();
  addEventListener("load", () => requestAnimationFrame(() => setTimeout(() => {
    runPlotly();
    showCharts();
    document.documentElement.dataset.charts = "drawn";
    performance.mark("charts drawn");
  })));
}
