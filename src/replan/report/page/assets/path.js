"use strict";
// The robot on its grid: where it is, where it believes it is, and where it looked.
const path = {
  svg: document.getElementById("path"), slider: document.getElementById("time"),
  button: document.getElementById("play"), moment: document.getElementById("moment"),
  setting: null, rule: null, timer: null,

  show(setting, rule) {
    this.pause();
    this.setting = setting;
    this.rule = rule;
    this.slider.max = setting.horizon;
    this.slider.value = setting.horizon; // the whole way; playing begins anew
    const grid = setting.grid;
    if (!grid) return;
    this.svg.setAttribute("viewBox", `-3 -3 ${grid.columns * grid.cell + 6} ${grid.rows * grid.cell + 6}`);
    document.getElementById("legend").innerHTML = grid.legend;
    this.draw();
  },

  centre(state) {
    const { columns, cell } = this.setting.grid;
    return [(state % columns + 0.5) * cell, (Math.floor(state / columns) + 0.5) * cell];
  },

  draw() {
    const t = Number(this.slider.value);
    const { states, believed, times } = this.rule;
    const last = Math.min(t, believed.length - 1);
    this.moment.textContent = this.words(t, last);
    this.slider.setAttribute("aria-valuetext", `t = ${t}`);
    const looked = times.filter((time) => time <= t);
    const here = this.centre(states[t]), there = this.centre(t < believed.length ? believed[t] : states[t]);
    this.svg.innerHTML = this.setting.grid.ground + this.trail(states.slice(0, t + 1), "true") +
      this.trail(believed.slice(0, last + 1), "believed") + looked.map((time, k) => this.mark(time, k, looked)).join("") +
      `<line class="error" x1="${here[0]}" y1="${here[1]}" x2="${there[0]}" y2="${there[1]}"/>` +
      `<circle class="true" cx="${here[0]}" cy="${here[1]}" r="9"/>` +
      `<circle class="believed" cx="${there[0]}" cy="${there[1]}" r="13"/>`;
  },

  words(t, last) {
    const { states, believed, times, reasons } = this.rule;
    if (t === believed.length) return `t = ${t}: the end, after ${times.length} update${times.length === 1 ? "" : "s"}.`;
    const k = times.indexOf(t);
    const seen = states[last] === believed[last] ? "The robot is where it believes it is."
      : "The robot is not where it believes it is.";
    return `t = ${t}: ` + (k < 0 ? "" : `update ${k + 1} of ${times.length}${reasons[k] ? " (" + reasons[k] + ")" : ""}. `) + seen;
  },

  trail(states, name) {
    return `<polyline class="trail ${name}" points="${states.map((state) => this.centre(state).join(",")).join(" ")}"/>`;
  },

  // Updates in the same cell share one mark, with their numbers side by side.
  mark(time, k, looked) {
    const cell = this.rule.states[time];
    const same = looked.map((other, i) => [this.rule.states[other], i + 1]).filter(([state]) => state === cell);
    if (same[0][1] !== k + 1) return "";
    const [x, y] = this.centre(cell);
    const { columns, cell: side } = this.setting.grid;
    const right = x > columns * side / 2;
    return `<path class="update" transform="translate(${x} ${y})" d="M0-13 13 0 0 13-13 0Z"/>` +
      `<text x="${right ? x - 14 : x + 14}" y="${y - 9}" text-anchor="${right ? "end" : "start"}">${same.map((s) => s[1]).join(" ")}</text>`;
  },

  step() {
    const next = Number(this.slider.value) + 1;
    this.slider.value = next;
    this.draw();
    if (next >= Number(this.slider.max)) this.pause();
  },

  play() {
    if (Number(this.slider.value) >= Number(this.slider.max)) this.slider.value = 0;
    this.timer = setInterval(() => this.step(), 220);
    this.label();
  },

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    this.label();
  },

  label() {
    this.button.textContent = this.timer ? "Pause" : "Play";
  },
};
