"use strict";
// A press on a heading sorts by its column: numbers by their value, words as words, what is missing last.
function cellKey(row, column) {
  const cell = row.cells[column];
  if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
  return cell.textContent === "–" ? null : cell.textContent;
}

function compareKeys(a, b, sign) {
  if (a === null || b === null) return (a === null) - (b === null);
  if (typeof a === "number" && typeof b === "number") return sign * (a - b);
  return sign * String(a).localeCompare(String(b), "en", { numeric: true });
}

function sortBy(table, column) {
  const heads = [...table.tHead.rows[0].cells];
  const ascending = heads[column].getAttribute("aria-sort") !== "ascending";
  heads.forEach((head) => head.setAttribute("aria-sort", "none"));
  heads[column].setAttribute("aria-sort", ascending ? "ascending" : "descending");
  const rows = [...table.tBodies[0].rows].map((row) => [cellKey(row, column), row]);
  rows.sort((one, other) => compareKeys(one[0], other[0], ascending ? 1 : -1));
  table.tBodies[0].append(...rows.map((pair) => pair[1]));
}

document.querySelectorAll("table.sortable").forEach((table) => {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => sortBy(table, column));
  });
});
