// The panel's own script: keys, selection, the live state, dialogs, times and graphs. Everything that is fetched and swapped
// is htmx's work.
"use strict";
(() => {
  const $ = (selector, from = document) => from.querySelector(selector);
  const $$ = (selector, from = document) => [...from.querySelectorAll(selector)];

  // ---- What somebody did to the page survives its merges: folds, ticks, and the times that the script has written.

  htmx.registerExtension("keep", {
    htmx_before_morph_attr: (el, { attrName }) => {
      if (attrName === "open") return !el.matches("details, dialog");
      if (attrName === "class") return !el.matches("[data-row]");
      if (attrName === "disabled") return !el.matches("[data-bulk] button");
      return true;
    },
    htmx_before_morph_node: (_, { oldNode, newNode }) => {
      if (oldNode.matches("time")) return oldNode.dateTime !== newNode.dateTime;
      return !oldNode.matches("[data-ticked]");
    },
  });

  // ---- Live: one stream; pause holds the screen; a lost connection shows and heals.

  const silence = 40000; // the server is heard every 15 seconds
  const again = 3000;
  let paused = false;
  let missed = false;
  let connection = "connecting";
  let stream = null;
  let heard = 0;
  let away = false;
  let came = false;

  function showLive() {
    const stale = connection === "live" && [...sections.values()].some((section) => section.failed);
    const state = paused && connection === "live" ? "paused" : stale ? "stale" : connection;
    document.documentElement.dataset.live = state;
    const text = {
      connecting: "connecting", live: "live", lost: "no connection: trying again", stale: "not current: trying again", off: "not live",
      out: "logged out: reload the page", paused: missed ? "paused, there is news" : "paused",
    }[state];
    for (const el of $$("[data-live-state]")) {
      const span = $("span", el);
      if (span.textContent !== text) span.textContent = text;
      el.dataset.state = state;
    }
    for (const el of $$('[data-do="pause"]')) {
      el.setAttribute("aria-pressed", String(paused));
      el.setAttribute("aria-label", paused ? "Go on" : "Pause");
      const label = $("[data-label]", el);
      if (label) label.textContent = paused ? "Go on" : "Pause";
    }
  }
  function turn(state) {
    connection = state;
    showLive();
  }

  document.addEventListener("htmx:sse:after:connection", (event) => {
    stream = event.detail.connection;
    heard = Date.now();
    turn("live");
    if (came) everything();
    came = true;
  });
  document.addEventListener("htmx:sse:before:connection", () => {
    if (connection === "live") turn(away ? "connecting" : "lost");
    away = false;
  });
  document.addEventListener("htmx:sse:error", (event) => {
    if (!document.hidden) turn(event.detail.status === 401 ? "out" : "lost");
    if (connection === "out") everything(); // the answer leads to the login
  });
  document.addEventListener("htmx:sse:close", lostAtAll);
  document.addEventListener("htmx:sse:before:message", (event) => {
    heard = Date.now();
    const topic = event.detail.message.event.replace("live-", "");
    event.detail.cancelled = true; // it is not for htmx: news() decides what is fetched
    event.preventDefault();
    if (topic !== "beat") news(topic);
  });
  // The stream could not be had at all: its extension comes back by itself only to one that was there.
  function lostAtAll() {
    if (connection === "off" || connection === "out") return;
    turn("lost");
    setTimeout(() => htmx.trigger("#live", "again"), again);
  }
  document.addEventListener("htmx:error", (event) => {
    if (event.detail.ctx?.sourceElement?.id === "live") lostAtAll();
  });
  document.addEventListener("htmx:response:error", (event) => {
    const { sourceElement, response } = event.detail.ctx;
    if (sourceElement?.id !== "live") return;
    if (response.status === 404) turn("off");
    else lostAtAll();
  });
  document.addEventListener("visibilitychange", () => { if (document.hidden) away = true; });
  addEventListener("offline", () => { if (connection === "live") turn("lost"); });
  addEventListener("online", () => stream?.delayCanceller?.());
  setInterval(() => {
    if (connection !== "live" || document.hidden || Date.now() - heard < silence) return;
    turn("lost");
    stream?.reader?.cancel(); // it comes anew
  }, 1000);

  function togglePause() {
    paused = !paused;
    if (!paused && missed) everything();
    missed = false;
    showLive();
  }

  // ---- News: a section is fetched anew when something of its topics changed, one request at a time and at most twice a second.

  const rest = 510;
  let sections = new Map();

  function sectionOf(id) {
    if (!sections.has(id)) sections.set(id, { open: 0, wanted: false, timer: 0, next: 0, failed: false });
    return sections.get(id);
  }
  // What is told while another page is on its way may be younger than what that page shows: it is told again once it is there.
  let meanwhile = null;
  function news(topic) {
    meanwhile?.add(topic);
    for (const el of $$("section[data-live]")) {
      if (el.dataset.topics.split(" ").includes(topic)) want(el.id);
    }
  }
  function everything() {
    for (const el of $$("section[data-live]")) want(el.id);
  }
  function want(id) {
    const section = sectionOf(id);
    section.wanted = true;
    if (paused) {
      missed = true;
      showLive();
    }
    if (section.open || section.timer) return;
    section.timer = setTimeout(() => {
      section.timer = 0;
      const el = document.getElementById(id);
      if (!el || paused || sections.get(id) !== section) return;
      if (section.open) return; // an act has fetched it meanwhile: what came since is fetched when that is done
      section.wanted = false;
      htmx.trigger(el, "live");
    }, Math.max(20, section.next - performance.now())); // what comes together is one request
  }
  const liveOf = (event) => {
    const el = event.detail.ctx?.sourceElement;
    return el?.hasAttribute?.("data-live") ? sectionOf(el.id) : null;
  };
  document.addEventListener("htmx:before:request", (event) => {
    const section = liveOf(event);
    if (section) section.open++;
  });
  document.addEventListener("htmx:before:swap", (event) => {
    const section = liveOf(event);
    if (!section) return;
    const { response, sourceEvent } = event.detail.ctx;
    section.failed = response.status >= 500;
    if (response.status >= 400) event.preventDefault(); // what stands is better than nothing
    if (paused && sourceEvent?.type === "live") {
      missed = true;
      event.preventDefault();
    }
    showLive();
  });
  document.addEventListener("htmx:finally:request", (event) => {
    const section = liveOf(event);
    if (!section) return;
    section.open = Math.max(0, section.open - 1);
    section.next = performance.now() + (section.failed ? again : rest);
    if (section.wanted || section.failed) want(event.detail.ctx.sourceElement.id);
  });

  // A list keeps its rows while somebody works with them: what is ticked, focused or scrolled to does not move.
  function busyWith(section) {
    if (paused || $("input:checked", section)) return true;
    if (section.contains(document.activeElement) && document.activeElement !== document.body) return true;
    return window.scrollY > 160;
  }

  document.addEventListener("htmx:config:request", (event) => {
    const { ctx } = event.detail;
    const section = ctx.sourceElement;
    if (!section?.hasAttribute?.("data-hold") || !busyWith(section)) return;
    const ids = $$("[data-row]", section).map((row) => row.dataset.row);
    if (!ids.length) return;
    const url = new URL(ctx.request.action, location.href);
    url.searchParams.set("hold", ids.join(","));
    ctx.request.action = url.href;
  });

  // ---- Selection.

  function countTicked() {
    for (const form of $$("[data-selection]")) {
      const boxes = $$('input[name="ids"]', form);
      const ticked = boxes.filter((box) => box.checked).length;
      const bar = $("[data-bulk]", form);
      if (bar) {
        bar.toggleAttribute("data-any", ticked > 0);
        const told = $("[data-ticked]", bar); // who may not act has none
        if (told) told.textContent = ticked ? `${ticked} selected` : "Nothing selected";
        for (const button of $$("button[data-on-ticked]", bar)) button.disabled = ticked === 0;
      }
      const all = $('[data-do="tick-all"]', form);
      if (all) {
        all.checked = ticked > 0 && ticked === boxes.length;
        all.indeterminate = ticked > 0 && ticked < boxes.length;
      }
      for (const box of boxes) box.closest("tr").classList.toggle("ticked", box.checked);
    }
  }
  document.addEventListener("change", (event) => {
    if (event.target.matches('[data-do="tick-all"]')) {
      for (const box of $$('input[name="ids"]', event.target.closest("form"))) box.checked = event.target.checked;
    }
    if (event.target.closest("[data-selection]")) countTicked();
  });

  // ---- Dialogs and toasts.

  function openDialogs() {
    for (const dialog of $$("dialog[data-open]")) {
      if (!dialog.open) dialog.showModal();
    }
    for (const toast of $$("[data-toast]:not([data-timed])")) {
      toast.dataset.timed = "";
      setTimeout(() => toast.remove(), 6000);
    }
  }

  // The button that asked last. A live part that is swapped meanwhile may have another in its place.
  let asked = null;
  document.addEventListener("click", (event) => { asked = event.target.closest?.("[data-op]") ?? asked; }, true);

  // However a dialog is closed, by Escape too, what it showed goes with it: it may be a secret. The focus goes back to where it came from.
  document.addEventListener("close", (event) => {
    if (event.target.parentElement?.id !== "dialog-slot") return;
    event.target.remove();
    if (!asked || document.activeElement !== document.body) return;
    const back = asked.isConnected ? asked : $(`[data-op="${asked.dataset.op}"]`);
    back?.focus({ preventScroll: true });
  }, true);

  // What was made once should not be made twice by the form that still stands there.
  document.addEventListener("acted", (event) => {
    if (!event.target.matches?.("form[data-once]")) return;
    event.target.reset();
    event.target.closest("details")?.removeAttribute("open");
  });

  // ---- What buttons do that are the browser's own business.

  const does = {
    menu(el) {
      const open = document.documentElement.toggleAttribute("data-menu");
      el.setAttribute("aria-expanded", String(open));
    },
    pause: togglePause,
    filters(el) { el.setAttribute("aria-expanded", String(el.closest("form").toggleAttribute("data-unfolded"))); },
    help() { $("#keys").showModal(); },
    close(el) {
      const dialog = el.closest("dialog");
      dialog.close();
      if (dialog.parentElement.id === "dialog-slot") dialog.remove();
    },
    theme() {
      const order = ["", "light", "dark"];
      const now = document.documentElement.dataset.theme ?? "";
      const next = order[(order.indexOf(now) + 1) % order.length];
      if (next) document.documentElement.dataset.theme = next;
      else delete document.documentElement.dataset.theme;
      try { localStorage.setItem("postbus-theme", next); } catch { /* it lasts for this page */ }
      drawGraphs();
    },
    async copy(el) {
      const from = document.getElementById(el.dataset.from);
      try { await navigator.clipboard.writeText(from.value); } catch { from.select(); document.execCommand("copy"); }
      el.textContent = "Copied";
    },
  };
  document.addEventListener("click", (event) => {
    const el = event.target.closest("[data-do]");
    if (el && does[el.dataset.do]) does[el.dataset.do](el);
  });

  // ---- Keys.

  let row = null;

  function moveRow(by) {
    const rows = $$("[data-row]");
    if (!rows.length) return;
    const at = rows.findIndex((el) => el.dataset.row === row);
    const next = rows[Math.min(Math.max(at + by, 0), rows.length - 1)];
    row = next.dataset.row;
    markRow();
    next.scrollIntoView({ block: "nearest" });
    ($("[data-open]", next) ?? next).focus({ preventScroll: true });
  }
  function markRow() {
    for (const el of $$("[data-row]")) el.classList.toggle("here", el.dataset.row === row);
  }
  const keys = {
    "/": () => $("#jump")?.focus(),
    "?": () => $("#keys")?.showModal(),
    j: () => moveRow(1),
    k: () => moveRow(-1),
    p: togglePause,
    x: () => $(`[data-row="${CSS.escape(row ?? "")}"] input[name="ids"]`)?.click(),
    r: () => $$('[data-key="r"]').find((el) => el.offsetParent !== null)?.click(),
    Escape: () => $("[data-back]")?.click(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if ($("dialog[open]")) return;
    const typing = event.target.matches("input:not([type=checkbox]), textarea, select");
    if (typing) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });

  // ---- Times.

  function age(ms) {
    const past = ms >= 0;
    let s = Math.floor(Math.abs(ms) / 1000);
    const units = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
    const parts = [];
    for (const [name, length] of units) {
      const n = Math.floor(s / length);
      s -= n * length;
      if (n || (name === "s" && !parts.length)) parts.push(`${n} ${name}`);
      if (parts.length === 2) break;
    }
    return (past ? "" : "in ") + parts.join(" ");
  }
  function showTimes() {
    const now = Date.now();
    for (const el of $$("time[data-ago]")) {
      const text = age(now - Date.parse(el.dateTime));
      if (el.textContent !== text) el.textContent = text;
    }
    for (const el of $$("time[data-own]:empty")) {
      el.textContent = new Date(el.dateTime).toLocaleString([], { dateStyle: "medium", timeStyle: "medium" }) + " here";
    }
    for (const el of $$("time[data-at]:not([data-told])")) {
      el.dataset.told = "";
      el.title += "\n" + new Date(el.dateTime).toLocaleString([], { dateStyle: "medium", timeStyle: "medium" }) + " here";
    }
  }
  setInterval(showTimes, 1000);

  // ---- Graphs.

  const colours = {
    recorded: "--c-running", fanned: "--c-completed", completed: "--c-completed", delivered: "--c-completed", retried: "--c-retryable",
    failed: "--c-retryable", snoozed: "--c-pending", discarded: "--c-discarded", cancelled: "--c-cancelled", skipped: "--c-cancelled",
    p50: "--c-completed", p95: "--c-retryable", p99: "--c-discarded",
  };
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const two = (n) => String(n).padStart(2, "0");
  // clock is a moment on the 24 hours of UTC; with its day at midnight, where steps are days, and for step 0.
  function clock(at, step) {
    const d = new Date(at * 1000);
    const day = `${d.getUTCDate()} ${d.toLocaleString("en", { month: "short", timeZone: "UTC" })}`;
    const time = `${two(d.getUTCHours())}:${two(d.getUTCMinutes())}`;
    if (step >= 86400 || (step && time === "00:00")) return day;
    return step ? time : `${day} ${time}`;
  }
  // lone are the places of values that have no neighbour: no line goes through them, so they are dots.
  function lone(values) {
    return values.flatMap((v, i) => (v != null && values[i - 1] == null && values[i + 1] == null ? [i] : []));
  }

  async function drawGraph(figure) {
    const plot = $(".plot", figure);
    const { graph, span, unit } = figure.dataset;
    let answer;
    try {
      const response = await fetch(`series?${new URLSearchParams({ graph, span })}`, { headers: { Accept: "application/json" } });
      if (!response.ok) throw new Error(String(response.status));
      answer = await response.json();
    } catch {
      plot.textContent = "The numbers could not be had.";
      return;
    }
    if (!plot.isConnected) return;
    plot.textContent = "";
    figure.uplot?.destroy();
    figure.uplot = null;
    if (answer.lines.every((line) => line.values.every((v) => !v))) {
      const none = plot.appendChild(document.createElement("p"));
      none.className = "none";
      none.appendChild(document.createElement("span")).textContent = "nothing yet";
      return;
    }
    if (answer.lines.some((line) => line.values.slice(0, -1).some((v) => v))) { // what is not over yet would look like a fall
      answer.at.pop();
      for (const line of answer.lines) line.values.pop();
    }
    const full = answer.at.length - 1; // shown while nothing is pointed at
    const said = (v) => (v == null ? "–" : `${Math.round(v * 10) / 10}${unit === "ms" ? " ms" : ""}`);
    const axis = { stroke: colour("--ink-2"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "11px Inter, system-ui" };
    figure.uplot = new uPlot({
      width: plot.clientWidth, height: 150, cursor: { y: false }, tzDate: (ts) => uPlot.tzDate(new Date(ts * 1000), "Etc/UTC"),
      axes: [{ ...axis, size: 28, values: (_, splits, __, ___, step) => splits.map((at) => clock(at, step)) }, { ...axis, size: 42 }],
      scales: { y: { range: (_, low, high) => [0, Math.max(high, 1)] } },
      series: [{ label: "UTC", value: (_, at) => clock(at ?? answer.at[full], span === "30d" ? 0 : 60) }, ...answer.lines.map((line, i) => ({
        label: line.name, stroke: colour(colours[line.name] ?? "--ink-2"), width: 1.5,
        fill: i === 0 ? colour(colours[line.name] ?? "--ink-2") + "1a" : undefined,
        points: { show: true, size: 5, filter: () => lone(line.values) },
        value: (_, v, __, at) => said(at == null ? line.values[full] : v),
      }))],
    }, [answer.at, ...answer.lines.map((line) => line.values)], plot);
  }
  function drawGraphs() {
    for (const figure of $$("[data-graph]")) drawGraph(figure);
  }
  let resizing;
  addEventListener("resize", () => {
    clearTimeout(resizing);
    resizing = setTimeout(() => {
      for (const figure of $$("[data-graph]")) figure.uplot?.setSize({ width: $(".plot", figure).clientWidth, height: 150 });
    }, 150);
  });
  setInterval(() => { if (!paused && !document.hidden) drawGraphs(); }, 30000);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawGraphs);

  // ---- After every swap.

  function settle() {
    countTicked();
    markRow();
    openDialogs();
    showTimes();
    showLive();
    for (const figure of $$("[data-graph]:not([data-drawn])")) {
      figure.dataset.drawn = "";
      drawGraph(figure);
    }
  }
  // A view that takes its time shows its outline; one that is asked with other filters stays, paler.
  function showLoading(how) {
    const content = $("#content");
    if (!content) return;
    content.dataset.loading = how;
    if (how !== "other") return;
    const skeleton = content.appendChild(document.createElement("div"));
    skeleton.className = "skeleton";
    skeleton.ariaHidden = "true";
    for (let i = 0; i < 9; i++) skeleton.append(document.createElement("i"));
  }
  let loading;
  document.addEventListener("htmx:before:request", (event) => {
    if (event.detail.ctx.target?.id !== "page") return;
    meanwhile = new Set();
    clearTimeout(loading);
    const to = new URL(event.detail.ctx.request.action, location.href).pathname.split("/").pop();
    loading = setTimeout(() => showLoading(to === (location.pathname.split("/").pop()) ? "same" : "other"), 150);
  });
  document.addEventListener("htmx:after:swap", (event) => {
    clearTimeout(loading);
    if (event.detail.ctx?.target?.id === "page") {
      document.documentElement.removeAttribute("data-menu");
      row = null;
      sections = new Map();
      const told = meanwhile ?? [];
      meanwhile = null;
      told.forEach(news);
    }
    settle();
  });
  document.addEventListener("htmx:error", () => {
    clearTimeout(loading);
    delete $("#content")?.dataset.loading;
    $("#content > .skeleton")?.remove();
  });
  document.addEventListener("DOMContentLoaded", settle);
  if (document.readyState !== "loading") settle();
})();
