// Tables whose rows can be put in another order: each title becomes a button.

import { html } from "./tree.js";

const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

function valueOf(row, column) {
  const cell = row.cells[column];
  return cell.dataset.value ?? cell.textContent.trim();
}

/** Rows by a column; those that have nothing there come last, whichever way it goes. */
function ordered(rows, column, isNumber, sign) {
  const compare = isNumber ? (one, other) => Number(one) - Number(other) : collator.compare;
  const filled = rows.filter((row) => valueOf(row, column) !== "");
  const empty = rows.filter((row) => valueOf(row, column) === "");
  filled.sort((one, other) => sign * compare(valueOf(one, column), valueOf(other, column)));
  return [...filled, ...empty];
}

function sort(table, title) {
  const isNumber = title.classList.contains("n");
  const before = title.getAttribute("aria-sort");
  // of numbers, the highest are asked for first
  const first = isNumber ? "descending" : "ascending";
  const second = isNumber ? "ascending" : "descending";
  const now = before === first ? second : first;
  const [body] = table.tBodies;
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  title.setAttribute("aria-sort", now);
  body.replaceChildren(...ordered([...body.rows], title.cellIndex, isNumber, now === "ascending" ? 1 : -1));
}

for (const table of document.querySelectorAll("table.sortable")) {
  for (const title of table.tHead.rows[0].cells) {
    const button = html("button", { type: "button", onclick: () => sort(table, title) });
    button.append(...title.childNodes);
    title.append(button);
  }
}
