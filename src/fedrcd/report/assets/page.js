"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  const data = JSON.parse(document.getElementById("data").textContent);
  const by = (id) => document.getElementById(id);
  const colour = (name) => getComputedStyle(root).getPropertyValue("--" + name).trim();
  const show = (value) => (value === null ? "" : Number(value.toPrecision(3)).toString().replace("-", "−"));
  const LABELLED = 40;

  // ---- theme
  const themes = ["auto", "light", "dark"];
  let theme = "auto";
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const paint = () => {
    if (theme === "auto") delete root.dataset.theme; else root.dataset.theme = theme;
    by("theme").textContent = "Theme: " + theme;
    if (cy) cy.style().fromJson(look()).update();
  };
  by("theme").addEventListener("click", () => { theme = themes[(themes.indexOf(theme) + 1) % 3]; paint(); });
  dark.addEventListener("change", () => paint());

  // ---- graph
  const look = () => {
    const text = colour("text"), card = colour("card");
    const line = (sign) => ({ "line-color": colour(sign), "target-arrow-color": colour(sign) });
    return [
      { selector: "node", style: { shape: "round-rectangle", width: "data(w)", height: 30, label: "data(label)", "font-size": 13, color: text,
        "font-family": "system-ui, Helvetica, Arial, sans-serif", "text-valign": "center", "text-halign": "center", "background-color": card,
        "border-width": 1.3, "border-color": colour("border"), "min-zoomed-font-size": 4 } },
      { selector: "edge", style: { width: "data(width)", "curve-style": "straight", "target-arrow-shape": "triangle", "arrow-scale": 0.9, ...line("positive") } },
      { selector: "edge[?bow]", style: { "curve-style": "unbundled-bezier", "control-point-distances": "data(bow)", "control-point-weights": 0.5 } },
      { selector: "edge[weight < 0]", style: { "line-style": "dashed", ...line("negative") } },
      { selector: "edge[text]", style: { label: "data(text)", "font-size": 11, color: text, "text-background-color": card, "text-background-opacity": 0.85, "text-background-padding": 2, "min-zoomed-font-size": 6 } },
      { selector: 'edge[change = "removed"]', style: { "line-style": "dotted", opacity: 0.75 } },
      { selector: 'edge[change = "added"], edge[change = "reversed"]', style: { "underlay-color": colour("down"), "underlay-opacity": 0.35, "underlay-padding": 4 } },
      { selector: ".faded", style: { opacity: Number(colour("fade")) } },
      { selector: "node.up", style: { "background-color": colour("up-fill"), "border-color": colour("up") } },
      { selector: "node.down", style: { "background-color": colour("down-fill"), "border-color": colour("down") } },
      { selector: "node.chosen", style: { "border-width": 3.5, "border-color": colour("accent") } },
      { selector: "edge.chosen", style: { "underlay-color": colour("accent"), "underlay-opacity": 0.35, "underlay-padding": 5 } },
    ];
  };
  const elements = [
    ...data.nodes.map((node) => ({ data: node, position: { x: node.x, y: node.y } })),
    ...data.edges.map((edge) => ({ data: { ...edge, source: edge.from, target: edge.to, text: data.edges.length <= LABELLED ? show(edge.weight ?? edge.before) : undefined } })),
  ];
  const coarse = matchMedia("(pointer: coarse)").matches;
  let cy = null;
  cy = cytoscape({
    container: by("cy"), elements, style: look(), layout: { name: "preset", padding: 24 }, minZoom: 0.05, maxZoom: 4,
    userZoomingEnabled: coarse, boxSelectionEnabled: false, autounselectify: true,
  });
  const fit = () => { cy.fit(undefined, 24); if (cy.zoom() > 1.4) { cy.zoom(1.4); cy.center(); } };
  fit();
  new ResizeObserver(() => { cy.resize(); fit(); }).observe(by("cy"));
  by("cy").addEventListener("mousedown", () => cy.userZoomingEnabled(true));
  document.addEventListener("mousedown", (event) => { if (!by("cy").contains(event.target) && !coarse) cy.userZoomingEnabled(false); });
  const zoom = (factor) => cy.zoom({ level: cy.zoom() * factor, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
  by("zoom-in").addEventListener("click", () => zoom(1.3));
  by("zoom-out").addEventListener("click", () => zoom(1 / 1.3));
  by("fit").addEventListener("click", fit);
  by("reset").addEventListener("click", () => {
    cy.batch(() => cy.nodes().forEach((node) => node.position({ x: node.data("x"), y: node.data("y") })));
    clear(); by("threshold").value = 0; sift(); fit();
  });

  // ---- hover and choice
  const tip = by("tip");
  const tell = (text, x, y) => {
    tip.textContent = text; tip.hidden = false;
    const box = by("cy").getBoundingClientRect();
    const left = Math.min(box.left + x + 14, innerWidth - tip.offsetWidth - 8);
    tip.style.left = Math.max(8, left) + scrollX + "px";
    tip.style.top = box.top + y + 16 + scrollY + "px";
  };
  const ofEdge = (edge) => {
    const d = edge.data();
    const lines = [data.names[d.cause] + " → " + data.names[d.effect]];
    if (d.weight !== null) lines.push("weight " + show(d.weight) + (data.standardised ? " (" + show(d.strength) + " in sd)" : ""));
    if (d.confidence !== null) lines.push("confidence " + Math.round(100 * d.confidence) + " %");
    if (d.change && d.change !== "same") lines.push(d.change + (d.before === null ? "" : ", before " + show(d.before)));
    return lines.join("\n");
  };
  const list = (nodes) => (nodes.length ? nodes.map((node) => node.data("name")).join(", ") : "none");
  const ofNode = (node) => node.data("name") + "\ncaused by: " + list(node.incomers("node")) + "\ncauses: " + list(node.outgoers("node"));
  let pinned = null;
  const highlight = (node) => cy.batch(() => {
    const up = node.predecessors(), down = node.successors();
    cy.elements().removeClass("up down chosen faded");
    cy.elements().difference(up).difference(down).difference(node).addClass("faded");
    up.addClass("up"); down.addClass("down"); node.addClass("chosen");
  });
  const clear = () => { pinned = null; tip.hidden = true; cy.batch(() => cy.elements().removeClass("up down chosen faded")); mark(null); };
  const mark = (id) => document.querySelectorAll("#edge-table tr").forEach((row) => row.classList.toggle("marked", id !== null && row.dataset.edge === id));
  const pin = (node) => { pinned = node; highlight(node); by("said").textContent = ofNode(node); };
  let dragging = false;
  cy.on("grab", () => { dragging = true; tip.hidden = true; });
  // What is dragged is drawn on a canvas of its own; without this every step would draw all other edges again too.
  const renderer = cy.renderer(), notify = renderer.notify;
  renderer.notify = (name, eles) => { if (!(dragging && (name === "bounds" || name === "position"))) notify.call(renderer, name, eles); };
  cy.on("free", () => { dragging = false; });
  cy.on("mouseover", "edge", (event) => { if (!dragging) { event.target.addClass("chosen"); tell(ofEdge(event.target), event.renderedPosition.x, event.renderedPosition.y); } });
  cy.on("mouseout", "edge", (event) => { event.target.removeClass("chosen"); tip.hidden = true; });
  cy.on("mouseover", "node", (event) => { if (!dragging) { if (!pinned) highlight(event.target); tell(ofNode(event.target), event.renderedPosition.x, event.renderedPosition.y); } });
  cy.on("mouseout", "node", () => { tip.hidden = true; if (!pinned && !dragging) clear(); });
  cy.on("tap", "node", (event) => { if (pinned && pinned.same(event.target)) clear(); else pin(event.target); });
  cy.on("tap", "edge", (event) => { mark(event.target.id()); tell(ofEdge(event.target), event.renderedPosition.x, event.renderedPosition.y); });
  cy.on("tap", (event) => { if (event.target === cy) clear(); });
  cy.on("viewport", () => { tip.hidden = true; });
  const nodeOf = (name) => cy.nodes().filter((node) => node.data("name") === name);
  const go = (name) => { const node = nodeOf(name); if (node.length) { pin(node[0]); cy.center(node); } };
  by("find").addEventListener("input", () => go(by("find").value));
  document.querySelectorAll(".chip").forEach((chip) => chip.addEventListener("click", () => { go(chip.dataset.name); by("graph").scrollIntoView(); }));
  by("cy").addEventListener("keydown", (event) => {
    const at = pinned ? data.order.indexOf(pinned.data("name")) : -1, last = data.order.length - 1;
    if (event.key === "ArrowRight" || event.key === "ArrowDown") go(data.order[Math.min(at + 1, last)]);
    else if (event.key === "ArrowLeft" || event.key === "ArrowUp") go(data.order[Math.max(at - 1, 0)]);
    else if (event.key === "+" || event.key === "=") zoom(1.3);
    else if (event.key === "-") zoom(1 / 1.3);
    else if (event.key === "0") fit();
    else if (event.key === "Escape") clear();
    else return;
    event.preventDefault();
  });

  // ---- threshold: takes edges out here and in the picture that is printed
  const edges = cy.edges();
  const sift = () => {
    const least = Number(by("threshold").value), slack = 1e-9 * data.strongest;
    const kept = edges.filter((edge) => Math.abs(edge.data("strength")) >= least - slack);
    cy.batch(() => { edges.difference(kept).remove(); kept.restore(); edges.removeClass("up down chosen faded"); });
    edges.forEach((edge) => document.querySelectorAll('.static-graph [data-edge="' + edge.id() + '"]')
      .forEach((part) => part.classList.toggle("hidden", edge.removed())));
    if (pinned) highlight(pinned);
    by("shown").textContent = kept.length + " of " + edges.length + " edges" + (least > 0 ? ", from " + show(least) + (data.standardised ? " sd" : "") : "");
  };
  by("threshold").addEventListener("input", sift);

  // ---- table
  const table = by("edge-table");
  if (table) {
    const body = table.tBodies[0], rows = [...body.rows];
    table.querySelectorAll("th button").forEach((button, column) => button.addEventListener("click", () => {
      const head = button.parentElement, numeric = head.classList.contains("n");
      const descending = head.getAttribute("aria-sort") ? head.getAttribute("aria-sort") === "ascending" : numeric;
      table.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      const value = (row) => row.cells[column].dataset.value;
      const size = (row) => Math.abs(Number(value(row)));
      rows.sort((a, b) => (descending ? -1 : 1) * (numeric ? size(a) - size(b) : value(a).localeCompare(value(b))));
      body.append(...rows);
    }));
    by("search").addEventListener("input", () => {
      const wanted = by("search").value.trim().toLowerCase();
      let kept = 0;
      rows.forEach((row) => { row.hidden = !row.textContent.toLowerCase().includes(wanted); kept += !row.hidden; });
      by("matches").textContent = kept + (kept === 1 ? " edge" : " edges") + (wanted ? " of " + rows.length : "");
    });
    rows.forEach((row) => {
      row.addEventListener("mouseenter", () => cy.getElementById(row.dataset.edge).addClass("chosen"));
      row.addEventListener("mouseleave", () => cy.getElementById(row.dataset.edge).removeClass("chosen"));
    });
    by("csv").addEventListener("click", () => {
      const quote = (text) => '"' + text.replaceAll('"', '""') + '"';
      const heads = [...table.tHead.rows[0].cells].map((cell) => quote(cell.textContent));
      const lines = rows.filter((row) => !row.hidden).map((row) => [...row.cells].map((cell) => (cell.classList.contains("n") ? cell.dataset.value : quote(cell.dataset.value))).join(","));
      save(new Blob([[heads.join(","), ...lines].join("\n") + "\n"], { type: "text/csv" }), "edges.csv");
    });
  }

  // ---- downloads
  const save = (blob, name) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob); link.download = name; link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  by("png").addEventListener("click", () => save(cy.png({ output: "blob", full: true, scale: 2, bg: colour("card") }), "graph.png"));
  by("svg").addEventListener("click", () => {
    const copy = document.querySelector(".static-graph svg").cloneNode(true);
    copy.querySelectorAll(".hidden").forEach((part) => part.remove());
    const text = copy.outerHTML.replace(/var\(--([a-z-]+)\)/g, (_, name) => colour(name));
    save(new Blob([text], { type: "image/svg+xml" }), "graph.svg");
  });

  // ---- values of a heat map that is too fine for names
  const heat = document.querySelector(".heat");
  if (heat && data.totals) {
    const frame = heat.querySelector(".frame");
    heat.addEventListener("mousemove", (event) => {
      const box = frame.getBoundingClientRect(), p = data.order.length;
      const j = Math.floor((event.clientX - box.left) / box.width * p), i = Math.floor((event.clientY - box.top) / box.height * p);
      const value = i >= 0 && j >= 0 && i < p && j < p ? data.totals[i][j] : 0;
      if (!value) { tip.hidden = true; return; }
      const canvas = by("cy").getBoundingClientRect();
      tell(data.order[j] + " → " + data.order[i] + "\ntotal effect " + show(value), event.clientX - canvas.left, event.clientY - canvas.top);
    });
    heat.addEventListener("mouseleave", () => { tip.hidden = true; });
  }
  paint();
  window.fedrcd = { cy };
  root.dataset.ready = "true";
})();
