/**
 * Renders the OpenAPI document as one HTML page without external resources, so that it works offline and its content
 * security policy can forbid everything but its own style and the script of its search. Its links to other pages of the
 * server contain the server's address, so that they also work in a saved copy.
 */
import type { Guide, Guides } from "./guides.ts";
import { escapeHtml, html, type Html } from "./html.ts";
import type { OpenApiDocument } from "./openapi/document.ts";
import { SERVER_ADDRESS } from "./reference/curl-line.ts";
import { entriesOf, type ReferenceEntry } from "./reference/entry.ts";
import { operationSection } from "./reference/operation-section.ts";
import { prose } from "./reference/prose.ts";
import { searchEntry, searchWords, type SearchEntry } from "./reference/search-index.ts";
import { searchScript } from "./reference/search-script.ts";
import { withShownPrefix } from "./reference/shown-prefix.ts";
import { STYLE_ELEMENT, STYLE_SOURCE } from "./reference/style.ts";

export interface ReferencePage {
  /** The page, with the address of this server in its curl lines and links. Requests for the same address share it. */
  htmlFor: (serverAddress: string) => Buffer;
  contentSecurityPolicy: string;
}

export interface ReferenceOptions {
  /** Ids of endpoints. Operations are shown in this order. */
  readingOrder: readonly string[];
  /** The deployment's prefix of paths and keys. */
  identifierPrefix: string;
  guides: Guides;
}

interface Chapter {
  name: string;
  anchor: string;
  guides: readonly Guide[];
  entries: readonly ReferenceEntry[];
}

export function referencePage(
  document: OpenApiDocument,
  { readingOrder, identifierPrefix, guides }: ReferenceOptions,
): ReferencePage {
  const entries = entriesOf(document, readingOrder);
  const chapters = document.tags.map(({ name, "x-guides": paths = [] }): Chapter => ({
    name,
    anchor: `chapter-${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")}`,
    guides: paths.flatMap((path) => guides.find(path) ?? []),
    entries: entries.filter(({ newest }) => newest.operation.tags.includes(name)),
  }));
  const { title, version, description } = document.info;
  const search = searchScript([
    ...entries.map((entry) => searchEntry(entry, document)),
    ...guides.forUsers().map(guideEntry),
  ]);
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>${title} API reference</title>
        ${STYLE_ELEMENT}
      </head>
      <body>
        <div class="side">
          ${SEARCH_BOX}
          <nav id="contents">
            <h2><a href="#guides">Guides</a></h2>
            ${chapters.map(navigation)}
          </nav>
        </div>
        <main>
          <h1>${title} API ${version}</h1>
          <p>As a document: <a href="${SERVER_ADDRESS}/openapi.json">/openapi.json</a></p>
          ${prose(description)}
          <h2 id="guides">Guides</h2>
          <ul>
            ${guides.forUsers().map((guide) => html`<li>${linkTo(guide)}: ${guide.about}</li>`)}
          </ul>
          ${chapters.map(
            ({ name, anchor, guides: related, entries: listed }) =>
              html`<section id="${anchor}">
                <h2>${name}</h2>
                ${
                  related.length === 0
                    ? undefined
                    : html`<p>Guides: ${related.map((guide, index) => [index === 0 ? "" : ", ", linkTo(guide)])}</p>`
                }
                ${listed.map((each) => operationSection(each, document))}
              </section>`,
          )}
        </main>
        ${search.elements}
      </body>
    </html>`;
  return {
    htmlFor: addressFiller(withShownPrefix(page.text, identifierPrefix)),
    contentSecurityPolicy: contentSecurityPolicy(`script-src ${search.source}; `),
  };
}

/**
 * Fills in the address of the server. Anyone may ask for the page under ever new addresses: so its text is encoded only
 * once, and only the page for the last address is kept.
 */
function addressFiller(text: string): (serverAddress: string) => Buffer {
  const parts = text.split(SERVER_ADDRESS).map((part) => Buffer.from(part));
  let last: { address: string; page: Buffer } | undefined;
  return (address) => {
    if (last?.address !== address) {
      const shown = Buffer.from(escapeHtml(address));
      last = { address, page: Buffer.concat(parts.flatMap((part, index) => (index === 0 ? [part] : [shown, part]))) };
    }
    return last.page;
  };
}

/** Allows our style, and the scripts that are named. */
export function contentSecurityPolicy(scripts = ""): string {
  return (
    `default-src 'none'; ${scripts}style-src ${STYLE_SOURCE}; base-uri 'none'; form-action 'none'; ` +
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
  );
}

/** Hidden until the script runs, because searching needs it. */
const SEARCH_BOX = html`<search id="search" hidden>
  <input
    type="search"
    id="query"
    aria-label="Search operations, fields and words"
    placeholder="Search (press /)"
    autocomplete="off"
    spellcheck="false"
  />
  <p id="found" role="status"></p>
  <ol id="results" hidden></ol>
</search>`;

function navigation({ name, anchor, entries }: Chapter): Html {
  return html`<h2><a href="#${anchor}">${name}</a></h2>
    <ul>
      ${entries.map(
        ({ newest: { method, path, operation } }) =>
          html`<li>
            <a href="#${operation.operationId}" title="${method.toUpperCase()} ${path}">${operation.summary}</a>
          </li>`,
      )}
    </ul>`;
}

function linkTo({ path, title }: Guide): Html {
  return html`<a href="${SERVER_ADDRESS}/${path}">${title}</a>`;
}

/** Guides are found by all their words. */
function guideEntry({ path, title, about = "", markdown }: Guide): SearchEntry {
  return {
    href: `${SERVER_ADDRESS}/${path}`,
    title: `Guide: ${title}`,
    calls: [],
    fields: [],
    words: searchWords([about, markdown]),
  };
}
