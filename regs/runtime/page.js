// SPDX-License-Identifier: Apache-2.0
// Search: every word must be in an item. Groups without a visible item hide; the address keeps the query.
"use strict";
(() => {
  const input = document.getElementById("search");
  const found = document.getElementById("found");
  const groups = [...document.querySelectorAll("[data-group]")];
  let items = null;

  function gather() {
    const links = new Map();
    for (const li of document.querySelectorAll("nav li")) {
      links.set(li.firstElementChild.getAttribute("href").slice(1), li);
    }
    items = [...document.querySelectorAll("main .item")].map((element) => ({
      element,
      link: links.get(element.id),
      text: (element.id + " " + element.textContent).toLowerCase(),
    }));
  }

  function search() {
    const query = input.value.trim().toLowerCase();
    const words = query.split(/\s+/).filter((w) => w !== "");
    if (items === null) gather();
    let n = 0;
    for (const item of items) {
      const fits = words.every((w) => item.text.includes(w));
      if (fits) n += 1;
      item.element.hidden = !fits;
      if (item.link) item.link.hidden = !fits;
    }
    for (const group of groups) {
      group.hidden = words.length > 0 && group.querySelector(".item:not([hidden]), li:not([hidden])") === null;
      if (group.tagName === "DETAILS" && words.length > 0) group.open = true;
    }
    found.textContent = words.length === 0 ? "" : n === 0 ? "nothing found" : n + " of " + items.length;
  }

  let timer = 0;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      search();
      const url = input.value === "" ? location.pathname : "?q=" + encodeURIComponent(input.value);
      try { history.replaceState(null, "", url); } catch (e) { /* some browsers refuse it for files */ }
    }, 60);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== input) {
      event.preventDefault();
      input.focus();
    } else if (event.key === "Escape" && document.activeElement === input) {
      input.value = "";
      search();
    }
  });
  const asked = new URLSearchParams(location.search).get("q");
  if (asked) {
    input.value = asked;
    search();
  }
})();
