/* The details pane: shows the page of a row beside its list. Opened by a button at the top or with
   o; its state and width are remembered. */
"use strict";
(function () {
  const NARROWEST = 320;
  let pane,
    body,
    title,
    back,
    button,
    hint,
    way = [],
    asked = new AbortController(),
    timer = 0;
  const kept = () => {
    try {
      return JSON.parse(localStorage.getItem("desk-pane")) || {};
    } catch {
      return {};
    }
  };
  const keep = (values) =>
    localStorage.setItem("desk-pane", JSON.stringify({ ...kept(), ...values }));
  const target = (row) =>
    row?.querySelector("td.title a[href], a[href]")?.getAttribute("href") || "";
  const wanted = () => !pane.hidden;

  function widen(width) {
    const most = Math.max(NARROWEST, window.innerWidth * 0.7);
    const now = Math.round(Math.min(most, Math.max(NARROWEST, width)));
    pane.style.setProperty("--pane-width", `${now}px`);
    pane.querySelector("[role=separator]").setAttribute("aria-valuenow", String(now));
    keep({ width: now });
  }
  function turn(on) {
    pane.hidden = !on;
    button.setAttribute("aria-pressed", String(on));
    if (on) return;
    way = [];
    body.replaceChildren(hint);
  }
  function plotly(source) {
    const script = source.querySelector("script[src*=plotly]");
    if (!script || typeof Plotly !== "undefined") return Promise.resolve();
    return new Promise((done) => {
      const own = document.createElement("script");
      own.src = script.getAttribute("src");
      own.onload = own.onerror = done;
      document.head.append(own);
    });
  }
  /* Makes addresses relative to their page ("?sort=name") refer to that page when it is shown in
     the pane. */
  function rooted(content, url) {
    const path = url.split(/[?#]/)[0],
      here = (text) => (text?.startsWith("?") ? path + text : text);
    content
      .querySelectorAll("a[href^='?']")
      .forEach((one) => one.setAttribute("href", here(one.getAttribute("href"))));
    content.querySelectorAll("select[data-go] option").forEach((one) => {
      one.value = here(one.getAttribute("value"));
    });
    content.querySelectorAll("[data-copy]").forEach((one) => {
      one.dataset.copy = here(one.dataset.copy);
    });
    content
      .querySelectorAll("form:not([action])")
      .forEach((one) => one.setAttribute("action", path));
  }
  async function show(url, step = true) {
    if (!url || url.startsWith("http") || url.startsWith("#")) return;
    asked.abort();
    asked = new AbortController();
    try {
      const answer = await fetch(url, {
        redirect: "error",
        signal: asked.signal,
        headers: { "X-Requested-With": "fetch" },
      });
      if (!answer.headers.get("Content-Type")?.includes("html")) return;
      const source = new DOMParser().parseFromString(await answer.text(), "text/html");
      const content = source.getElementById("content");
      if (!content) return;
      content.querySelectorAll("[data-chart]").forEach((one) => {
        /* the list may contain a chart with the same id */
        const figure = content.querySelector(`[id="${CSS.escape(one.dataset.chart)}"]`);
        if (figure) figure.id = one.dataset.chart = `pane-${figure.id}`;
      });
      rooted(content, url);
      await plotly(source);
      if (step) way.push(url);
      body.replaceChildren(...document.adoptNode(content).childNodes);
      title.textContent = source.querySelector("h1 .last")?.textContent || source.title;
      title.href = url;
      back.hidden = way.length < 2;
      body.scrollTop = 0;
      body.dispatchEvent(new CustomEvent("desk:part", { bubbles: true }));
    } catch (error) {
      if (error.name !== "AbortError" && !(error instanceof TypeError)) throw error;
    }
  }
  function ofRow(row) {
    const url = target(row);
    if (!url || way.at(-1) === url) return;
    way = [];
    show(url);
  }
  function mark(row) {
    row
      .closest("tbody")
      .querySelectorAll("tr.on")
      .forEach((one) => one.classList.remove("on"));
    row.classList.add("on");
  }

  document.addEventListener("DOMContentLoaded", () => {
    pane = document.getElementById("pane");
    button = document.querySelector("[data-pane]");
    if (!pane || !button) return;
    const content = document.getElementById("content");
    if (!content.querySelector("table.list tbody a[href]")) {
      button.hidden = true;
      return;
    }
    body = pane.querySelector(".pane-body");
    title = pane.querySelector(".pane-title");
    back = pane.querySelector("[data-back]");
    hint = body.querySelector(".empty");
    widen(kept().width || 480);
    turn(
      Boolean(kept().on && content.querySelector("[data-table] tr[data-row] a[href]")),
    ); /* by itself only where a list has rows */
    button.onclick = () => {
      turn(pane.hidden);
      keep({ on: !pane.hidden });
      if (!pane.hidden)
        ofRow(
          content.querySelector("table.list tr.on") ||
            content.querySelector("table.list tbody tr:has(a[href])"),
        );
    };
    pane.querySelector("[data-close]").onclick = () => {
      turn(false);
      keep({ on: false });
      button.focus();
    };
    back.onclick = () => {
      way.pop();
      show(way.at(-1), false);
    };
    content.addEventListener("click", (event) => {
      const row = event.target.closest("table.list tbody tr");
      if (!row || !wanted() || event.target.closest("a, button, input, select, label, summary"))
        return;
      mark(row);
      ofRow(row);
    });
    content.addEventListener("focusin", (event) => {
      const row = event.target.closest("table.list tbody tr");
      if (!row || !wanted() || !event.target.matches("a")) return;
      clearTimeout(timer);
      timer = setTimeout(() => ofRow(row), 200);
    });
    body.addEventListener("submit", (event) => {
      /* GET forms are sent within the pane, POST forms as usual */
      const form = event.target;
      if (form.method !== "get") return;
      event.preventDefault();
      show(`${form.getAttribute("action")}?${new URLSearchParams(new FormData(form))}`);
    });
    body.addEventListener(
      "change",
      (event) => {
        if (!event.target.matches("select[data-go]")) return;
        event.stopPropagation();
        event.target.onchange = null;
        show(event.target.value);
      },
      true,
    );
    body.addEventListener("click", (event) => {
      /* a row's link opens within the pane, with a modifier key as usual */
      const link = event.target.closest(":is(table.list, .pager, .table-tools) a[href^='/admin/']");
      if (
        !link ||
        event.ctrlKey ||
        event.metaKey ||
        event.shiftKey ||
        link.hasAttribute("download")
      )
        return;
      event.preventDefault();
      show(link.getAttribute("href"));
    });
    const edge = pane.querySelector("[role=separator]");
    edge.onpointerdown = (event) => {
      edge.setPointerCapture(event.pointerId);
      edge.onpointermove = (moved) => widen(window.innerWidth - moved.clientX);
      edge.onpointerup = () => {
        edge.onpointermove = null;
      };
    };
    edge.onkeydown = (event) => {
      const step = { ArrowLeft: 24, ArrowRight: -24 }[event.key];
      if (!step) return;
      widen(pane.offsetWidth + step);
      event.preventDefault();
    };
    document.addEventListener("keydown", (event) => {
      if (
        event.defaultPrevented ||
        event.key !== "o" ||
        event.ctrlKey ||
        event.metaKey ||
        event.altKey ||
        event.target.closest("input, textarea, select") ||
        document.querySelector("dialog[open]")
      )
        return;
      button.click();
      event.preventDefault();
    });
  });
})();
