"use strict";
(() => {
  const form = document.querySelector("form");
  const body = document.querySelector("tbody");
  if (!form || !body) return;
  const number = (row, name) => Number(row.dataset[name]);
  const rows = Array.from(body.rows, (row, place) => ({
    row, place,
    text: row.textContent.toLowerCase(),
    severity: number(row, "severity"),
    confidence: number(row, "confidence"),
    rule: row.dataset.rule,
    keys: {
      severity: number(row, "severity"),
      finding: row.querySelector(".name").textContent.toLowerCase(),
      place: row.querySelector(".place").textContent,
      commit: number(row, "time"),
      count: number(row, "count"),
    },
  }));
  const search = form.elements.search;
  const rule = form.elements.rule;
  const confidence = form.elements.confidence;
  const boxes = Array.from(form.querySelectorAll("input[type=checkbox]"));
  const shown = form.querySelector("output");

  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const severities = new Set(boxes.filter((box) => box.checked).map((box) => Number(box.value)));
    let count = 0;
    for (const item of rows) {
      const fits = severities.has(item.severity) && item.confidence >= Number(confidence.value) && (rule.value === "" || rule.value === item.rule) &&
        words.every((word) => item.text.includes(word));
      if (item.row.hidden === fits) item.row.hidden = !fits;
      if (fits) count++;
    }
    shown.value = count === rows.length ? `${count} shown` : `${count} of ${rows.length} shown`;
  };

  const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  const sort = (head) => {
    const key = head.dataset.key;
    const first = key === "severity" || key === "count" || key === "commit" ? "descending" : "ascending";
    const other = first === "ascending" ? "descending" : "ascending";
    const order = head.getAttribute("aria-sort") === first ? other : first;
    for (const each of document.querySelectorAll("th[aria-sort]")) each.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", order);
    const sign = order === "ascending" ? 1 : -1;
    rows.sort((a, b) => sign * compare(a.keys[key], b.keys[key]) || a.place - b.place);
    const sorted = document.createDocumentFragment();
    for (const item of rows) sorted.append(item.row);
    body.append(sorted);
  };

  for (const head of document.querySelectorAll("th[data-key]")) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    button.addEventListener("click", () => sort(head));
    head.replaceChildren(button);
  }
  let waiting = 0;
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(filter, rows.length > 1000 ? 120 : 0);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.hidden = false;
  filter();
})();
