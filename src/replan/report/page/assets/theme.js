"use strict";
// Light or dark: as the system has it, until the button is pressed.
const theme = {
  button: document.getElementById("theme"),
  listeners: [],
  dark() { return document.documentElement.dataset.theme === "dark"; },
  colour(name) { return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim(); },
  set(dark) {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    this.button.textContent = dark ? "Light" : "Dark";
    this.button.setAttribute("aria-label", dark ? "Light colours" : "Dark colours");
    this.listeners.forEach((listener) => listener());
  },
};
theme.set(matchMedia("(prefers-color-scheme: dark)").matches);
theme.button.addEventListener("click", () => theme.set(!theme.dark()));
