import { createHash } from "node:crypto";
import { Html, escapeHtml, html } from "./html.ts";
import type { OpenApiDocument } from "./openapi/document.ts";
import { operationSection, type ListedOperation } from "./reference/operation-section.ts";

/**
 * The OpenAPI document for a reader: one page, made once, without script and without anything fetched from elsewhere,
 * so that it works offline and its content security policy can forbid all but its own style.
 */
export interface ReferencePage {
  html: string;
  contentSecurityPolicy: string;
}

export function referencePage(document: OpenApiDocument): ReferencePage {
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]): ListedOperation => ({ method, path, operation })),
  );
  const chapters = document.tags.map(({ name }) => ({
    name,
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
            ({ name, operations: listed }) =>
              html`<h2>${name}</h2>
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
            ({ name, operations: listed }) =>
              html`<section>
                <h2>${name}</h2>
                ${listed.map((each) => operationSection(each, document))}
              </section>`,
          )}
        </main>
      </body>
    </html>`;
  const styleHash = createHash("sha256").update(STYLE).digest("base64");
  return {
    html: page.text,
    contentSecurityPolicy: `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  };
}

function navigationEntry({ method, path, operation }: ListedOperation): Html {
  const { operationId, summary, deprecated } = operation;
  const [, , version = ""] = path.split("/");
  const call = `${method.toUpperCase()} ${path}`;
  if (deprecated !== true) return html`<li><a href="#${operationId}" title="${call}">${summary}</a></li>`;
  return html`<li class="old"><a href="#${operationId}" title="${call}">${summary} (${version})</a></li>`;
}

/** Paragraphs with the two marks of Markdown that descriptions use. */
function prose(text: string): Html {
  const paragraphs = escapeHtml(text).split("\n\n");
  const marked = paragraphs.map((paragraph) =>
    paragraph.replaceAll(/\*\*(.+?)\*\*/g, "<b>$1</b>").replaceAll(/`(.+?)`/g, "<code>$1</code>"),
  );
  return new Html(marked.map((paragraph) => `<p>${paragraph}</p>`).join("\n"));
}

const STYLE = `
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; color: #1d2229; background: #fff; display: flex; }
nav { width: 19rem; flex: none; height: 100vh; overflow: auto; position: sticky; top: 0; padding: 1rem; background: #f4f6f8; box-sizing: border-box; }
nav h2 { font-size: 1rem; margin: 1rem 0 0.25rem; }
nav ul { margin: 0; padding: 0; list-style: none; }
nav .old a { color: #7a828c; }
main { padding: 1rem 2rem 4rem; min-width: 0; max-width: 60rem; }
article { border-top: 1px solid #d8dde3; padding: 0.5rem 0 1rem; }
a { color: #0a58a6; }
code { background: #f0f2f4; padding: 0 0.25em; border-radius: 3px; overflow-wrap: anywhere; }
mark { font-size: 0.75rem; padding: 0 0.4em; border-radius: 3px; }
table { border-collapse: collapse; width: 100%; }
td { border-top: 1px solid #e6e9ed; padding: 0.25rem 0.75rem 0.25rem 0; vertical-align: top; overflow-wrap: anywhere; }
h4 { margin: 1rem 0 0.25rem; }
@media (max-width: 50rem) { body { display: block; } nav { position: static; width: auto; height: auto; } main { padding: 1rem; } }
@media (prefers-color-scheme: dark) {
  body { color: #dfe4ea; background: #14181d; }
  nav { background: #1b2027; }
  code { background: #262c34; }
  a { color: #7db8f0; }
  article, td { border-color: #303741; }
}
`;
