// What all pages share: elements, packed data, numbers, and the switch between light and dark. All data is hostile, so
// text enters a page by text nodes only.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const byId = (id) => document.getElementById(id);

/** Make an element; texts become text nodes, and null children are left out. */
function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === false) continue;
    if (typeof value === "function") node.addEventListener(name, value);
    else node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

/** Decode base64 of compressed JSON. */
async function decode(packed) {
  const characters = atob(packed);
  const bytes = new Uint8Array(characters.length);
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = characters.charCodeAt(at);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

// --- numbers ---

const unknown = (value) => value === null || value === undefined;
const usd = (value) => unknown(value) ? "?" : `$${value.toFixed(value >= 1 || value === 0 ? 2 : 4)}`;
const seconds = (value) => unknown(value) ? "-" : value < 100 ? `${value.toFixed(2)} s` : `${(value / 60).toFixed(1)} min`;
const count = (value) => unknown(value) ? "?" : String(value).replace(/\B(?=(\d{3})+$)/g, ",");
const counted = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
const fraction = (value) => unknown(value) ? "-" : value.toFixed(2);

// --- theme ---

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function remember(theme) {
  try {
    if (theme) localStorage.setItem("scylla-theme", theme);
    return localStorage.getItem("scylla-theme");
  } catch { return null; } // a browser may refuse storage to files
}

function setUpTheme() {
  const button = byId("theme");
  const show = () => button.setAttribute("aria-pressed", String(isDark()));
  const stored = remember();
  if (stored === "dark" || stored === "light") document.documentElement.dataset.theme = stored;
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    remember(document.documentElement.dataset.theme);
    show();
  });
  show();
}
