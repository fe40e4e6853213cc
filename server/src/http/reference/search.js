/*
 * The search of the reference. It is part of the page, loads nothing, and finds its index in the page, so it also works
 * in a saved copy. It is a plain script, because the page has no other files from which it could import.
 */
"use strict";

const FIELD = 6;
const PART_OF_FIELD = 4;

/** The entries that match every word of the query, the best first. */
function findEntries(index, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  return index
    .map((entry) => ({
      entry,
      scores: words.map((word) => scoreOf(entry, word)),
      fields: matchingFields(entry, words),
    }))
    .filter(({ scores }) => !scores.includes(0))
    .sort((one, other) => sum(other.scores) - sum(one.scores));
}

/** 0: the entry does not match the word. Titles count more than paths, paths more than fields, and these more than text. */
function scoreOf({ title, calls, fields, words }, word) {
  if (wordsOf(title).includes(word)) return 12;
  if (wordsOf(title).some((each) => each.startsWith(word))) return 10;
  if (calls.some((call) => call.toLowerCase().includes(word))) return 8;
  if (fields.some((field) => field.toLowerCase() === word)) return FIELD;
  if (fields.some((field) => field.toLowerCase().includes(word))) return PART_OF_FIELD;
  const parts = wordsOf(word);
  const isInText = parts.length > 0 && parts.every((part) => ` ${words}`.includes(` ${part}`));
  return isInText ? 1 : 0;
}

/** Fields are shown only for words that neither the title nor a path has. */
function matchingFields(entry, words) {
  const inFields = words.filter((word) => [FIELD, PART_OF_FIELD].includes(scoreOf(entry, word)));
  return entry.fields.filter((field) => inFields.some((word) => field.toLowerCase().includes(word)));
}

/** The words of a text; `cluster:update` is one. The index is made in the same way. */
function wordsOf(text) {
  return text.toLowerCase().match(/[a-z0-9_]+(:[a-z0-9_]+)*/g) ?? [];
}

function sum(numbers) {
  return numbers.reduce((total, each) => total + each, 0);
}

/** Combinations of keys belong to the browser, and the keys of a composition to the input method. */
function isPlainKey({ ctrlKey, metaKey, altKey, isComposing }) {
  return !ctrlKey && !metaKey && !altKey && !isComposing;
}

const MAX_SHOWN_FIELDS = 4;

function startSearch() {
  const [area, box, state, list, contents, data] = ["search", "query", "found", "results", "contents", "index"].map(
    (id) => document.getElementById(id),
  );
  const index = JSON.parse(data.textContent);
  const links = () => [...list.querySelectorAll("a")];

  function element(name, ...children) {
    const made = document.createElement(name);
    made.append(...children);
    return made;
  }

  function result({ entry, fields }) {
    const link = element("a", entry.title);
    link.href = entry.href;
    const shown = fields.slice(0, MAX_SHOWN_FIELDS).join(", ");
    const notes = [entry.calls[0], shown].filter(Boolean).map((text) => element("small", text));
    return element("li", link, ...notes);
  }

  function show() {
    const isSearching = box.value.trim() !== "";
    const found = findEntries(index, box.value);
    list.replaceChildren(...found.map(result));
    list.hidden = !isSearching;
    contents.hidden = isSearching;
    state.textContent = isSearching ? `${found.length || "nothing"} found` : "";
  }

  function clear() {
    box.value = "";
    show();
  }

  function moveFocus(step) {
    const stops = [box, ...links()];
    stops[stops.indexOf(document.activeElement) + step]?.focus();
  }

  box.addEventListener("input", show);
  list.addEventListener("click", ({ target }) => {
    // On a narrow screen the results would cover the operation.
    if (target.closest("a") !== null && matchMedia("(max-width: 50rem)").matches) clear();
  });
  area.addEventListener("keydown", (event) => {
    const actions = {
      ArrowDown: () => moveFocus(1),
      ArrowUp: () => moveFocus(-1),
      Enter: () => (event.target === box ? links()[0] : event.target)?.click(),
      Escape: () => {
        clear();
        box.focus();
      },
    };
    const action = actions[event.key];
    if (action === undefined || event.shiftKey || !isPlainKey(event)) return;
    event.preventDefault();
    action();
  });
  document.addEventListener("keydown", (event) => {
    // Some keyboards need the shift key for it.
    if (event.key !== "/" || !isPlainKey(event) || event.target === box) return;
    event.preventDefault();
    box.focus();
    box.select();
  });
  area.hidden = false;
  // A browser can restore the query of a page that was left.
  show();
}

if (typeof document !== "undefined") startSearch();
