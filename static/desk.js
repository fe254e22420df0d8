/* The desk's own script: local times, live parts, the status bar, the tree, charts. Its translated
   texts come from the page. */
"use strict";
(function () {
  const language = document.documentElement.lang || "en";
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "short" });
  const exact = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "medium" });
  const units = [
    ["day", 86400],
    ["hour", 3600],
    ["minute", 60],
    ["second", 1],
  ];
  let words = {};

  /* --- times --- */
  function ago(date) {
    const seconds = Math.round((date - Date.now()) / 1000);
    if (Math.abs(seconds) > 60 * 86400) return clock(date).slice(0, 10);
    const [unit, size] = units.find((entry) => Math.abs(seconds) >= entry[1]) || units[3];
    return relative.format(Math.round(seconds / size), unit);
  }
  function clock(date) {
    const pad = (n) => String(n).padStart(2, "0");
    const day = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
    return `${day} ${pad(date.getHours())}:${pad(date.getMinutes())}`;
  }
  function times(root) {
    root.querySelectorAll("time[data-ago], time[data-clock]").forEach((node) => {
      if (!node.dateTime) return;
      const date = new Date(node.dateTime);
      const text = "ago" in node.dataset ? ago(date) : clock(date);
      if (node.textContent !== text) node.textContent = text;
      if (!node.dataset.titled) {
        const utc = date.toISOString().slice(0, 19).replace("T", " ");
        node.title = `${exact.format(date)} (${zone})\n${utc} UTC`;
        node.dataset.titled = "1";
      }
    });
  }

  /* --- live parts: <div data-live="/address/?part=live" data-every="2"> is replaced by the
     response of the address --- */
  function live(root) {
    root.querySelectorAll("[data-live]").forEach((node) => {
      if (node.dataset.started) return;
      node.dataset.started = "1";
      let last = null;
      const every = Number(node.dataset.every || 3) * 1000;
      const again = () => setTimeout(ask, every);
      async function ask() {
        if (!node.isConnected) return;
        const busy =
          node.contains(document.activeElement) &&
          document.activeElement.matches("input,select,textarea");
        if (document.hidden || busy || node.querySelector("input.tick:checked")) return again();
        try {
          const answer = await fetch(node.dataset.live, {
            headers: { "X-Requested-With": "fetch" },
            redirect: "error",
          });
          if (!answer.ok) return again();
          const text = await answer.text();
          const empty =
            /^\s*<p class="empty">/.test(text) &&
            node.querySelector(":scope > p.empty"); /* keeps its own words */
          if (
            !empty &&
            ((text !== last && last !== null) || (last === null && !node.dataset.fresh))
          )
            put(node, text);
          last = text;
          if (answer.headers.get("X-Desk-Reload") ? reload() : answer.headers.get("X-Desk-Done"))
            return;
        } catch (error) {
          if (!(error instanceof TypeError))
            throw error; /* the server is temporarily unavailable: try again */
        }
        again();
      }
      again();
    });
  }
  /* Reloads the page and returns true; returns false while rows are selected, since their selection
     would be lost, and while the user is on the way to another page, which a reload would cancel. A
     download also begins like a way to another page, so that state ends after a while. */
  let left = -Infinity;
  addEventListener("beforeunload", () => (left = performance.now()));
  function reload() {
    if (document.querySelector("#content table input:checked")) return false;
    if (performance.now() - left < 30000) return false;
    location.reload();
    return true;
  }
  function put(node, html) {
    const kept = Array.from(node.querySelectorAll(".scroll"), (box) => [
      box.scrollTop,
      box.scrollLeft,
    ]);
    const open = Array.from(node.querySelectorAll("details"), (box) => box.open);
    const row = node.querySelector("tr.on[data-row]")?.dataset.row,
      held = node.contains(document.activeElement);
    node.innerHTML = html;
    const same =
      row &&
      Array.from(node.querySelectorAll("tr[data-row]")).find((one) => one.dataset.row === row);
    if (same) {
      same.classList.add("on");
      if (held) same.querySelector("a[href]")?.focus({ preventScroll: true });
    }
    node.querySelectorAll(".scroll").forEach((box, i) => {
      if (kept[i]) [box.scrollTop, box.scrollLeft] = kept[i];
    });
    node.querySelectorAll("details").forEach((box, i) => {
      if (i in open) box.open = open[i];
    });
    start(node);
  }

  /* --- status bar --- */
  function statusBar() {
    const bar = document.getElementById("desk-bar");
    if (!bar) return;
    const part = (name) => bar.querySelector(`[data-part="${name}"]`);
    async function ask() {
      if (!document.hidden) {
        try {
          const answer = await fetch(bar.dataset.url, {
            headers: { Accept: "application/json" },
            redirect: "error",
          });
          if (answer.ok) show(await answer.json());
          document.body.classList.toggle("offline", !answer.ok);
        } catch (error) {
          document.body.classList.add("offline");
          part("workers").textContent = words.offline;
        }
      }
      setTimeout(ask, Number(bar.dataset.every) * 1000);
    }
    function show(state) {
      part("light").className = `dot ${state.light}`;
      for (const name of ["workers", "rate", "runs", "queue"]) part(name).textContent = state[name];
      const error = part("error");
      error.hidden = !state.error;
      if (state.error) {
        error.href = state.error.url;
        error.title = state.error.text;
        error.querySelector("span").textContent = state.error.text;
        error.querySelector("time").dateTime = state.error.at;
        delete error.querySelector("time").dataset.titled;
        times(error);
      }
    }
    ask();
  }

  /* --- tree --- */
  function tree(root) {
    root.querySelectorAll(".tree .caret").forEach((button) => {
      button.onclick = async () => {
        const item = button.closest("li");
        const open = item.classList.toggle("open");
        button.setAttribute("aria-expanded", String(open));
        const list = item.querySelector(":scope > ul");
        if (open && list.dataset.lazy) {
          const answer = await fetch(list.dataset.lazy, { redirect: "error" });
          if (!answer.ok) return;
          list.innerHTML = await answer.text();
          delete list.dataset.lazy;
          tree(list);
        }
      };
    });
  }

  /* --- charts: <div class="plot" data-chart="id of the figure's JSON"> --- */
  const palettes = {
    light: { text: "#4b5563", line: "#e5e7eb", paper: "rgba(0,0,0,0)" },
    dark: { text: "#9ca3af", line: "#263244", paper: "rgba(0,0,0,0)" },
  };
  function colours() {
    const c = palettes[document.documentElement.classList.contains("dark") ? "dark" : "light"];
    const axes = {};
    for (const axis of ["xaxis", "yaxis", "yaxis2"]) {
      axes[`${axis}.gridcolor`] = c.line;
      axes[`${axis}.linecolor`] = c.line;
      axes[`${axis}.zerolinecolor`] = c.line;
    }
    return { "font.color": c.text, paper_bgcolor: c.paper, plot_bgcolor: c.paper, ...axes };
  }
  function expand(flat, layout) {
    const full = structuredClone(layout);
    for (const [path, value] of Object.entries(flat)) {
      const keys = path.split(".");
      if (keys[0].endsWith("axis2") && !(keys[0] in full)) continue;
      let place = full;
      for (const key of keys.slice(0, -1)) place = place[key] = place[key] || {};
      place[keys.at(-1)] = value;
    }
    return full;
  }
  /* Heat map colours for the dark theme, which differ clearly from the background. */
  const DEEP = [
    [0, "#16233a"],
    [0.5, "#2563eb"],
    [1, "#bfdbfe"],
  ];
  function shaded(data) {
    if (!document.documentElement.classList.contains("dark")) return data;
    return data.map((one) => (one.type === "heatmap" ? { ...one, colorscale: DEEP } : one));
  }
  /* If every category has a label, a narrow chart turns the labels upright and leaves out those
     that would still overlap. */
  function fitted(node, layout) {
    const axis = layout.xaxis,
      width = axis && axis.range ? axis.range[1] - axis.range[0] : 0;
    const room = node.offsetWidth - 90;
    if (axis && axis.dtick === 1 && axis.type === "category" && width * 15 > room) {
      axis.tickangle = -90;
      axis.dtick = Math.max(1, Math.ceil((width * 12) / room));
    }
    return layout;
  }
  const drawn = new Set(),
    plain = new WeakMap();
  async function charts(root) {
    const nodes = Array.from(root.querySelectorAll("[data-chart]")).filter(
      (node) => !node.dataset.drawn,
    );
    if (!nodes.length || typeof Plotly === "undefined") return;
    nodes.forEach((node) => {
      node.dataset.drawn = "1";
    });
    if (document.readyState !== "complete")
      await new Promise((done) => window.addEventListener("load", done, { once: true }));
    await document.fonts.ready;
    for (const node of nodes) {
      const source = document.getElementById(node.dataset.chart);
      const figure = JSON.parse(source.textContent);
      plain.set(node, figure.data);
      await Plotly.newPlot(
        node,
        shaded(figure.data),
        fitted(node, expand(colours(), figure.layout)),
        { displayModeBar: false, responsive: false },
      );
      drawn.add(node);
      new ResizeObserver(() => {
        if (node.offsetWidth && node.isConnected) Plotly.Plots.resize(node);
      }).observe(node.parentElement);
      node.dataset.ready = "1";
      node.dispatchEvent(new CustomEvent("desk:drawn", { bubbles: true }));
    }
  }
  function theme() {
    new MutationObserver(() => {
      for (const node of drawn) {
        if (!node.isConnected) {
          drawn.delete(node);
          continue;
        }
        const flat = colours();
        if (!node.layout.yaxis2)
          for (const key of Object.keys(flat)) if (key.startsWith("yaxis2")) delete flat[key];
        Plotly.relayout(node, flat);
        const maps = plain.get(node) || [];
        maps.forEach((one, place) => {
          if (one.type === "heatmap")
            Plotly.restyle(node, { colorscale: [shaded([one])[0].colorscale] }, [place]);
        });
      }
    }).observe(document.documentElement, { attributes: true, attributeFilter: ["class"] });
  }

  /* --- previews: <form data-preview="/address/" data-stages="quick exact"> requests figures and
     parts of the page when its fields change: the first stage at once, each further one when no
     field has changed for a while --- */
  function previews(root) {
    root.querySelectorAll("form[data-preview]").forEach((form) => {
      const [first, ...later] = form.dataset.stages.split(" ");
      const told = document.getElementById(form.dataset.told);
      let asked = new AbortController();
      form.querySelectorAll("input[type=range][data-for]").forEach((slider) => {
        const field = form.elements[slider.dataset.for];
        const scale = slider.dataset.log ? [Math.exp, Math.log] : [Number, Number];
        slider.oninput = () => {
          field.value = slider.dataset.log ? Math.round(scale[0](slider.value)) : slider.value;
        };
        const follow = () => {
          slider.value = scale[1](Number(field.value) || 1);
        };
        field.addEventListener("input", follow);
        follow();
      });
      async function ask(stage, signal) {
        const body = new FormData(form);
        body.set("stage", stage);
        form.classList.add("asking");
        const answer = await fetch(form.dataset.preview, {
          method: "POST",
          body,
          headers: { Accept: "application/json" },
          redirect: "error",
          signal,
        });
        if (!answer.headers.get("Content-Type")?.includes("json")) throw new TypeError("no answer");
        const found = await answer.json();
        told.hidden = answer.ok;
        if (!answer.ok) told.textContent = found.error;
        for (const [id, html] of Object.entries(found.html || {})) {
          const part = document.getElementById(id);
          part.innerHTML = html;
          start(part);
        }
        for (const [id, drawing] of Object.entries(found.figures || {})) redraw(id, drawing);
        return answer.ok;
      }
      async function go(stages) {
        asked.abort();
        asked = new AbortController();
        const { signal } = asked;
        try {
          for (const stage of stages) {
            await new Promise((done) => setTimeout(done, stage === first ? 60 : 500));
            if (signal.aborted || !(await ask(stage, signal))) break;
          }
        } catch (error) {
          if (error.name !== "AbortError" && !(error instanceof TypeError)) throw error;
        }
        if (!signal.aborted) form.classList.remove("asking");
      }
      form.addEventListener("input", () => go([first, ...later]));
      go(later);
    });
  }
  function redraw(id, drawing) {
    const node = document.querySelector(`[data-chart="${id}"]`);
    if (!node || !node.dataset.ready || !drawing.figure.data) return;
    plain.set(node, drawing.figure.data);
    Plotly.react(
      node,
      shaded(drawing.figure.data),
      fitted(node, expand(colours(), drawing.figure.layout)),
      { displayModeBar: false, responsive: false },
    );
    const box = node.closest(".box");
    const note = box.querySelector("header .soft"),
      legend = box.querySelector(".legend");
    if (note) note.textContent = drawing.note;
    if (legend)
      legend.replaceChildren(
        ...drawing.legend.map(([name, colour]) => {
          const line = document.createElement("span"),
            mark = document.createElement("i"),
            text = document.createElement("b");
          mark.style.background = colour;
          text.textContent = line.title = name;
          line.append(mark, text);
          return line;
        }),
      );
  }

  /* --- forms; a choice that a narrow select cuts off stands below it in full --- */
  const pen = document.createElement("canvas").getContext("2d");
  function forms(root) {
    root.querySelectorAll("[data-confirm]").forEach((node) => {
      node.onclick = (event) => {
        if (!window.confirm(node.dataset.confirm)) event.preventDefault();
      };
    });
    root.querySelectorAll("[data-tick-all]").forEach((box) => {
      const all = () =>
        Array.from(
          document.querySelectorAll(`input[type=checkbox][name="${box.dataset.tickAll}"]`),
        );
      const tell = () => {
        const on = all().filter((one) => one.checked).length;
        box.checked = on > 0 && on === all().length;
        box.indeterminate = on > 0 && on < all().length;
      };
      box.onchange = () =>
        all().forEach((one) => {
          one.checked = box.checked;
        });
      all().forEach((one) => one.addEventListener("change", tell));
      tell();
    });
    root.querySelectorAll("select[data-go]").forEach((select) => {
      select.onchange = () => {
        location.href = select.value;
      };
    });
    root.querySelectorAll("select.field").forEach((select) => {
      const tell = () => {
        const text = select.selectedOptions[0]?.text.trim() || "",
          look = getComputedStyle(select),
          { width, maxWidth } = select.style;
        if (select.nextElementSibling?.classList.contains("whole-choice"))
          select.nextElementSibling.remove();
        const given = select.offsetWidth;
        Object.assign(select.style, { width: "max-content", maxWidth: "none" });
        const natural = select.offsetWidth;
        Object.assign(select.style, { width, maxWidth });
        if (!given || natural <= given + 1) return;
        pen.font = `${look.fontWeight} ${look.fontSize} ${look.fontFamily}`;
        const long = (words) => pen.measureText(words.trim()).width,
          widest = Math.max(...Array.from(select.options, (one) => long(one.text)));
        if (long(text) <= given - (natural - widest) + 1) return;
        const whole = document.createElement("span");
        whole.className = "whole-choice soft small";
        whole.textContent = text;
        whole.ariaHidden = "true";
        select.after(whole);
      };
      select.addEventListener("change", tell);
      tell();
    });
    root.querySelectorAll("select[data-press]").forEach((select) => {
      select.onchange = () => document.getElementById(select.dataset.press).click();
    });
  }

  /* --- pages marked on or off topic: j and k move, y, n and u mark --- */
  function marks(root) {
    root.querySelectorAll("[data-marks]").forEach((table) => {
      const rows = Array.from(table.tBodies[0].rows);
      let at = -1;
      const go = (to) => {
        at = Math.max(0, Math.min(rows.length - 1, to));
        rows.forEach((row, place) => row.classList.toggle("on", place === at));
        rows[at].focus({ preventScroll: true });
        rows[at].scrollIntoView({ block: "nearest" });
      };
      const send = async (form, button) => {
        const data = new FormData(form);
        data.set("mark", button.value);
        const answer = await fetch(form.action, {
          method: "POST",
          body: data,
          headers: { "X-Requested-With": "fetch" },
        }).catch(() => null);
        if (!answer || !answer.ok) {
          location.reload();
          return;
        }
        form.querySelectorAll("button").forEach((one) => {
          one.classList.toggle("main", one === button && one.value !== "none");
          if (one.value === "none") one.hidden = button.value === "none";
        });
        form.closest("tr").dataset.marked = button.value;
      };
      rows.forEach((row, place) => {
        const form = row.querySelector("form");
        form.addEventListener("submit", (event) => {
          if (!event.submitter) return;
          event.preventDefault();
          go(place);
          send(form, event.submitter);
        });
        row.addEventListener("focusin", () => {
          at = place;
        });
      });
      const word = { y: "on", n: "off", u: "none" };
      document.addEventListener("keydown", (event) => {
        if (
          event.ctrlKey ||
          event.metaKey ||
          event.altKey ||
          event.target.closest("input, textarea, select")
        )
          return;
        if (event.key === "j") go(at + 1);
        else if (event.key === "k") go(at - 1);
        else if (word[event.key] && at >= 0) {
          const form = rows[at].querySelector("form");
          send(form, form.querySelector(`button[value="${word[event.key]}"]`));
          if (event.key !== "u") go(at + 1);
        } else return;
        event.preventDefault();
      });
    });
  }

  /* --- shares with a constant sum: if one slider increases, the others decrease in proportion ---
   */
  function shares(root) {
    const sliders = Array.from(root.querySelectorAll("[data-share]"));
    const field = (slider) => document.getElementById(slider.dataset.share);
    const put = (slider, value) => {
      slider.value = value;
      field(slider).value = value;
    };
    const spread = (moved, value) => {
      const others = sliders.filter((one) => one !== moved && one.form === moved.form);
      const share = Math.min(1, Math.max(0, value)),
        left = 1 - share;
      const had = others.reduce((sum, one) => sum + Number(one.value), 0);
      put(moved, Number(share.toFixed(2)));
      let rest = Number((1 - Number(share.toFixed(2))).toFixed(2));
      others.forEach((one, place) => {
        const last = place === others.length - 1;
        const part = last
          ? rest
          : Math.min(
              rest,
              Number(
                (had > 0 ? (left * Number(one.value)) / had : left / others.length).toFixed(2),
              ),
            );
        rest = Number((rest - part).toFixed(2));
        put(one, part);
      });
    };
    sliders.forEach((slider) => {
      slider.addEventListener("input", () => spread(slider, Number(slider.value)));
      field(slider).addEventListener("change", () => {
        if (field(slider).value !== "") spread(slider, Number(field(slider).value));
      });
    });
  }

  /* --- a slider beside a number --- */
  function slides(root) {
    root.querySelectorAll("[data-slides]").forEach((slider) => {
      const field = document.getElementById(slider.dataset.slides);
      slider.addEventListener("input", () => {
        field.value = slider.value;
      });
      field.addEventListener("input", () => {
        slider.value = field.value;
      });
    });
  }

  /* --- tables too wide for a phone or the pane are shown as cards: each value with the name of its
     column --- */
  function labels(root) {
    if (window.innerWidth > 640)
      root.querySelectorAll("table.labelled").forEach((table) => {
        if (!table.closest(".pane-body")) table.classList.remove("labelled");
      });
    root.querySelectorAll(".scroll > table.list:not(.cards):not(.labelled)").forEach((table) => {
      if (
        (window.innerWidth > 640 && !table.closest(".pane-body")) ||
        table.scrollWidth <= table.parentElement.clientWidth
      )
        return;
      const names = Array.from(table.tHead?.rows[0].cells || [], (one) => one.textContent.trim());
      for (const row of table.tBodies[0]?.rows || [])
        Array.from(row.cells).forEach((cell, place) => {
          cell.dataset.title ??= names[place] || "";
        });
      table.classList.add("labelled");
    });
  }

  function start(root) {
    labels(root);
    times(root);
    live(root);
    tree(root);
    charts(root);
    forms(root);
    previews(root);
    marks(root);
    shares(root);
    slides(root);
  }
  document.addEventListener("DOMContentLoaded", () => {
    const source = document.getElementById("desk-words");
    if (source) words = JSON.parse(source.textContent);
    start(document);
    document.addEventListener("desk:part", (event) => start(event.target));
    statusBar();
    theme();
    document.querySelector(".tree .line.on")?.scrollIntoView({ block: "nearest" });
    document.addEventListener("click", (event) => {
      document.querySelectorAll("details.menu[open]").forEach((menu) => {
        if (!menu.contains(event.target)) menu.open = false;
      });
    });
    window.addEventListener("resize", () => labels(document));
    setInterval(() => times(document), 20000);
  });
})();
