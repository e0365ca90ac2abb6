// Keeps what is so on the operator's page fresh. Forms are left alone: nobody loses what they type.

const EVERY_MS = 2000;

const now = document.getElementById("now");
const freshness = document.getElementById("freshness");
let shown = "";

/** Put the new content in the place of the old, if it is another. */
function show(text) {
  if (text === shown) return;
  // parsed as a document of its own, in which nothing runs; names in it are escaped by the server
  const parsed = new DOMParser().parseFromString(text, "text/html");
  const scrolled = [...now.querySelectorAll(".scroll")].map((part) => [part.scrollLeft, part.scrollTop]);
  now.replaceChildren(...parsed.body.childNodes);
  now.querySelectorAll(".scroll").forEach((part, at) => {
    [part.scrollLeft, part.scrollTop] = scrolled[at] ?? [0, 0];
  });
  shown = text;
}

/** Whether somebody is in the middle of it, by keyboard or with something marked. */
function isInUse() {
  const selection = document.getSelection();
  const isMarked = selection !== null && !selection.isCollapsed && now.contains(selection.anchorNode);
  return isMarked || now.contains(document.activeElement);
}

function tell(text) {
  if (freshness.textContent !== text) freshness.textContent = text;
}

async function refresh() {
  if (document.hidden) return true;
  if (isInUse()) {
    tell("Nothing changes while you are in these tables.");
    return true;
  }
  try {
    const answer = await fetch(now.dataset.url, { cache: "no-store" });
    if (answer.status === 204) {
      tell("You are signed out. Load the page again to sign in.");
      return false;
    }
    if (!answer.ok) throw new Error(answer.statusText);
    show(await answer.text());
    tell("This page stays up to date by itself.");
  } catch {
    tell("The server does not answer. Trying again.");
  }
  return true;
}

async function loop() {
  if (await refresh()) setTimeout(loop, EVERY_MS);
}

loop();
