"use strict";
// A passkey made on this page, and one that signs the review. The server checks everything that is said here.
(() => {
const word = location.pathname === "/passkey" ? new URLSearchParams(location.hash.slice(1)).get("code") : null;
const DENIED = "Your device did not sign: it was cancelled, or it could not tell that it was you. Try again";
const KNOWN = "This device holds a passkey of this memory already. Use that one, or another device";
let isBusy = false;

function tell(text) {
  const line = document.getElementById("passkey-said");
  if (line) line.textContent = text;
}

async function post(path, body) {
  const headers = {"Content-Type": "application/json", "Oneiros-Page": sessionStorage.getItem("oneiros") || ""};
  const answer = await fetch("/page/passkey/" + path, {method: "POST", headers, body: JSON.stringify(body)});
  const told = await answer.json();
  if (!answer.ok) throw new Error([told.error?.what ?? "The daemon answered " + answer.status, told.error?.where, told.error?.remedy].filter(Boolean).join(". "));
  return told;
}

async function make() {
  const options = await post("options", {word});
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  tell("Your device asks for you…");
  const made = await navigator.credentials.create({publicKey});
  const {name, fingerprint} = await post("register", {word, answer: made.toJSON()});
  document.getElementById("passkey-open").hidden = true;
  tell(`Made ${name}: ${fingerprint}. Your terminal shows the same, and asks whether to take it up.`);
}

async function sign() {
  const choices = [...document.querySelectorAll("[data-choice]")].map(one => JSON.parse(one.dataset.choice));
  tell("1 of 3: what you chose is compared with your memory…");
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(await post("ask", {choices}));
  tell("2 of 3: your device asks for you…");
  const signed = await navigator.credentials.get({publicKey});
  tell(`3 of 3: ${choices.length === 1 ? "one decision is" : choices.length + " decisions are"} written…`);
  const {decided} = await post("sign", {answer: signed.toJSON()});
  await htmx.ajax("GET", "/page/review?decided=" + decided.map(one => one.hunk), {target: "#view", swap: "innerHTML"});
}

addEventListener("click", async event => {
  const button = event.target.closest("[data-passkey]");
  if (!button || isBusy) return;
  isBusy = button.disabled = true;
  await (button.dataset.passkey === "make" ? make : sign)().catch(error =>
    tell(error.name === "NotAllowedError" ? DENIED : error.name === "InvalidStateError" ? KNOWN : error.message));
  isBusy = button.disabled = false;
});
addEventListener("htmx:afterSwap", () => {
  const open = document.getElementById("passkey-open"), closed = document.getElementById("passkey-closed");
  if (open && word) { open.hidden = false; closed.hidden = true; }
});
})();
