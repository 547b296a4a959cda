"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  const data = JSON.parse(document.getElementById("data").textContent);
  const by = (id) => document.getElementById(id);
  const colour = (name) => getComputedStyle(root).getPropertyValue("--" + name).trim();
  const show = (value) => { // three digits, as the page was written
    if (value === null) return "";
    const [digits, power] = value.toExponential(2).split("e");
    const text = power < -4 || power >= 3 ? Number(digits) + "e" + power[0] + power.slice(1).padStart(2, "0") : Number(value.toPrecision(3)).toString();
    return text.replaceAll("-", "−");
  };
  const LABELLED = 40, MOST_AROUND = 250, MOST_FOUND = 8;
  const p = data.names.length;
  const indexOf = new Map(data.names.map((name, i) => [name, i]));
  data.edges.forEach((edge) => { edge.from = "n" + edge.cause; edge.to = "n" + edge.effect; });
  const causesOf = Array.from({ length: p }, () => []), effectsOf = Array.from({ length: p }, () => []);
  data.edges.forEach((edge) => { if (edge.weight !== null) { causesOf[edge.effect].push(edge); effectsOf[edge.cause].push(edge); } });

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
      { selector: "edge[?shared]", style: { width: 1.6, "line-style": "dotted", "curve-style": "unbundled-bezier", "control-point-distances": 36, "control-point-weights": 0.5,
        "source-arrow-shape": "triangle", "source-arrow-color": colour("hidden"), ...line("hidden") } },
      { selector: 'edge[change = "removed"]', style: { "line-style": "dotted", opacity: 0.75 } },
      { selector: 'edge[change = "added"], edge[change = "reversed"]', style: { "underlay-color": colour("down"), "underlay-opacity": 0.35, "underlay-padding": 4 } },
      { selector: ".faded", style: { opacity: Number(colour("fade")) } },
      { selector: "node.up", style: { "background-color": colour("up-fill"), "border-color": colour("up") } },
      { selector: "node.down", style: { "background-color": colour("down-fill"), "border-color": colour("down") } },
      { selector: "node.chosen", style: { "border-width": 3.5, "border-color": colour("accent") } },
      { selector: "edge.chosen", style: { "underlay-color": colour("accent"), "underlay-opacity": 0.35, "underlay-padding": 5 } },
    ];
  };
  // What is in the picture: all variables, or those within some steps of one; edges from a least strength on.
  let centre = null, least = 0;
  const hubs = [...Array(p).keys()].sort((a, b) => causesOf[b].length + effectsOf[b].length - causesOf[a].length - effectsOf[a].length);
  const isKept = (edge) => Math.abs(edge.strength) >= least - 1e-9 * data.strongest;
  const around = (start, steps) => {
    const seen = new Set([start]);
    let ring = [start];
    for (let step = 0; step < steps && seen.size < MOST_AROUND; step++) {
      const next = ring.flatMap((i) => [...causesOf[i], ...effectsOf[i]]).filter(isKept).sort((a, b) => Math.abs(b.strength) - Math.abs(a.strength));
      ring = [];
      for (const edge of next) for (const i of [edge.cause, edge.effect]) if (!seen.has(i) && seen.size < MOST_AROUND) { seen.add(i); ring.push(i); }
    }
    return seen;
  };
  const steps = () => (by("reach").value === "all" ? 0 : Number(by("reach").value));
  const inView = () => (steps() && centre !== null ? around(centre, steps()) : null);
  // Places of a neighbourhood: layers as in the whole graph, without those that are empty; long ones are broken.
  const placesOf = (view) => {
    const places = new Map(), layers = new Map();
    [...view].forEach((i) => { const layer = data.nodes[i].layer; layers.set(layer, [...(layers.get(layer) ?? []), i]); });
    let y = 0;
    [...layers.keys()].sort((a, b) => a - b).forEach((layer) => {
      const row = layers.get(layer).sort((a, b) => data.nodes[a].x - data.nodes[b].x), broken = Math.ceil(row.length / 12);
      for (let k = 0; k < broken; k++) {
        const line = row.filter((_, at) => at % broken === k), width = line.reduce((sum, i) => sum + data.nodes[i].w + 26, -26);
        let x = -width / 2;
        line.forEach((i) => { places.set(i, { x: x + data.nodes[i].w / 2, y }); x += data.nodes[i].w + 26; });
        y += k < broken - 1 ? 46 : 92;
      }
    });
    return places;
  };
  const elementsOf = (view) => {
    const places = view && placesOf(view);
    const nodes = view ? [...view].map((i) => data.nodes[i]) : data.nodes;
    const lines = data.edges.filter((edge) => isKept(edge) && (!view || (view.has(edge.cause) && view.has(edge.effect))));
    return [
      ...nodes.map((node) => ({ data: node, position: view ? places.get(indexOf.get(node.name)) : { x: node.x, y: node.y } })),
      ...data.shared.filter((pair) => !view || (view.has(pair.one) && view.has(pair.other))).map((pair) => ({ data: { ...pair, id: "s" + pair.one + "-" + pair.other, shared: true, source: "n" + pair.one, target: "n" + pair.other } })),
      ...lines.map((edge) => ({ data: { ...edge, bow: view ? 0 : edge.bow, source: edge.from, target: edge.to, text: lines.length <= LABELLED ? show(edge.weight ?? edge.before) : undefined } })),
    ];
  };
  if (data.large) centre = hubs[0];
  const coarse = matchMedia("(pointer: coarse)").matches;
  let cy = null;
  cy = cytoscape({
    container: by("cy"), elements: elementsOf(inView()), style: look(), layout: { name: "preset", padding: 24 }, minZoom: 0.05, maxZoom: 4,
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
  const drawAnew = () => {
    const kept = pinned && pinned.data("name");
    pinned = null; tip.hidden = true;
    cy.batch(() => { cy.elements().remove(); cy.add(elementsOf(inView())); });
    const again = kept === null ? [] : nodeOf(kept);
    if (again.length) { pinned = again[0]; highlight(pinned); }
    tellShown();
  };
  by("reset").addEventListener("click", () => {
    clear(); by("threshold").value = 0; least = 0;
    by("reach").value = data.large ? "1" : "all"; centre = data.large ? hubs[0] : null;
    drawAnew(); tellTotals(); fit();
  });
  by("reach").addEventListener("change", () => {
    if (steps() && centre === null) centre = pinned ? indexOf.get(pinned.data("name")) : hubs[0];
    drawAnew(); fit();
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
    if (d.shared) return data.names[d.one] + " ↔ " + data.names[d.other] + "\nshare a cause that was not measured\nevidence " + show(d.evidence) + (d.sure ? ", enough by itself" : "");
    const lines = [data.names[d.cause] + " → " + data.names[d.effect]];
    if (d.weight !== null) lines.push("weight " + show(d.weight) + (d.unit ? " " + d.unit : "") + (data.standardised ? " (" + show(d.strength) + " in sd)" : ""));
    if (d.low !== null) lines.push("interval " + show(d.low) + " to " + show(d.high));
    if (d.confidence !== null) lines.push("confidence " + Math.round(100 * d.confidence) + " %");
    if (d.change && d.change !== "same") lines.push(d.change + (d.before === null ? "" : ", before " + show(d.before)));
    return lines.join("\n");
  };
  const list = (edges, end) => {
    const names = edges.filter(isKept).map((edge) => data.names[edge[end]]);
    return names.length ? names.slice(0, 20).join(", ") + (names.length > 20 ? " and " + (names.length - 20) + " more" : "") : "none";
  };
  const ofNode = (node) => {
    const i = indexOf.get(node.data("name"));
    return node.data("name") + (node.data("unit") ? " (" + node.data("unit") + ")" : "") + "\ncaused by: " + list(causesOf[i], "cause") + "\ncauses: " + list(effectsOf[i], "effect");
  };
  let pinned = null;
  // Lines of hidden causes lead nowhere: they join two effects of something that is not in the picture.
  const beyond = (node, step) => {
    let seen = cy.collection(), next = node[step]("edge[!shared]");
    while (next.nonempty()) {
      const ends = next.connectedNodes();
      seen = seen.union(next).union(ends);
      next = ends[step]("edge[!shared]").difference(seen);
    }
    return seen.difference(node);
  };
  const highlight = (node) => cy.batch(() => {
    const up = beyond(node, "incomers"), down = beyond(node, "outgoers");
    cy.elements().removeClass("up down chosen faded");
    cy.elements().difference(up).difference(down).difference(node).addClass("faded");
    up.addClass("up"); down.addClass("down"); node.addClass("chosen");
  });
  const clear = () => { pinned = null; tip.hidden = true; cy.batch(() => cy.elements().removeClass("up down chosen faded")); mark(null); };
  const mark = (id) => document.querySelectorAll("#edge-table tr").forEach((row) => row.classList.toggle("marked", id !== null && row.dataset.edge === id));
  const pin = (node) => { pinned = node; highlight(node); by("said").textContent = ofNode(node); tellTotals(); };
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
  cy.on("tap", "node", (event) => {
    if (pinned && pinned.same(event.target)) clear();
    else if (steps()) go(event.target.data("name"));
    else pin(event.target);
  });
  cy.on("tap", "edge", (event) => { mark(event.target.id()); tell(ofEdge(event.target), event.renderedPosition.x, event.renderedPosition.y); });
  cy.on("tap", (event) => { if (event.target === cy) clear(); });
  cy.on("viewport", () => { tip.hidden = true; });
  const nodeOf = (name) => cy.nodes().filter((node) => node.data("name") === name);
  const go = (name) => {
    if (steps()) { centre = indexOf.get(name); clear(); drawAnew(); fit(); }
    const node = nodeOf(name);
    if (node.length) { pin(node[0]); if (!steps()) cy.center(node); }
  };
  // Parts of names are found in any case: whole names first, then beginnings, then the rest.
  let hits = [], hit = 0;
  const find = () => {
    const wanted = by("find").value.trim().toLowerCase(), found = by("found");
    found.textContent = "";
    hits = []; hit = 0;
    if (!wanted) { clear(); return; }
    const rank = (name) => { const low = name.toLowerCase(); return low === wanted ? 0 : low.startsWith(wanted) ? 1 : 2; };
    hits = data.names.filter((name) => name.toLowerCase().includes(wanted)).sort((a, b) => rank(a) - rank(b));
    if (!hits.length) { clear(); found.textContent = "No variable has “" + by("find").value.trim() + "” in its name."; return; }
    found.append(hits.length === 1 ? "Found: " : hits.length + " found: ");
    hits.slice(0, MOST_FOUND).forEach((name) => {
      const button = document.createElement("button");
      button.type = "button"; button.textContent = name; button.addEventListener("click", () => go(name));
      found.append(button, " ");
    });
    if (hits.length > MOST_FOUND) found.append("and " + (hits.length - MOST_FOUND) + " more");
    go(hits[0]);
  };
  by("find").addEventListener("input", find);
  by("find").addEventListener("keydown", (event) => { if (event.key === "Enter" && hits.length) { hit = (hit + 1) % hits.length; go(hits[hit]); } });
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
  const drawnLines = [...document.querySelectorAll(".static-graph [data-edge]")];
  const strengthOf = new Map(data.edges.map((edge) => [edge.id, edge]));
  const tellShown = () => {
    const from = least > 0 ? ", from " + show(least) + (data.standardised ? " sd" : "") : "";
    const kept = data.edges.filter(isKept).length;
    by("shown").textContent = steps()
      ? cy.nodes().length + " of " + p + " variables, " + cy.edges("[!shared]").length + " of " + data.edges.length + " edges" + from
      : kept + " of " + data.edges.length + " edges" + from;
  };
  const sift = () => {
    least = Number(by("threshold").value);
    if (steps()) { drawAnew(); return; }
    const has = new Set(cy.edges().map((edge) => edge.id()));
    const wanted = new Set(data.edges.filter(isKept).map((edge) => edge.id));
    cy.batch(() => {
      cy.edges("[!shared]").filter((edge) => !wanted.has(edge.id())).remove();
      cy.add(elementsOf(null).slice(p).filter((element) => !has.has(element.data.id)));
      cy.edges().removeClass("up down chosen faded");
    });
    drawnLines.forEach((part) => part.classList.toggle("hidden", !isKept(strengthOf.get(part.dataset.edge))));
    if (pinned) highlight(pinned);
    tellShown();
  };
  by("threshold").addEventListener("input", sift);

  // ---- total effects of one variable, where there are too many for a picture of all
  const tellTotals = () => {
    const place = by("totals-of");
    if (!place || centre === null) return;
    const total = new Float64Array(p);
    total[centre] = 1;
    data.order.forEach((name) => { const i = indexOf.get(name); if (i !== centre) causesOf[i].forEach((edge) => { total[i] += edge.weight * total[edge.cause]; }); });
    const rows = [...Array(p).keys()].filter((i) => i !== centre && total[i] !== 0).sort((a, b) => Math.abs(total[b]) - Math.abs(total[a])).slice(0, 100);
    const table = document.createElement("table"), body = table.createTBody();
    table.createCaption().textContent = rows.length ? "Total effects of " + data.names[centre] + ", the " + rows.length + " largest" : data.names[centre] + " has no effects";
    rows.forEach((i) => { const row = body.insertRow(); row.insertCell().textContent = data.names[i]; const cell = row.insertCell(); cell.className = "n"; cell.textContent = show(total[i]); });
    place.replaceChildren(table);
  };

  // ---- table
  const table = by("edge-table");
  if (table) {
    const body = table.tBodies[0], all = data.edges.filter((edge) => edge.weight !== null);
    const heads = [...table.tHead.rows[0].cells];
    const isNumber = (key) => heads[data.columns.indexOf(key)].classList.contains("n");
    const valueOf = (edge, key) => (key === "cause" || key === "effect" ? data.names[edge[key]] : edge[key]);
    const rows = new Map([...body.rows].map((row) => [row.dataset.edge, row]));
    const rowOf = (edge) => {
      if (!rows.has(edge.id)) {
        const row = document.createElement("tr");
        row.dataset.edge = edge.id;
        data.columns.forEach((key) => {
          const cell = row.insertCell(), value = valueOf(edge, key);
          cell.dataset.value = value ?? "";
          if (isNumber(key)) { cell.className = "n"; cell.textContent = show(value); }
          else if (key === "change") { const tag = document.createElement("span"); tag.className = "tag " + value; tag.textContent = value; cell.append(tag); }
          else cell.textContent = value;
        });
        rows.set(edge.id, row);
      }
      return rows.get(edge.id);
    };
    let matching = all, limit = data.listed, sorted = { key: by("sort").value, descending: true };
    const list = () => {
      body.replaceChildren(...matching.slice(0, limit).map(rowOf));
      by("more-edges").hidden = matching.length <= limit;
      by("listed").textContent = Math.min(matching.length, limit);
    };
    const sort = (key, descending) => {
      sorted = { key, descending };
      heads.forEach((head) => head.removeAttribute("aria-sort"));
      const head = heads[data.columns.indexOf(key)], box = table.parentElement;
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      box.scrollLeft = Math.max(0, head.offsetLeft + head.offsetWidth - box.clientWidth); // the column is seen on phones
      by("sort").value = key;
      const size = (edge) => Math.abs(edge[key] ?? 0);
      const compare = isNumber(key) ? (a, b) => size(a) - size(b) : (a, b) => valueOf(a, key).localeCompare(valueOf(b, key));
      all.sort((a, b) => (descending ? -1 : 1) * compare(a, b));
      sieve();
    };
    const sieve = () => {
      const wanted = by("search").value.trim().toLowerCase();
      matching = wanted ? all.filter((edge) => (data.names[edge.cause] + "\n" + data.names[edge.effect]).toLowerCase().includes(wanted)) : all;
      limit = data.listed;
      list();
      const count = matching.length + (matching.length === 1 ? " edge" : " edges") + (wanted ? " of " + all.length : "");
      by("matches").textContent = matching.length ? count : "No edge has “" + by("search").value.trim() + "” in its cause or effect.";
    };
    heads.forEach((head, column) => head.firstElementChild.addEventListener("click", () => {
      const key = data.columns[column];
      sort(key, sorted.key === key ? !sorted.descending : isNumber(key));
    }));
    by("sort").addEventListener("change", () => sort(by("sort").value, isNumber(by("sort").value)));
    by("search").addEventListener("input", sieve);
    by("more").addEventListener("click", () => { limit += data.listed; list(); });
    let pointed = null;
    const point = (id) => {
      if (id === pointed) return;
      if (pointed) cy.getElementById(pointed).removeClass("chosen");
      if (id) cy.getElementById(id).addClass("chosen");
      pointed = id;
    };
    body.addEventListener("mouseover", (event) => point(event.target.closest("tr")?.dataset.edge ?? null));
    body.addEventListener("mouseleave", () => point(null));
    by("csv").addEventListener("click", () => {
      const quote = (text) => '"' + text.replaceAll('"', '""') + '"';
      const titles = heads.map((cell) => quote(cell.textContent));
      const lines = matching.map((edge) => data.columns.map((key) => (isNumber(key) ? edge[key] ?? "" : quote(valueOf(edge, key)))).join(","));
      save(new Blob([[titles.join(","), ...lines].join("\n") + "\n"], { type: "text/csv" }), "edges.csv");
    });
  }

  // ---- downloads
  const save = (blob, name) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob); link.download = name; link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  by("png").addEventListener("click", () => save(cy.png({ output: "blob", full: true, scale: 2, bg: colour("card") }), "graph.png"));
  by("svg")?.addEventListener("click", () => {
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
      const box = frame.getBoundingClientRect();
      const j = Math.floor((event.clientX - box.left) / box.width * p), i = Math.floor((event.clientY - box.top) / box.height * p);
      const value = i >= 0 && j >= 0 && i < p && j < p ? data.totals[i][j] : 0;
      if (!value) { tip.hidden = true; return; }
      const canvas = by("cy").getBoundingClientRect();
      tell(data.order[j] + " → " + data.order[i] + "\ntotal effect " + show(value), event.clientX - canvas.left, event.clientY - canvas.top);
    });
    heat.addEventListener("mouseleave", () => { tip.hidden = true; });
  }
  tellShown();
  tellTotals();
  paint();
  window.fedrcd = { cy };
  root.dataset.ready = "true";
})();
