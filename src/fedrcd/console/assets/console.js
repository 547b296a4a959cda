// Keeps a page up to date: when the console says that something has changed, the parts that may have are fetched anew.
"use strict";
(() => {
  const root = document.documentElement, store = window.localStorage;
  const chosen = store.getItem("theme");
  if (chosen) root.dataset.theme = chosen;
  root.classList.add("js");

  document.addEventListener("click", event => {
    if (event.target.id !== "theme") return;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    store.setItem("theme", root.dataset.theme);
  });

  document.addEventListener("change", async event => {
    const into = event.target.dataset && event.target.dataset.into;
    if (into && event.target.files.length) document.getElementById(into).value = await event.target.files[0].text();
  });

  const say = text => { document.getElementById("said-live").textContent = text; };

  const isInUse = part => {
    const at = document.activeElement;
    return (part.contains(at) && /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName)) ||
      [...part.querySelectorAll("input:not([type=hidden]), textarea")].some(one => one.value !== one.defaultValue);
  };

  const live = document.getElementById("live");
  let known = live && live.dataset.version;
  const update = async () => {
    const answer = await fetch(location.href, { credentials: "same-origin", headers: { "fedrcd-update": "yes" } });
    if (answer.redirected && answer.url.includes("/login")) return location.reload();
    if (!answer.ok && answer.status !== 503) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const now = document.getElementById("live"), next = fresh.getElementById("live");
    if (!now || !next) return;
    known = next.dataset.version;
    if (now.innerHTML === next.innerHTML) return;
    if (isInUse(now)) { document.getElementById("changed").hidden = false; return; }
    const focus = document.activeElement && document.activeElement.id;
    now.replaceWith(next);
    if (focus && document.getElementById(focus)) document.getElementById(focus).focus();
    document.title = fresh.title;
    say("The page was brought up to date.");
  };
  const whenBusy = () => { if (document.getElementById("busy")) setTimeout(() => update().then(whenBusy), 1500); };

  whenBusy();
  if (live && known) {
    const source = new EventSource("/live");
    source.onmessage = event => {
      document.getElementById("gone").hidden = true;
      if (event.data !== known) { known = event.data; update(); }
      root.dataset.ready = "";
    };
    source.onerror = () => { document.getElementById("gone").hidden = false; };
    addEventListener("pagehide", () => source.close());
  }
})();
