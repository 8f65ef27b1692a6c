// The tables that stand in the page are made sortable and get a box to filter; of several one is shown at a time.
import {element} from "./dom.mjs";

// What a cell sorts by: its number, else its text.
export function sortKey(value, text) {
  return value === null || value === undefined ? text.toLowerCase() : Number(value);
}

// Numbers before text, and numbers by size; the same order for equal ones.
export function compareKeys(a, b) {
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return a < b ? -1 : a > b ? 1 : 0;
}

function enhance(table) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const headers = [...table.tHead.rows[0].cells];
  headers.forEach((header, column) => {
    const button = element("button", {type: "button", class: "sort"}, header.textContent);
    header.replaceChildren(button);
    button.addEventListener("click", () => {
      const numbers = rows.length > 0 && rows[0].cells[column].dataset.v !== undefined;
      const before = header.getAttribute("aria-sort");
      const direction = before === null ? (numbers ? "descending" : "ascending")
                                        : before === "ascending" ? "descending" : "ascending";
      headers.forEach((other) => other.removeAttribute("aria-sort"));
      header.setAttribute("aria-sort", direction);
      const sign = direction === "ascending" ? 1 : -1;
      const keyed = rows.map((row, i) => [sortKey(row.cells[column].dataset.v, row.cells[column].textContent), i, row]);
      keyed.sort((a, b) => sign * compareKeys(a[0], b[0]) || a[1] - b[1]);
      body.append(...keyed.map((entry) => entry[2]));
    });
  });
  const status = element("span", {class: "hint", role: "status"});
  const filter = element("input", {type: "search", placeholder: "filter", autocomplete: "off",
    "aria-label": "Filter " + table.caption.textContent, oninput: () => {
      const words = filter.value.toLowerCase().split(/\s+/);
      let shown = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        if (!row.hidden) ++shown;
      }
      status.textContent = filter.value.trim() === "" ? "" : shown + " of " + rows.length + " rows";
    }});
  const holder = element("div", {class: "scroll", tabindex: "0", role: "region",
                                 "aria-label": table.caption.textContent});
  table.before(element("div", {class: "filter"}, filter, " ", status), holder);
  holder.append(table);
}

export function makeTables(root) {
  const parent = root.querySelector("#tables-body");
  if (parent === null) return;  // the page was closed
  const tables = [...parent.querySelectorAll("table.data")];
  if (tables.length === 0) return;
  // Each with its hint in a panel of its own.
  const panels = tables.map((table) => {
    const panel = element("div", {class: "panel"});
    table.before(panel);
    let next = panel.nextSibling;
    while (next !== null && !tables.includes(next)) {
      const after = next.nextSibling;
      panel.append(next);
      next = after;
    }
    panel.prepend(table);
    return panel;
  });
  tables.forEach(enhance);
  const tabs = element("div", {role: "tablist", class: "tabs", "aria-label": "Tables"});
  const show = (which) => {
    panels.forEach((panel, i) => panel.classList.toggle("away", i !== which));
    [...tabs.children].forEach((tab, i) => {
      tab.setAttribute("aria-selected", String(i === which));
      tab.tabIndex = i === which ? 0 : -1;
    });
  };
  tables.forEach((table, i) => {
    panels[i].id = "panel-" + i;
    panels[i].setAttribute("role", "tabpanel");
    panels[i].setAttribute("aria-label", table.caption.textContent);
    tabs.append(element("button", {type: "button", role: "tab", "aria-controls": "panel-" + i, onclick: () => show(i),
      onkeydown: (event) => {
        const to = event.key === "ArrowRight" ? i + 1 : event.key === "ArrowLeft" ? i - 1 : -1;
        if (to < 0 || to >= tables.length) return;
        show(to);
        tabs.children[to].focus();
      }}, table.caption.textContent));
  });
  parent.prepend(tabs);
  show(0);
}
