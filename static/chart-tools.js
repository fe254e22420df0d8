/* Chart tools: download as image, vector image or data, and full screen. */
"use strict";
(function () {
  const plain = (html) =>
    new DOMParser().parseFromString(String(html ?? ""), "text/html").documentElement.textContent;
  const cell = (value) => {
    if (typeof value === "number") return String(value);
    let text = plain(value);
    if (/^[\s]*[=+\-@＝＋－＠|\t\r]/.test(text) && Number.isNaN(Number(text)))
      text = `'${text}`; /* no formula in a spreadsheet */
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };

  /* The data of a chart as a table: one row per x value and one column per series; for a heat map
     one row per row of cells. Values are read from Plotly's figure, because it has decoded arrays
     that are sent in binary form. */
  function table(node) {
    const drawn = node._fullData,
      axis = plain(node.layout.xaxis?.title?.text || "x");
    const map = drawn.find((one) => one.type === "heatmap");
    if (map) return [["", ...map.x], ...Array.from(map.z, (row, place) => [map.y[place], ...row])];
    const lines = new Map();
    drawn.forEach((one, column) =>
      Array.from(one.x || []).forEach((x, place) => {
        if (!lines.has(x)) lines.set(x, Array(drawn.length).fill(""));
        lines.get(x)[column] = one.y[place] ?? "";
      }),
    );
    return [
      [axis, ...drawn.map((one) => one.name)],
      ...Array.from(lines, ([x, values]) => [x, ...values]),
    ];
  }
  function save(name, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv;charset=utf-8" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
  async function picture(node, format, name) {
    const dark = document.documentElement.classList.contains("dark");
    const paper = { paper_bgcolor: dark ? "#111827" : "#ffffff" };
    await Plotly.downloadImage(
      { data: node.data, layout: { ...node.layout, ...paper, title: { text: name } }, config: {} },
      {
        format,
        filename: name,
        width: Math.max(800, node.offsetWidth),
        height: Math.max(420, node.offsetHeight),
        scale: format === "png" ? 2 : 1,
      },
    );
  }

  /* --- days chosen in a chart, by dragging over them or by clicking one, narrow the table below it
     --- */
  const HALF = 43_200_000; /* milliseconds; a day's bar is centred on its midnight */
  const clock = (text) => Date.parse(`${String(text).replace(" ", "T").replace(/Z?$/, "Z")}`);
  const day = (time) => new Date(time).toISOString().slice(0, 10);
  document.addEventListener("desk:drawn", async (event) => {
    const node = event.target,
      form = node
        .closest("#content, #pane")
        ?.querySelector(`[data-table="${CSS.escape(node.dataset.brush || "")}"] form[role=search]`);
    if (!form) return;
    const { from, to } = form.elements;
    const narrow = (first, last) => {
      from.value = first;
      to.value = last;
      form.requestSubmit();
    };
    node.on("plotly_selected", (chosen) => {
      const days = (chosen?.points || []).map((one) => String(one.x).slice(0, 10)).sort();
      if (days.length) narrow(days[0], days.at(-1));
      else if (chosen?.range?.x)
        narrow(...chosen.range.x.map((end) => day(clock(end) + HALF)).sort());
    });
    node.on("plotly_click", (clicked) => {
      const place = String(clicked.points[0]?.x ?? "").slice(0, 10);
      if (place) narrow(place, place);
    });
    const shapes =
      from.value && to.value
        ? [
            {
              type: "rect",
              xref: "x",
              yref: "paper",
              y0: 0,
              y1: 1,
              layer: "below",
              line: { width: 0 },
              fillcolor: "rgba(59, 130, 246, 0.18)",
              x0: new Date(Date.parse(from.value) - HALF).toISOString().slice(0, 19),
              x1: new Date(Date.parse(to.value) + HALF).toISOString().slice(0, 19),
            },
          ]
        : [];
    await Plotly.relayout(node, { dragmode: "select", selectdirection: "h", shapes });
    node.dataset.brushed = "1";
  });

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-take]");
    if (!button) return;
    const box = button.closest(".box"),
      node = box.querySelector(".plot");
    button.closest("details").open = false;
    if (!node || !node.dataset.ready) return;
    const name = box.querySelector("h2").textContent.trim();
    const take = button.dataset.take;
    if (take === "csv")
      save(
        `${name}.csv`,
        table(node)
          .map((line) => line.map(cell).join(","))
          .join("\r\n") + "\r\n",
      );
    else if (take === "full")
      document.fullscreenElement ? document.exitFullscreen() : box.requestFullscreen();
    else picture(node, take, name);
  });
  document.addEventListener("fullscreenchange", () => {
    document.querySelectorAll(".box .plot[data-ready]").forEach((node) => {
      if (node.offsetWidth) Plotly.Plots.resize(node);
    });
  });
})();
