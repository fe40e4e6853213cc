import { createHash } from "node:crypto";
import { Html, escapeHtml, html } from "./html.ts";
import type { OpenApiDocument } from "./openapi/document.ts";
import { SERVER_ADDRESS, operationSection, type ListedOperation } from "./reference/operation-section.ts";
import { STYLE } from "./reference/style.ts";

/**
 * Renders the OpenAPI document as one static HTML page without scripts or external resources, so that it works offline
 * and its content security policy can forbid everything but its own style.
 */
export interface ReferencePage {
  /** The page, with the address of this server in its curl lines. */
  htmlFor: (serverAddress: string) => string;
  contentSecurityPolicy: string;
}

export interface ReferenceOptions {
  /** Ids of endpoints. Operations are shown in this order, and older versions of an operation after it. */
  readingOrder: readonly string[];
  /** The deployment's prefix of paths and keys, for the curl lines. */
  identifierPrefix: string;
}

export function referencePage(
  document: OpenApiDocument,
  { readingOrder, identifierPrefix }: ReferenceOptions,
): ReferencePage {
  const listed = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]): ListedOperation => ({ method, path, operation })),
  );
  const operations = inReadingOrder(listed, readingOrder);
  const chapters = document.tags.map(({ name }) => ({
    name,
    anchor: `chapter-${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")}`,
    operations: operations.filter(({ operation }) => operation.tags.includes(name)),
  }));
  const { title, version, description } = document.info;
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>${title} API reference</title>
        ${new Html(`<style>${STYLE}</style>`)}
      </head>
      <body>
        <nav>
          ${chapters.map(
            ({ name, anchor, operations: listed }) =>
              html`<h2><a href="#${anchor}">${name}</a></h2>
                <ul>
                  ${listed.map(navigationEntry)}
                </ul>`,
          )}
        </nav>
        <main>
          <h1>${title} API ${version}</h1>
          <p>As a document: <a href="/openapi.json">/openapi.json</a></p>
          ${prose(description)}
          ${chapters.map(
            ({ name, anchor, operations: listed }) =>
              html`<section id="${anchor}">
                <h2>${name}</h2>
                ${listed.map((each) => operationSection(each, document, identifierPrefix))}
              </section>`,
          )}
        </main>
      </body>
    </html>`;
  const styleHash = createHash("sha256").update(STYLE).digest("base64");
  return {
    htmlFor: (serverAddress) => page.text.replaceAll(SERVER_ADDRESS, escapeHtml(serverAddress)),
    contentSecurityPolicy: `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  };
}

/** The end of the id of an operation that a newer version has, too. */
const OLDER_VERSION = /_v\d+(_\d+)?$/;

function navigationEntry({ method, path, operation }: ListedOperation): Html {
  const { operationId, summary, deprecated } = operation;
  const [, , version = ""] = path.split("/");
  const call = `${method.toUpperCase()} ${path}`;
  if (!OLDER_VERSION.test(operationId)) {
    return html`<li><a href="#${operationId}" title="${call}">${summary}</a></li>`;
  }
  return html`<li class="${deprecated === true ? "old" : "other"}">
    <a href="#${operationId}" title="${call}">${summary} (${version})</a>
  </li>`;
}

/** Renders the Markdown that descriptions use: paragraphs, bold, code, and fenced blocks of code. */
function prose(text: string): Html {
  const blocks = text
    .split(/^```\w*\n([^]*?)^```$/m)
    .map((block, index) => (index % 2 === 1 ? codeBlock(block) : paragraphs(block)));
  return html`${blocks}`;
}

function codeBlock(text: string): Html {
  return html`${text
    .trimEnd()
    .split("\n")
    .map((line) => html`<pre>${line}</pre>`)}`;
}

function paragraphs(text: string): Html {
  const marked = escapeHtml(text.trim())
    .split("\n\n")
    .map((paragraph) => paragraph.replaceAll(/\*\*(.+?)\*\*/g, "<b>$1</b>").replaceAll(/`(.+?)`/g, "<code>$1</code>"));
  return new Html(marked.map((paragraph) => `<p>${paragraph}</p>`).join("\n"));
}

/** Sorts operations in the order of `endpointIds`, and older versions of an operation after the newest. */
function inReadingOrder(
  operations: readonly ListedOperation[],
  endpointIds: readonly string[],
): readonly ListedOperation[] {
  const placeOf = ({ operation: { operationId } }: ListedOperation): number => {
    const exact = endpointIds.indexOf(operationId);
    if (exact !== -1) return exact;
    return endpointIds.indexOf(operationId.replace(OLDER_VERSION, "")) + 0.5;
  };
  return operations.toSorted((one, other) => placeOf(one) - placeOf(other));
}
