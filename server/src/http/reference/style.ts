/**
 * The style of the reference and the guides. Words in tables are never broken: a table that is too wide scrolls in a
 * box of its own, and on a narrow screen each row of the reference becomes a block. Curl lines are wrapped for reading,
 * and one click selects a whole line for copying. On a narrow screen the search stays at the top.
 */
import { createHash } from "node:crypto";
import { Html } from "../html.ts";

const STYLE = `
:root { color-scheme: light dark; }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; color: #1d2229; background: #fff; display: flex; }
[hidden] { display: none !important; }
.side { width: 19rem; flex: none; height: 100vh; overflow: auto; position: sticky; top: 0; box-sizing: border-box; }
.side, #search { background: #f4f6f8; }
nav { padding: 0 1rem 1rem; }
#search { display: block; position: sticky; top: 0; padding: 1rem 1rem 0.5rem; }
#query { width: 100%; box-sizing: border-box; font: inherit; padding: 0.25rem 0.5rem; color: inherit; background: #fff; border: 1px solid #8a929c; border-radius: 3px; }
#found { margin: 0.25rem 0; font-size: 0.85rem; min-height: 1.25rem; }
#results { margin: 0; padding: 0; list-style: none; }
#results li { padding: 0.25rem 0; }
#results small { display: block; overflow-wrap: break-word; }
nav h2 { font-size: 1rem; margin: 1rem 0 0.25rem; }
nav h2 a { color: inherit; text-decoration: none; }
nav ul { margin: 0; padding: 0; list-style: none; }
main { flex: 1; padding: 1rem 2rem 4rem; min-width: 0; max-width: 60rem; }
article { border-top: 1px solid #d8dde3; padding: 0.5rem 0 1rem; }
a { color: #0a58a6; }
code, pre { font-family: ui-monospace, monospace; font-size: 0.9em; background: #f0f2f4; border-radius: 3px; }
code { padding: 0 0.25em; }
p code, li code, h4 code { overflow-wrap: break-word; }
pre { padding: 0.5rem 0.75rem; white-space: pre-wrap; overflow-wrap: break-word; }
pre code { padding: 0; font-size: inherit; background: none; }
.curl, .body { user-select: all; }
.answer { max-height: 20rem; overflow: auto; }
mark { font-size: 0.75rem; padding: 0 0.4em; border-radius: 3px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th { text-align: left; padding: 0.25rem 0.75rem 0.25rem 0; }
td { border-top: 1px solid #e6e9ed; padding: 0.25rem 0.75rem 0.25rem 0; vertical-align: top; overflow-wrap: normal; word-break: normal; }
article td:first-child { white-space: nowrap; }
td:last-child { min-width: 14rem; }
h4, h5 { margin: 1rem 0 0.25rem; font-size: 1rem; }
h5 { font-weight: 600; }
.paths { margin: 0; padding: 0; list-style: none; }
.form { margin: 1.5rem 0 0; padding-left: 1rem; border-left: 3px solid #d8dde3; }
@media (max-width: 50rem) {
  body { display: block; }
  .side { display: contents; }
  #search { padding: 0.5rem 1rem 0; z-index: 1; }
  #results { max-height: 60vh; overflow: auto; }
  [id] { scroll-margin-top: 5rem; }
  nav { padding: 0.5rem 1rem; background: #f4f6f8; }
  nav h2 { display: inline-block; margin: 0 1rem 0.25rem 0; }
  nav h2 a { color: #0a58a6; text-decoration: underline; }
  nav ul { display: none; }
  main { padding: 1rem; }
  article table, article tbody, article tr, article td { display: block; }
  article tr { border-top: 1px solid #e6e9ed; padding: 0.25rem 0; }
  article td { border: 0; padding: 0; }
  article td:empty { display: none; }
  article td:last-child { min-width: 0; }
}
@media (prefers-color-scheme: dark) {
  body { color: #dfe4ea; background: #14181d; }
  .side, #search { background: #1b2027; }
  #query { background: #14181d; }
  code, pre { background: #262c34; }
  a { color: #7db8f0; }
  article, td, .form { border-color: #303741; }
}
@media (prefers-color-scheme: dark) and (max-width: 50rem) {
  nav { background: #1b2027; }
  nav h2 a { color: #7db8f0; }
  article tr { border-color: #303741; }
}
`;

export const STYLE_ELEMENT = new Html(`<style>${STYLE}</style>`);
/** Allows this style under a policy that allows nothing else. */
export const STYLE_SOURCE = `'sha256-${createHash("sha256").update(STYLE).digest("base64")}'`;
