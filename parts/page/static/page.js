"use strict";
// The page's own script: the secret and its header, addresses, keys. What is shown comes from the server.
(() => {
const view = document.getElementById("view"), said = document.getElementById("said");
const trouble = document.getElementById("trouble"), pulse = document.getElementById("pulse");
const finder = document.getElementById("finder"), others = document.querySelector("header .others");
const tabs = new BroadcastChannel("oneiros");
const LOST = "This page has expired, or its daemon has ended or was started anew. A new link: oneiros open";
const CLOSED = "This page opens with a link from your terminal: oneiros open";
let secret = sessionStorage.getItem("oneiros") || "", wasOpen = !!secret;

// -- access: a one-time code from the terminal, a secret for this origin, which tabs of it share; never a cookie

function hold(found) { secret = found; wasOpen = true; sessionStorage.setItem("oneiros", found); trouble.hidden = true; }
function isShut(status) { return status === 401 || status === 403; }
function forget() { secret = ""; sessionStorage.removeItem("oneiros"); }
function alarm(text) { trouble.textContent = text; trouble.hidden = false; }

tabs.onmessage = ({data}) => {
  if (data === "ask" && secret) tabs.postMessage({secret});
  else if (data.secret && !secret) { hold(data.secret); updateStatus(); open(); }
};

async function begin() {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  history.replaceState(history.state, "", location.pathname + location.search);
  if (code) {
    const body = JSON.stringify({code}), headers = {"Content-Type": "application/json"};
    const answer = await fetch("/page/open", {method: "POST", headers, body}).catch(() => null);
    const told = answer && await answer.json();
    if (answer && answer.ok) hold(told.secret);
    else if (!secret) return fail("This link opens nothing", told ? told.error.what + ". " + told.error.remedy : LOST);
  }
  if (secret) { updateStatus(); return open(); }
  tabs.postMessage("ask");
  setTimeout(() => { if (!secret) fail("This page is closed", CLOSED); }, 300);
}

// -- addresses: that of the page is that of the fragment, below /page. What a reload or Back brings back of a place
// is kept with its entry of the history: how far one had scrolled, how many rows had come, which one was chosen.

let asked = null, shown = "";
history.scrollRestoration = "manual";

function here() { return location.pathname === "/" ? "/today" : location.pathname + location.search; }

function keep() {
  if (asked) return;  // what stands there is of the place before
  const row = document.activeElement.closest?.("[data-row]") || null, rows = [...view.querySelectorAll("[data-row]")];
  history.replaceState({y: scrollY, rows: rows.length, at: rows.indexOf(row)}, "");
}

function go(address) {
  keep();
  if (address !== here()) history.pushState(null, "", address);
  return open();
}

async function open() {
  asked?.abort();
  leaving?.abort();
  const own = asked = new AbortController(), place = history.state;
  const address = here(), rows = place?.rows ? (address.includes("?") ? "&" : "?") + "rows=" + place.rows : "";
  view.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch("/page" + address + rows, {headers: {"Oneiros-Page": secret}, signal: own.signal});
    const text = await answer.text();
    if (own !== asked) return;
    if (answer.ok) { trouble.hidden = true; swap(text, place); } else refuse(answer.status, text);
  } catch {
    if (own === asked) fail("The daemon does not answer", LOST);
  }
  if (own !== asked) return;
  asked = null;
  view.removeAttribute("aria-busy");
}

function swap(text, place) {
  label = findLabel();
  htmx.swap(view, text, {swapStyle: "innerHTML", swapDelay: 0, settleDelay: 0}, {eventInfo: {target: view}});
  const row = place?.at >= 0 && view.querySelectorAll("[data-row]")[place.at];
  show();
  if (row) row.focus({preventScroll: true});
  if (place || !view.querySelector("[data-here]")) scrollTo(0, place?.y || 0);
}

function tell(status, text) {
  try {
    const {what, remedy} = JSON.parse(text).error;
    return [what, remedy].filter(Boolean).join(". ") + ".";
  } catch { return "The daemon answered " + status + "."; }  // no JSON: an error of ours, named by its status
}

function refuse(status, text) {
  if (isShut(status)) {
    forget();
    fail(wasOpen ? "This page has expired" : "This page is closed", wasOpen ? LOST : CLOSED);
  } else fail(status === 404 ? "This is not there" : "This could not be shown", tell(status, text));
}

function fail(heading, text) {
  const failed = document.getElementById("failed").content.cloneNode(true), head = failed.querySelector("h1");
  head.textContent = head.dataset.title = heading;
  failed.querySelector("[data-what]").textContent = text;
  view.replaceChildren(failed);
  show();
}

addEventListener("popstate", () => { if (here() !== shown) open(); });  // a footnote is on the same page
addEventListener("pagehide", keep);
let kept = 0;
addEventListener("scroll", () => { clearTimeout(kept); kept = setTimeout(keep, 150); }, {passive: true});
addEventListener("click", event => {
  if (event.target.closest("[data-again]")) return open();
  const link = event.target.closest("a[href^='/']");
  if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey || link.getAttribute("target")) return;
  event.preventDefault();
  finder.close();
  go(link.getAttribute("href"));
});
addEventListener("submit", event => {
  if (!event.target.matches("form[data-go]")) return;
  event.preventDefault();
  const given = [...new FormData(event.target)].filter(([, value]) => value);
  go(event.target.dataset.go + "?" + new URLSearchParams(given));
});

// -- fragments

htmx.defineExtension("as-json", {
  encodeParameters: (request, parameters) => JSON.stringify(Object.fromEntries(parameters)),
});
addEventListener("htmx:configRequest", ({detail}) => {
  detail.headers["Oneiros-Page"] = secret;
  if (detail.verb !== "get") detail.headers["Content-Type"] = "application/json";
});
addEventListener("htmx:sendError", () => alarm(LOST));
addEventListener("htmx:responseError", ({detail}) => {
  const {status, responseText} = detail.xhr;
  if (isShut(status)) forget();
  alarm(isShut(status) ? LOST : tell(status, responseText));
});
addEventListener("htmx:afterRequest", ({detail}) => {
  if (!detail.successful) return;
  if (detail.target === view || detail.requestConfig.verb !== "get") trouble.hidden = true;  // what asks by itself ends no alarm
  if (detail.elt.matches("[data-refreshes]")) { keep(); open(); updateStatus(); }
});
addEventListener("htmx:beforeSwap", ({detail}) => {
  if (detail.target !== view || !detail.shouldSwap) return;  // a refusal is told beside the view, which stays
  label = findLabel();
  if (detail.requestConfig.elt.matches("[data-onward]")) { keep(); history.pushState(null, "", here()); }  // Back comes here again
});
addEventListener("htmx:afterSwap", ({detail}) => {
  if (detail.target !== view || !detail.xhr) return;
  const before = here();
  show();
  if (here() !== before && !view.querySelector("[data-here]")) scrollTo(0, 0);
});

let label = "";  // of the control that has the focus while the view is swapped below it

function findLabel() {
  const control = document.activeElement;
  return view.contains(control) && control.matches("input, select, button") ? control.getAttribute("aria-label") || "" : "";
}

function show() {
  const head = view.querySelector("h1");
  if (!head) return;
  document.title = head.dataset.title + " · oneiros";
  if (head.dataset.address) history.replaceState(history.state, "", head.dataset.address);
  shown = here();
  for (const link of document.querySelectorAll("header nav a")) {
    if (link.dataset.view === head.dataset.view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  others.open = false;
  said.textContent = view.querySelector("[data-said]")?.dataset.said || head.dataset.title;
  const meant = view.querySelector("[data-here]");
  const held = label && view.querySelector(`[aria-label="${CSS.escape(label)}"]`);
  label = "";
  (view.querySelector("[data-focus]") || held || meant || head).focus({preventScroll: true});
  if (meant) meant.scrollIntoView({block: "center"});
  place(view.querySelector(".hit"));
  if (matchMedia("(max-width: 760px)").matches) view.querySelector(".queue")?.removeAttribute("open");
}

// -- how it stands: a dot with its sentence, and what waits

async function updateStatus() {
  if (!secret || document.hidden) return;
  const answer = await fetch("/page/pulse", {headers: {"Oneiros-Page": secret}}).catch(() => null);
  if (!answer?.ok) {
    const dot = pulse.querySelector(".dot");
    dot.className = "dot bad";
    dot.textContent = !answer ? "The daemon does not answer" : isShut(answer.status) ? "This page has expired" : "The daemon answered " + answer.status;
    updateStatus.last = "";
    return;
  }
  const text = await answer.text();
  if (text === updateStatus.last) return;  // a reader of screens hears what changed
  pulse.innerHTML = updateStatus.last = text;
  const {waiting} = pulse.querySelector("[data-waiting]").dataset;
  for (const count of document.querySelectorAll(".count")) { count.textContent = waiting; count.hidden = waiting === "0"; }
}
setInterval(updateStatus, 5000);

// -- to find anything: what is found comes while one types, and the first of it is chosen

const box = finder.querySelector("input"), found = document.getElementById("found");
let typing = null, answered = "", pause = 0;

function seek() {
  if (!finder.open) finder.showModal();
  box.select();
  offer();
}

async function offer() {
  typing?.abort();
  const own = typing = new AbortController(), headers = {"Oneiros-Page": secret}, q = box.value;
  const answer = await fetch("/page/find?" + new URLSearchParams({q}), {headers, signal: own.signal}).catch(() => null);
  const text = answer?.ok && await answer.text();
  if (own !== typing) return;
  answered = q;
  if (text) found.innerHTML = text; else found.textContent = LOST;
  choose(found.querySelector("a"));
}

function choose(one) {
  found.querySelector("[aria-selected=true]")?.setAttribute("aria-selected", "false");
  box.setAttribute("aria-activedescendant", one?.id || "");
  one?.setAttribute("aria-selected", "true");
  one?.scrollIntoView({block: "nearest"});
}

box.addEventListener("input", () => { clearTimeout(pause); pause = setTimeout(offer, 120); });
finder.addEventListener("keydown", event => {
  const rows = [...found.querySelectorAll("a")], at = rows.findIndex(one => one.ariaSelected === "true");
  const by = {ArrowDown: 1, ArrowUp: -1}[event.key];
  if (by) choose(rows[(at + by + rows.length) % rows.length]);
  else if (event.key === "Enter") pick(rows[at]);
  else return;
  event.preventDefault();
});
finder.addEventListener("click", event => { if (event.target === finder) finder.close(); });

function pick(row) {
  const asks = box.value.trim() && answered !== box.value;  // faster than what is found: a question
  finder.close();
  if (asks || row) go(asks ? "/search?" + new URLSearchParams({q: box.value.trim()}) : row.getAttribute("href"));
}
addEventListener("click", event => { if (event.target.closest("[data-finds]")) seek(); });

// -- what a click opens or copies

addEventListener("click", async ({target}) => {
  const copied = target.closest("[data-copy]"), opens = target.closest("[data-opens]"), closes = target.closest("[data-closes]");
  if (copied) {
    await navigator.clipboard.writeText(copied.dataset.copy);
    const name = copied.dataset.name ??= copied.textContent;
    copied.textContent = said.textContent = "Copied";
    setTimeout(() => { copied.textContent = name; }, 1500);
  }
  if (opens) for (const form of view.querySelectorAll(".reply")) {
    form.hidden = form.id !== opens.dataset.opens;
    if (!form.hidden) form.querySelector("textarea, input:not([type=hidden])")?.focus();
  }
  if (closes) { closes.closest(".reply").hidden = true; (closes.closest(".row") || view.querySelector(".actions button"))?.focus(); }
});

addEventListener("change", ({target}) => { if (target.matches("[data-sends]")) target.form.requestSubmit(); });

// -- an answer that comes piece by piece: lines of JSON, whose html the server has rendered

let leaving = null;
addEventListener("submit", async event => {
  if (!event.target.matches("form[data-streams]")) return;
  event.preventDefault();
  const form = event.target, talk = view.querySelector("#talk"), stop = view.querySelector("[data-leaves]");
  if (leaving) return;
  const given = Object.fromEntries(new FormData(form)), turn = document.createElement("article");
  if (given.anyway) given.anyway = true;
  const place = form.closest("article");
  if (place) place.replaceWith(turn); else talk.append(turn);
  if (form.matches(".chat")) form.reset();
  const own = leaving = new AbortController(), ended = () => { if (leaving === own) { leaving = null; stop.hidden = true; } };
  stop.hidden = false;
  try {
    const headers = {"Content-Type": "application/json", "Oneiros-Page": secret}, body = JSON.stringify(given);
    const answer = await fetch("/page" + form.dataset.streams, {method: "POST", headers, body, signal: own.signal});
    if (!answer.ok) throw new Error((await answer.json()).error.what);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = "", part = await reader.read(); !part.done; part = await reader.read()) {
      const lines = (rest + part.value).split("\n");
      rest = lines.pop();
      for (const line of lines.map(one => JSON.parse(one))) {
        if (line.html) turn.innerHTML = line.html;
        if (turn.querySelector("form[data-streams]")) ended();  // a choice: nothing more comes before it
        if (line.text) turn.querySelector("[data-answer]").append(line.text);
        if (line.name && turn.isConnected) {
          view.querySelector("form.chat [name=name]").value = line.name;
          if (here() === "/chat") history.replaceState(null, "", "/chat/" + line.name);
        }
      }
    }
  } catch (error) {
    if (own.signal.aborted) turn.append("Not whole: you left; what came is kept.");
    else alarm(error.message || LOST);
  }
  turn.querySelector("[aria-busy]")?.removeAttribute("aria-busy");
  ended();
});
addEventListener("click", ({target}) => { if (target.closest("[data-leaves]") && leaving) leaving.abort(); });
addEventListener("keydown", event => {
  if (!event.target.matches("form.chat textarea") || event.key !== "Enter" || event.shiftKey || event.ctrlKey || event.isComposing) return;
  event.preventDefault();
  event.target.form.requestSubmit();
});

// -- beside the hits: the passage of the one that is chosen, in its place

function place(hit) {
  const beside = document.getElementById("place");
  if (hit && beside?.checkVisibility() && !hit.matches(".placed")) {
    view.querySelector(".placed")?.classList.remove("placed");
    hit.classList.add("placed");
    htmx.trigger(hit, "place");
  }
}
addEventListener("focusin", ({target}) => place(target.closest(".hit")));
addEventListener("click", ({target}) => place(target.closest(".hit")));

// -- keys

const PLACES = {h: "today", s: "search", t: "topics", e: "sessions", r: "review", c: "chat"};
let led = false;

function step(by) {
  const rows = [...view.querySelectorAll("[data-row]")], at = rows.indexOf(document.activeElement);
  const next = rows[Math.min(rows.length - 1, Math.max(0, at + by))];
  if (next) { next.focus({preventScroll: true}); next.scrollIntoView({block: "nearest"}); }
}

addEventListener("keydown", event => {
  if (event.key === "k" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); return seek(); }
  const form = event.target.closest(".reply");
  if (form && event.key === "Escape") form.querySelector("[data-closes]")?.click();
  if (form && event.key === "Enter" && event.ctrlKey) form.requestSubmit();
  if (event.target.closest("input:not([type=range], [type=checkbox]), textarea, select, dialog") || event.metaKey || event.ctrlKey || event.altKey) return;
  if (event.key === "Enter" && event.target.matches("li[data-row]")) return event.target.querySelector("a").click();
  const key = event.key, place = led && PLACES[key], row = event.target.closest(".row");
  const meant = row?.querySelector(`[data-row-key="${CSS.escape(key)}"]`) || view.querySelector(`[data-key="${CSS.escape(key)}"]`);
  led = key === "g";
  if (place) go("/" + place);
  else if (key === "?") document.getElementById("keys").showModal();
  else if (key === "/") seek();
  else if (meant && !meant.disabled) { if (!event.repeat || meant.matches("a")) meant.click(); }
  else if (key === "j" || key === "k") step(key === "j" ? 1 : -1);
  else return;
  event.preventDefault();
});

addEventListener("hashchange", () => { if (location.hash.startsWith("#code=")) begin(); });
begin();
})();
