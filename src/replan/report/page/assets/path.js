"use strict";
// The robot on its grid: where it is, where it believes itself to be, and where it looked.
const CELL = 10;
const path = {
  svg: document.getElementById("path"), slider: document.getElementById("time"),
  button: document.getElementById("play"), moment: document.getElementById("moment"),
  setting: null, rule: null, timer: null,

  show(setting, rule) {
    this.pause();
    this.setting = setting;
    this.rule = rule;
    this.slider.max = setting.horizon;
    this.slider.value = 0;
    const grid = setting.grid;
    if (!grid) return;
    this.svg.setAttribute("viewBox", `-1 -1 ${grid.columns * CELL + 2} ${grid.rows * CELL + 2}`);
    this.draw();
  },

  centre(state) {
    const columns = this.setting.grid.columns;
    return [(state % columns + 0.5) * CELL, (Math.floor(state / columns) + 0.5) * CELL];
  },

  draw() {
    const t = Number(this.slider.value);
    const { states, believed, times } = this.rule;
    const last = Math.min(t, believed.length - 1);
    this.moment.textContent = this.words(t, last);
    this.slider.setAttribute("aria-valuetext", `t = ${t}`);
    const looked = times.filter((time) => time <= t);
    const here = this.centre(states[t]), there = this.centre(t < believed.length ? believed[t] : states[t]);
    this.svg.innerHTML = this.ground() + this.trail(states.slice(0, t + 1), "true") +
      this.trail(believed.slice(0, last + 1), "believed") + looked.map((time, k) => this.mark(time, k, looked)).join("") +
      `<line class="error" x1="${here[0]}" y1="${here[1]}" x2="${there[0]}" y2="${there[1]}"/>` +
      `<circle class="true" cx="${here[0]}" cy="${here[1]}" r="2.6"/>` +
      `<circle class="believed" cx="${there[0]}" cy="${there[1]}" r="3.7"/>`;
  },

  words(t, last) {
    const { states, believed, times, reasons } = this.rule;
    if (t === believed.length) return `t = ${t}: the end, after ${times.length} updates.`;
    const k = times.indexOf(t);
    const seen = states[last] === believed[last] ? "The robot is where it believes itself to be."
      : "The robot is not where it believes itself to be.";
    return `t = ${t}: ` + (k < 0 ? "" : `update ${k + 1} of ${times.length}${reasons[k] ? " (" + reasons[k] + ")" : ""}. `) + seen;
  },

  ground() {
    const { rows, columns, start, goal, blocked } = this.setting.grid;
    const lines = [];
    if (rows * columns <= 2500) {
      for (let i = 0; i <= rows; i++) lines.push(`M0 ${i * CELL}H${columns * CELL}`);
      for (let j = 0; j <= columns; j++) lines.push(`M${j * CELL} 0V${rows * CELL}`);
    } else lines.push(`M0 0H${columns * CELL}V${rows * CELL}H0Z`);
    const square = (state, name, half) => {
      const [x, y] = this.centre(state);
      return `<rect class="${name}" x="${x - half}" y="${y - half}" width="${2 * half}" height="${2 * half}"/>`;
    };
    const star = goal === null ? "" : `<path class="goal" transform="translate(${this.centre(goal)}) scale(0.85)" ` +
      'd="M0-5.5 1.5-1.8 5.4-1.7 2.4.8 3.4 4.6 0 2.4-3.4 4.6-2.4.8-5.4-1.7-1.5-1.8Z"/>';
    return `<path class="cells" d="${lines.join("")}"/>` + blocked.map((cell) => square(cell, "blocked", 5)).join("") +
      square(start, "start", 4) + star;
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
    const right = x > this.setting.grid.columns * CELL / 2;
    return `<path class="update" transform="translate(${x} ${y}) scale(0.8)" d="M0-4.5 4.5 0 0 4.5-4.5 0Z"/>` +
      `<text x="${right ? x - 4 : x + 4}" y="${y - 2.4}" text-anchor="${right ? "end" : "start"}">${same.map((s) => s[1]).join(" ")}</text>`;
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
