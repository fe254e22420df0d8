/* Tabs of items that are kept open: a strip below the page header, remembered in this browser over
   reloads and logins. The button in the header or t keeps or releases the open page; a row's menu
   keeps the row's page. A tab reopens in the state in which it was left. */
"use strict";
(function () {
  const MOST = 12,
    KEPT = "desk-tabs";
  let strip, button;
  const tabs = () => {
    try {
      const found = JSON.parse(localStorage.getItem(KEPT));
      return Array.isArray(found)
        ? found.filter(
            (one) =>
              typeof one?.url === "string" && one.url.startsWith("/") && !one.url.startsWith("//"),
          )
        : [];
    } catch {
      return [];
    }
  };
  const path = (url) => url.split(/[?#]/)[0];
  const here = () => path(location.pathname);
  const title = () =>
    document.querySelector(".desk-head h1 .last")?.textContent.trim() || document.title;

  function put(found) {
    localStorage.setItem(KEPT, JSON.stringify(found.slice(-MOST)));
    draw();
  }
  function keep(url, name) {
    const found = tabs();
    if (!found.some((one) => path(one.url) === path(url))) put([...found, { url, title: name }]);
  }
  const drop = (url) => put(tabs().filter((one) => path(one.url) !== path(url)));

  function draw() {
    const found = tabs();
    strip.hidden = found.length === 0;
    strip.replaceChildren(
      ...found.map((one) => {
        const tab = document.createElement("span"),
          link = document.createElement("a"),
          close = document.createElement("button");
        link.href = one.url;
        link.textContent = link.title = one.title;
        if (path(one.url) === here()) {
          link.setAttribute("aria-current", "page");
          tab.className = "on";
        }
        close.type = "button";
        close.textContent = "×";
        close.setAttribute("aria-label", `${strip.dataset.close}: ${one.title}`);
        close.onclick = () => {
          drop(one.url);
          button.focus();
        };
        tab.append(link, close);
        return tab;
      }),
    );
    button.setAttribute("aria-pressed", String(found.some((one) => path(one.url) === here())));
  }
  function leave() {
    /* stores the page's current state, in which its tab will reopen */
    const found = tabs(),
      own = found.find((one) => path(one.url) === here());
    if (!own) return;
    own.url = location.pathname + location.search;
    own.title = title();
    own.at = document.getElementById("main")?.scrollTop || 0;
    localStorage.setItem(KEPT, JSON.stringify(found));
  }

  document.addEventListener("DOMContentLoaded", () => {
    strip = document.getElementById("tabs");
    button = document.querySelector("[data-keep]");
    if (!strip || !button) return;
    button.onclick = () =>
      tabs().some((one) => path(one.url) === here())
        ? drop(location.pathname)
        : keep(location.pathname + location.search, title());
    draw();
    const own = tabs().find(
      (one) => path(one.url) === here() && one.url === location.pathname + location.search,
    );
    if (own?.at) document.getElementById("main").scrollTop = own.at;
    addEventListener("pagehide", leave);
    addEventListener("storage", (event) => {
      if (event.key === KEPT) draw();
    });
    document.addEventListener("desk:keep", (event) => keep(event.detail.url, event.detail.title));
    document.addEventListener("keydown", (event) => {
      if (
        event.defaultPrevented ||
        event.key !== "t" ||
        event.ctrlKey ||
        event.metaKey ||
        event.altKey ||
        event.target.closest("input, textarea, select") ||
        document.querySelector("dialog[open], .row-menu")
      )
        return;
      button.click();
      event.preventDefault();
    });
  });
})();
