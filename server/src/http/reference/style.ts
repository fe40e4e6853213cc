/**
 * The style of the reference. Words in tables are never broken: a table that is too wide scrolls in a box of its own,
 * and on a narrow screen each row becomes a block. Curl lines are wrapped for reading, and one click selects a whole
 * line for copying.
 */
export const STYLE = `
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; color: #1d2229; background: #fff; display: flex; }
nav { width: 19rem; flex: none; height: 100vh; overflow: auto; position: sticky; top: 0; padding: 1rem; background: #f4f6f8; box-sizing: border-box; }
nav h2 { font-size: 1rem; margin: 1rem 0 0.25rem; }
nav h2 a { color: inherit; text-decoration: none; }
nav ul { margin: 0; padding: 0; list-style: none; }
nav .old a { color: #7a828c; }
main { flex: 1; padding: 1rem 2rem 4rem; min-width: 0; max-width: 60rem; }
article { border-top: 1px solid #d8dde3; padding: 0.5rem 0 1rem; }
a { color: #0a58a6; }
code, pre { font-family: ui-monospace, monospace; font-size: 0.9em; background: #f0f2f4; border-radius: 3px; }
code { padding: 0 0.25em; }
p code { overflow-wrap: break-word; }
pre { padding: 0.5rem 0.75rem; white-space: pre-wrap; overflow-wrap: break-word; user-select: all; }
mark { font-size: 0.75rem; padding: 0 0.4em; border-radius: 3px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
td { border-top: 1px solid #e6e9ed; padding: 0.25rem 0.75rem 0.25rem 0; vertical-align: top; overflow-wrap: normal; word-break: normal; }
td:first-child { white-space: nowrap; }
td:last-child { min-width: 14rem; }
h4 { margin: 1rem 0 0.25rem; }
@media (max-width: 50rem) {
  body { display: block; }
  nav { position: static; width: auto; height: auto; }
  nav h2 { display: inline-block; margin: 0 1rem 0.25rem 0; }
  nav h2 a { color: #0a58a6; text-decoration: underline; }
  nav ul { display: none; }
  main { padding: 1rem; }
  table, tbody, tr, td { display: block; }
  tr { border-top: 1px solid #e6e9ed; padding: 0.25rem 0; }
  td { border: 0; padding: 0; }
  td:empty { display: none; }
  td:last-child { min-width: 0; }
}
@media (prefers-color-scheme: dark) {
  body { color: #dfe4ea; background: #14181d; }
  nav { background: #1b2027; }
  code, pre { background: #262c34; }
  a { color: #7db8f0; }
  article, td { border-color: #303741; }
}
@media (prefers-color-scheme: dark) and (max-width: 50rem) {
  nav h2 a { color: #7db8f0; }
  tr { border-color: #303741; }
}
`;
