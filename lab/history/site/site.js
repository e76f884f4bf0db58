// SPDX-License-Identifier: Apache-2.0
// Sorts and filters the tables of the page. Without it the page has all its rows, in the order they were written in.
"use strict";

// What a cell sorts by: its exact number, its time, its text; null where it has no value.
function valueOf(row, column) {
  const cell = row.cells[column];
  if (cell.classList.contains("quiet")) return null;
  if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
  return cell.querySelector("time")?.dateTime ?? cell.textContent;
}

function compare(a, b) {
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
}

// Cells without a value are last in either direction.
function sort(table, head) {
  const isFalling = head.getAttribute("aria-sort") === "ascending";
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", isFalling ? "descending" : "ascending");
  const rows = [...table.tBodies[0].rows].map((row) => ({ row, value: valueOf(row, head.cellIndex) }));
  rows.sort((a, b) => (a.value === null) - (b.value === null) || (a.value === null ? 0 : compare(a.value, b.value) * (isFalling ? -1 : 1)));
  table.tBodies[0].append(...rows.map(({ row }) => row));
}

function addSorting(table) {
  for (const head of table.tHead.rows[0].cells) {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(table, head));
    head.append(button);
  }
}

// Rows that have every word somewhere, in any case.
function filter(table, text, count) {
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const rows = [...table.tBodies[0].rows];
  for (const row of rows) {
    const own = [...row.cells].map((cell) => cell.textContent).join(" ").toLowerCase();
    row.hidden = !words.every((word) => own.includes(word));
  }
  const shown = rows.filter((row) => !row.hidden).length;
  count.textContent = shown === rows.length ? `${rows.length} rows` : `${shown} of ${rows.length} rows`;
}

function addFilter(table, box) {
  const line = document.createElement("div"), label = document.createElement("label");
  const input = document.createElement("input"), count = document.createElement("span");
  line.className = "filter";
  label.textContent = "Filter ";
  input.type = "search";
  input.placeholder = "words, such as resnet openvino";
  label.append(input);
  count.className = "quiet";
  count.setAttribute("role", "status");
  line.append(label, count);
  box.before(line);
  input.addEventListener("input", () => filter(table, input.value, count));
  filter(table, "", count);
}

for (const table of document.querySelectorAll("table[data-table]")) {
  addSorting(table);
  if (table.tBodies[0].rows.length > 1) addFilter(table, table.parentElement);
}
