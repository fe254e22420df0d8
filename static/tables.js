/* Tables of lists: filters are applied when they change; order of columns; actions on selected
   rows; copying. */
"use strict";
(function () {
  const ticks = (form) =>
    Array.from(document.querySelectorAll(`input[name="${form.dataset.do}"][form="${form.id}"]`));
  function count(form) {
    const on = ticks(form).filter((one) => one.checked).length;
    form.hidden = on === 0;
    form.querySelector("[data-ticked]").textContent = String(on);
    return on;
  }

  /* --- the menu of a row: the same actions as below the list, for this row only --- */
  let menu = null;
  function close() {
    menu?.remove();
    menu = null;
  }
  function open(row, x, y) {
    const tick = row.querySelector("input.tick[form]"),
      form = tick && document.getElementById(tick.getAttribute("form"));
    const link = row.querySelector("td.title a[href]") || row.querySelector("a[href]");
    if (!form && !link) return false;
    close();
    menu = document.createElement("div");
    menu.className = "row-menu";
    menu.setAttribute("role", "menu");
    if (link) {
      const first = document.createElement("a"),
        tab = document.createElement("button"),
        keep = document.querySelector("[data-keep]");
      first.href = link.href;
      first.textContent = link.textContent.trim();
      first.setAttribute("role", "menuitem");
      tab.type = "button";
      tab.setAttribute("role", "menuitem");
      tab.textContent = keep.getAttribute("aria-label");
      tab.onclick = () => {
        close();
        document.dispatchEvent(
          new CustomEvent("desk:keep", {
            detail: { url: link.getAttribute("href"), title: link.textContent.trim() },
          }),
        );
      };
      menu.append(first, tab);
    }
    form?.querySelectorAll("button[name=do]").forEach((button) => {
      const one = document.createElement("button");
      one.type = "button";
      one.setAttribute("role", "menuitem");
      one.innerHTML = button.innerHTML;
      one.onclick = () => {
        close();
        ticks(form).forEach((other) => {
          other.checked = other === tick;
        });
        count(form);
        button.click();
      };
      menu.append(one);
    });
    document.body.append(menu);
    menu.style.left = `${Math.max(4, Math.min(x, innerWidth - menu.offsetWidth - 8))}px`;
    menu.style.top = `${Math.max(4, Math.min(y, innerHeight - menu.offsetHeight - 40))}px`;
    menu.querySelector("[role=menuitem]")?.focus();
    return true;
  }
  document.addEventListener("contextmenu", (event) => {
    const row = event.target.closest("tr[data-row]");
    if (row && !event.target.closest("a") && open(row, event.clientX, event.clientY))
      event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    if (menu) {
      const items = Array.from(menu.querySelectorAll("[role=menuitem]")),
        at = items.indexOf(document.activeElement);
      if (event.key === "Escape") close();
      else if (event.key === "ArrowDown") items[(at + 1) % items.length].focus();
      else if (event.key === "ArrowUp") items[(at - 1 + items.length) % items.length].focus();
      else return;
      event.preventDefault();
      return;
    }
    if (
      event.defaultPrevented ||
      event.key !== "m" ||
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      event.target.closest("input, textarea, select") ||
      document.querySelector("dialog[open]")
    )
      return;
    const row = document.querySelector("#content tr.on[data-row]");
    if (!row) return;
    const box = row.getBoundingClientRect();
    if (open(row, box.left + 60, box.bottom)) event.preventDefault();
  });

  document.addEventListener("change", (event) => {
    if (event.target.matches("select[data-send]")) event.target.form.requestSubmit();
    if (event.target.matches("input.tick"))
      document.querySelectorAll("form[data-do]").forEach(count);
  });
  document.addEventListener("click", async (event) => {
    if (menu && !event.target.closest(".row-menu")) close();
    const earlier = event.target.closest("[data-earlier]");
    if (earlier) {
      const line = earlier.closest("li");
      line.previousElementSibling?.before(line);
      earlier.focus();
    }
    const copy = event.target.closest("[data-copy]");
    if (copy) {
      const answer = await fetch(copy.dataset.copy, { redirect: "error" });
      if (!answer.ok) return;
      await navigator.clipboard.writeText(await answer.text());
      copy.textContent = copy.dataset.copied;
    }
  });
  document.addEventListener("DOMContentLoaded", () =>
    document.querySelectorAll("form[data-do]").forEach(count),
  );

  /* --- a table wider than its box is scrolled with the keyboard: without a link or button in it,
     the box itself takes the focus --- */
  function reach(root) {
    root.querySelectorAll(".scroll").forEach((box) => {
      const scrolls = box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight;
      if (scrolls && !box.querySelector("a[href], button, input, select, textarea, summary"))
        box.tabIndex = 0;
      else if (!scrolls) box.removeAttribute("tabindex");
    });
  }
  document.addEventListener("DOMContentLoaded", () => reach(document));
  document.addEventListener("desk:part", (event) => reach(event.target));
  window.addEventListener("resize", () => reach(document));

  // A cell whose text is truncated shows the full text as its tooltip.
  document.addEventListener("mouseover", (event) => {
    const cell = event.target.closest?.("td.one, .facts dd, .line .t, .pane-title");
    if (cell && !cell.title && cell.scrollWidth > cell.clientWidth)
      cell.title = cell.textContent.trim().replace(/\s+/g, " ");
  });
})();
