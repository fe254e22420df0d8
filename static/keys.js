/* The command palette and keyboard shortcuts: Ctrl+K or / opens the palette, g and a letter opens a
   page, j and k move through a list. */
"use strict";
(function () {
  const busy = (event) => event.target.closest("input, textarea, select, [contenteditable]");

  /* --- palette --- */
  function palette() {
    const box = document.getElementById("palette");
    if (!box) return () => {};
    const field = box.querySelector("input"),
      list = box.querySelector("ul"),
      nothing = box.querySelector(".empty"),
      form = box.querySelector("form");
    let shown = [],
      at = 0,
      asked = new AbortController(),
      timer = 0;

    function choose(to) {
      at = shown.length ? (to + shown.length) % shown.length : 0;
      Array.from(list.children).forEach((line, place) =>
        line.setAttribute("aria-selected", String(place === at)),
      );
      const line = list.children[at];
      field.setAttribute("aria-activedescendant", line ? line.id : "");
      line?.scrollIntoView({ block: "nearest" });
    }
    function carryOut(hit) {
      box.close();
      if (!hit.send) {
        location.href = hit.url;
        return;
      }
      form.action = hit.url;
      form.querySelectorAll("[data-own]").forEach((one) => one.remove());
      for (const [name, value] of Object.entries(hit.send)) {
        const one = document.createElement("input");
        one.type = "hidden";
        one.name = name;
        one.value = value;
        one.dataset.own = "1";
        form.append(one);
      }
      form.submit();
    }
    function line(hit, place) {
      const row = document.createElement("li"),
        sign = document.createElement("span"),
        name = document.createElement("b"),
        beside = document.createElement("span"),
        kind = document.createElement("i");
      row.id = `palette-${place}`;
      row.setAttribute("role", "option");
      sign.className = "material-symbols-outlined";
      sign.setAttribute("aria-hidden", "true");
      sign.textContent = hit.icon;
      name.textContent = hit.title;
      beside.textContent = hit.beside;
      beside.className = "soft small grow";
      kind.textContent = hit.kind;
      kind.className = "badge";
      row.append(sign, name, beside, kind);
      row.onmousemove = () => {
        if (at !== place) choose(place);
      };
      row.onclick = () => carryOut(hit);
      return row;
    }
    async function ask() {
      asked.abort();
      asked = new AbortController();
      try {
        const answer = await fetch(`${box.dataset.url}?q=${encodeURIComponent(field.value)}`, {
          redirect: "error",
          signal: asked.signal,
        });
        if (!answer.ok) return;
        shown = (await answer.json()).hits;
        list.replaceChildren(...shown.map(line));
        nothing.hidden = shown.length > 0;
        box.dataset.told = field.value;
        choose(0);
      } catch (error) {
        if (error.name !== "AbortError" && !(error instanceof TypeError)) throw error;
      }
    }
    field.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(ask, 60);
    });
    field.addEventListener("keydown", (event) => {
      if (event.isComposing) return; /* an input method is composing Chinese text */
      if (event.key === "ArrowDown") choose(at + 1);
      else if (event.key === "ArrowUp") choose(at - 1);
      else if (event.key === "Enter" && shown[at]) carryOut(shown[at]);
      else return;
      event.preventDefault();
    });
    box.addEventListener("click", (event) => {
      if (event.target === box) box.close();
    });
    return () => {
      if (box.open) return;
      box.showModal();
      field.select();
      ask();
    };
  }

  /* --- keys for the rows of the page's first list, unless the page has keys of its own --- */
  function rows() {
    const table = document.querySelector("#content table.list:not([data-marks])");
    if (!table || document.querySelector("[data-marks]")) return null;
    return Array.from(table.tBodies[0]?.rows || []).filter((row) => row.querySelector("a[href]"));
  }
  function move(step) {
    const all = rows();
    if (!all || !all.length) return false;
    const now = all.findIndex((row) => row.classList.contains("on"));
    const to = Math.max(
      0,
      Math.min(all.length - 1, now < 0 ? (step > 0 ? 0 : all.length - 1) : now + step),
    );
    all.forEach((row, place) => row.classList.toggle("on", place === to));
    const link = all[to].querySelector("a[href]");
    link.focus({ preventScroll: true });
    all[to].scrollIntoView({ block: "nearest" });
    return true;
  }
  function tick() {
    const row = rows()?.find((one) => one.classList.contains("on"));
    const mark = row?.querySelector("input[type=checkbox]");
    if (!mark) return false;
    mark.checked = !mark.checked;
    mark.dispatchEvent(new Event("change", { bubbles: true }));
    return true;
  }

  document.addEventListener("DOMContentLoaded", () => {
    const find = palette(),
      help = document.getElementById("keys");
    let going = 0;
    document.querySelectorAll("[data-palette]").forEach((button) => {
      button.onclick = find;
    });
    document.addEventListener("keydown", (event) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        find();
        return;
      }
      if (
        event.ctrlKey ||
        event.metaKey ||
        event.altKey ||
        busy(event) ||
        document.querySelector("dialog[open]")
      )
        return;
      if (going && Date.now() - going < 1500) {
        going = 0;
        const link = help?.querySelector(`[data-go-key="${CSS.escape(event.key)}"]`);
        if (link) {
          event.preventDefault();
          location.href = link.href;
          return;
        }
      }
      if (event.key === "g") going = Date.now();
      else if (event.key === "/") find();
      else if (event.key === "?") help?.showModal();
      else if (
        event.key === "j"
          ? !move(1)
          : event.key === "k"
            ? !move(-1)
            : event.key === "x"
              ? !tick()
              : true
      )
        return;
      event.preventDefault();
    });
  });
})();
