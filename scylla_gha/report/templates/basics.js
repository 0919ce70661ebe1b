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
const seconds = (value) => unknown(value) ? "-" : value < 100 ? `${value.toFixed(2)} s` : `${(value / 60).toFixed(1)} min`;
const count = (value) => unknown(value) ? "?" : String(value).replace(/\B(?=(\d{3})+$)/g, ",");
const counted = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
const LEAST_DOLLARS = 1e-6;

/** The rule of `dollars` in scylla_gha/counting.py: two digits, or two significant ones below a cent. */
function dollars(value) {
  if (unknown(value)) return "?";
  const size = Math.abs(value);
  if (size > 0 && size < LEAST_DOLLARS) return `<$${LEAST_DOLLARS.toFixed(6)}`;
  const exponent = Number(size.toExponential(1).split("e")[1]);
  const [whole, digits] = size.toFixed(exponent >= -2 ? 2 : 1 - exponent).split(".");
  return `${value < 0 ? "-" : ""}$${count(whole)}.${digits}`;
}

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
