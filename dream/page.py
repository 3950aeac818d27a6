"""The page on which proposals are decided in a browser: one file, nothing from the network, all text set as text."""

PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline';"
    " connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>oneiros: proposals</title>
<style>
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem }
  article { border: 1px solid #888; border-radius: 6px; padding: 0 1rem 1rem; margin: 1rem 0 }
  blockquote, pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .5rem 0; padding-left: 1rem }
  blockquote { border-left: 3px solid #888 } del { color: #a00 } ins { color: #070 }
</style>
<h1>Proposals</h1>
<p id="said">Opening.</p>
<main></main>
<script>
const said = document.getElementById("said"), main = document.querySelector("main");
function make(tag, text, parent) {
  const made = document.createElement(tag);
  made.textContent = text;
  parent.append(made);
  return made;
}
async function ask(method, path, body) {
  const headers = {"Content-Type": "application/json", "Oneiros-Page": sessionStorage.getItem("secret") || ""};
  const answer = await fetch(path, {method, headers, body: body && JSON.stringify(body)});
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error ? found.error.what + " " + (found.error.remedy || "") : answer.status);
  return found;
}
function show(hunk) {
  const box = make("article", "", main);
  make("h2", hunk.target + ": " + hunk.kind + ", " + hunk.relation, box);
  if (hunk.replaces) make("del", hunk.replaces, make("pre", "", box));
  make("ins", hunk.text, make("pre", "", box));
  for (const quote of hunk.quotes) {
    const where = ", session " + quote.session + ", entry " + quote.entry;
    make("div", quote.role + ", " + (quote.time || "undated") + where, box);
    make("blockquote", quote.text, box);
  }
  make("p", "confidence " + hunk.confidence.toFixed(2) + ": " + hunk.why.join("; "), box);
  for (const warning of hunk.warnings) make("strong", "Careful: " + warning, box);
  const decide = (label, path, body) => {
    make("button", label, box).onclick = async () => {
      try {
        await ask("POST", "/api/hunks/" + hunk.id + "/" + path, body());
        box.remove();
        said.textContent = hunk.id + ": " + path;
      } catch (error) { said.textContent = error.message }
    };
    box.append(" ");
  };
  decide("Accept", "accept", () => ({}));
  decide("Reword and accept", "accept", () => ({text: prompt("The statement:", hunk.text) || hunk.text}));
  decide("Reject", "reject", () => ({reason: prompt("Why not?") || ""}));
}
(async () => {
  const code = location.hash.slice(1);
  history.replaceState(null, "", "/page");
  try {
    if (code) sessionStorage.setItem("secret", (await ask("POST", "/page/open", {code})).secret);
    const {hunks} = await ask("GET", "/api/hunks");
    said.textContent = hunks.length ? hunks.length + " open" : "Nothing is open.";
    hunks.forEach(show);
  } catch (error) { said.textContent = error.message }
})();
</script>
</html>
"""
