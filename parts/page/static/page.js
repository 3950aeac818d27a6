"use strict";
// The page's own script: the secret and its header, addresses, keys. What is shown comes from the server.
(() => {
const view = document.getElementById("view"), said = document.getElementById("said");
const trouble = document.getElementById("trouble"), pulse = document.getElementById("pulse");
const nonce = document.currentScript.nonce, tabs = new BroadcastChannel("oneiros");
const LOST = "This page has expired, or its daemon has ended or was started anew. A new link: oneiros open";
const CLOSED = "This page opens with a link from your terminal: oneiros open";
let secret = sessionStorage.getItem("oneiros") || "";

// -- access: a one-time code from the terminal, a secret for this origin, which tabs of it share; never a cookie

function hold(found) { secret = found; sessionStorage.setItem("oneiros", found); trouble.hidden = true; }
function alarm(text) { trouble.textContent = text; trouble.hidden = false; }

tabs.onmessage = ({data}) => {
  if (data === "ask" && secret) tabs.postMessage({secret});
  else if (data.secret && !secret) { hold(data.secret); go(here(), false); }
};

async function begin() {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  history.replaceState(null, "", location.pathname + location.search);
  if (code) {
    const body = JSON.stringify({code}), headers = {"Content-Type": "application/json"};
    const answer = await fetch("/page/open", {method: "POST", headers, body}).catch(() => null);
    const told = answer && await answer.json();
    if (answer && answer.ok) hold(told.secret);
    else if (!secret) return alarm(told ? told.error.what + ". " + told.error.remedy : LOST);
  }
  if (secret) return go(here(), false);
  tabs.postMessage("ask");
  setTimeout(() => { if (!secret) { alarm(CLOSED); view.textContent = ""; } }, 300);
}

// -- addresses: that of the page is that of the fragment, below /page

function here() { return location.pathname === "/" ? "/overview" : location.pathname + location.search; }

async function go(address, keep = true) {
  if (keep && address !== here()) history.pushState(null, "", address);
  if (keep) scrollTo(0, 0);
  view.setAttribute("aria-busy", "true");
  await htmx.ajax("GET", "/page" + address, {target: view, swap: "innerHTML"}).catch(() => {});
  view.removeAttribute("aria-busy");
}

addEventListener("popstate", () => go(here(), false));
addEventListener("click", event => {
  const link = event.target.closest("a[href^='/']");
  if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey || link.target) return;
  event.preventDefault();
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
  const status = detail.xhr.status;
  if (status === 401) return alarm(secret ? LOST : CLOSED);
  let told = {what: "The daemon answered " + status, remedy: ""};
  try { told = JSON.parse(detail.xhr.responseText).error; } catch { /* no JSON: an error of ours, named by its status */ }
  const text = told.what + ". " + (told.remedy || "");
  if (detail.target.id === "view" && detail.requestConfig.verb === "get") {
    const line = document.createElement("p");
    line.className = "warning"; line.textContent = text;
    detail.target.replaceChildren(line);
  } else alarm(text);
});
addEventListener("htmx:afterRequest", ({detail}) => { if (detail.successful) trouble.hidden = true; });
addEventListener("htmx:afterSwap", ({detail}) => {
  for (const plot of detail.target.querySelectorAll("[data-plot]")) draw(plot);
  if (detail.target !== view) return;
  const head = view.querySelector("h1");
  if (!head) return;
  document.title = head.dataset.title + " · oneiros";
  if (head.dataset.address) history.replaceState(null, "", head.dataset.address);
  for (const link of document.querySelectorAll("header nav a")) {
    if (link.dataset.view !== head.dataset.view) link.removeAttribute("aria-current");
    else { link.setAttribute("aria-current", "page"); link.scrollIntoView({block: "nearest", inline: "center"}); }
  }
  said.textContent = view.querySelector("[data-said]")?.dataset.said || head.dataset.title;
  const meant = view.querySelector("[data-here]");
  (view.querySelector("[data-focus]") || meant || head).focus({preventScroll: true});
  if (meant) meant.scrollIntoView({block: "center"});
  if (matchMedia("(max-width: 760px)").matches) view.querySelector(".queue")?.removeAttribute("open");
});

setInterval(() => {
  if (secret && !document.hidden) htmx.ajax("GET", "/page/pulse", {target: pulse, swap: "innerHTML"}).catch(() => {});
}, 5000);

// -- what a click opens, copies or draws

addEventListener("click", async ({target}) => {
  const copied = target.closest("[data-copy]"), opens = target.closest("[data-opens]"), closes = target.closest("[data-closes]");
  if (copied) {
    await navigator.clipboard.writeText(copied.dataset.copy);
    copied.textContent = said.textContent = "Copied";
    setTimeout(() => { copied.textContent = "Copy"; }, 1500);
  }
  if (opens) for (const form of view.querySelectorAll(".reply")) {
    form.hidden = form.id !== opens.dataset.opens;
    if (!form.hidden) form.querySelector("textarea, input:not([type=hidden])").focus();
  }
  if (closes) { closes.closest(".reply").hidden = true; view.querySelector(".actions button").focus(); }
});

addEventListener("change", ({target}) => { if (target.matches("[data-sends]")) target.form.requestSubmit(); });

async function draw(plot) {
  if (!window.uPlot) await new Promise((loaded, failed) => {
    const style = Object.assign(document.createElement("link"), {rel: "stylesheet", href: "/static/uPlot.min.css", nonce});
    const script = Object.assign(document.createElement("script"), {src: "/static/uPlot.iife.min.js", nonce, onload: loaded, onerror: failed});
    document.head.append(style, script);
  });
  const {data, series, steps} = JSON.parse(plot.dataset.plot), colour = name => getComputedStyle(plot).getPropertyValue(name);
  const axis = {stroke: colour("--quiet"), grid: {stroke: colour("--edge"), width: 1}, ticks: {show: false}};
  const lines = series.map((label, at) => ({label, stroke: colour("--curve-" + at), width: 2, points: {show: data[0].length < 3}}));
  const size = () => ({width: plot.clientWidth, height: 180});
  const drawn = new uPlot({...size(), scales: {x: {time: !steps}}, series: [{}, ...lines], axes: [axis, {...axis, size: 44}], cursor: {y: false}, legend: {live: false}}, data, plot);
  new ResizeObserver(() => drawn.setSize(size())).observe(plot);
}

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
        if (line.name) {
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

// -- keys

const PLACES = {o: "overview", s: "search", t: "topics", e: "sessions", r: "review"};
let led = false;

function step(by) {
  const rows = [...view.querySelectorAll("[data-row]")], at = rows.indexOf(document.activeElement);
  const next = rows[Math.min(rows.length - 1, Math.max(0, at + by))];
  if (next) { next.focus({preventScroll: true}); next.scrollIntoView({block: "nearest"}); }
}

addEventListener("keydown", event => {
  const form = event.target.closest(".reply");
  if (form && event.key === "Escape") form.querySelector("[data-closes]").click();
  if (form && event.key === "Enter" && event.ctrlKey) form.requestSubmit();
  if (event.target.closest("input, textarea, select, dialog") || event.metaKey || event.ctrlKey || event.altKey) return;
  if (event.key === "Enter" && event.target.matches("li[data-row]")) return event.target.querySelector("a").click();
  const key = event.key, place = led && PLACES[key], meant = view.querySelector(`[data-key="${CSS.escape(key)}"]`);
  led = key === "g";
  if (place) go("/" + place);
  else if (key === "?") document.getElementById("keys").showModal();
  else if (key === "/") { const box = view.querySelector("#q"); box ? box.select() : go("/search"); }
  else if (meant && !meant.disabled) meant.click();
  else if (key === "j" || key === "k") step(key === "j" ? 1 : -1);
  else return;
  event.preventDefault();
});

addEventListener("hashchange", () => { if (location.hash.startsWith("#code=")) begin(); });
begin();
})();
