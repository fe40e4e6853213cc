/** The section of one operation. Versions with the same form share everything; others show only what differs. */
import { html, type Html } from "../html.ts";
import {
  isReference,
  type JsonSchema,
  type OpenApiDocument,
  type Operation,
  type Response,
} from "../openapi/document.ts";
import { curlLine } from "./curl-line.ts";
import { differences, pathsOf, type ListedOperation, type ReferenceEntry } from "./entry.ts";
import { prose } from "./prose.ts";
import { bodyTables, fieldTable, parameterTable, refusalTable, schemaResolver } from "./schema-tables.ts";
import { typeText } from "./schema-rows.ts";

export function operationSection({ newest, older }: ReferenceEntry, document: OpenApiDocument): Html {
  const { operationId, summary, description = "", responses } = newest.operation;
  const twins = older.map((twin) => ({ twin, different: differences(twin, newest) }));
  return html`<article id="${operationId}">
    <h3>${summary}</h3>
    <ul class="paths">
      ${pathEntries(newest, undefined)}
      ${twins.map(({ twin, different }) =>
        pathEntries(twin, different === undefined ? twin.operation.operationId : undefined),
      )}
    </ul>
    ${prose(description)} ${lineOf(newest)} ${parts(newest.operation, document)} ${refusalTable(responses, document)}
    ${twins.map(({ twin, different }) =>
      different === undefined
        ? undefined
        : html`<div class="form" id="${twin.operation.operationId}">
            <h4>Where ${versionOf(twin)} differs: <code>${twin.path}</code></h4>
            ${different.description === undefined ? undefined : prose(different.description)} ${lineOf(twin)}
            ${parts(different, document)}
          </div>`,
    )}
  </article>`;
}

/** `anchor`: the id of an operation that has no section of its own. */
function pathEntries(listed: ListedOperation, anchor: string | undefined): Html {
  const { method, operation } = listed;
  const mark = operation.deprecated === true ? html` <mark>deprecated</mark>` : undefined;
  return html`${pathsOf(listed).map(
    (path, index) =>
      html`<li${index === 0 && anchor !== undefined ? html` id="${anchor}"` : undefined}>
        <b>${method.toUpperCase()}</b> <code>${path}</code>${mark}
      </li>`,
  )}`;
}

function lineOf(listed: ListedOperation): Html {
  return html`<pre class="curl" data-operation="${listed.operation.operationId}">${curlLine(listed)}</pre>`;
}

function parts(operation: Partial<Operation>, document: OpenApiDocument): Html {
  const { requestBody, responses = {} } = operation;
  const reply = responses["200"];
  return html`${parameterTable(operation, document)}
  ${
    requestBody === undefined
      ? undefined
      : html`<h4>Body${requestBody.required ? "" : " (optional)"}</h4>
          ${bodyOf(requestBody, document)}`
  }
  ${
    reply === undefined || isReference(reply)
      ? undefined
      : html`<h4>Reply 200</h4>
          ${replyTables(reply, document)}`
  }`;
}

function bodyOf({ content }: NonNullable<Operation["requestBody"]>, document: OpenApiDocument) {
  if ("application/json" in content) return bodyTables(content["application/json"].schema, document);
  return html`<p>${descriptionOf(content["application/octet-stream"].schema, document)}</p>`;
}

function descriptionOf(schema: JsonSchema, document: OpenApiDocument): string {
  return typeof schema.description === "string" ? schema.description : typeText(schema, schemaResolver(document));
}

function replyTables({ content = {} }: Response, document: OpenApiDocument): Html[] {
  return Object.entries(content).map(
    ([type, { schema, example }]) =>
      html`${
        type === "application/json"
          ? fieldTable(schema, document)
          : html`<p><code>${type}</code>: ${descriptionOf(schema, document)}</p>`
      }
      ${example === undefined ? undefined : answerOf(example)}`,
  );
}

function answerOf(example: unknown): Html {
  const text = typeof example === "string" ? example : JSON.stringify(example, null, 2);
  return html`<p>For example:</p>
    <pre class="answer" tabindex="0">${text}</pre>`;
}

function versionOf({ path }: ListedOperation): string {
  return path.split("/")[2] ?? "";
}
