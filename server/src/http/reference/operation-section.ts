import { html, type Html } from "../html.ts";
import {
  isReference,
  type JsonSchema,
  type OpenApiDocument,
  type Operation,
  type Parameter,
  type Response,
} from "../openapi/document.ts";
import { notesOf, schemaRows, typeText, type Resolve } from "./schema-rows.ts";

/** An operation of the document, with its method and path. */
export interface ListedOperation {
  method: string;
  path: string;
  operation: Operation;
}

/** Placeholder for the address of this server in curl lines; it is replaced when a client requests the page. */
export const SERVER_ADDRESS = "{server}";

/** The section of one operation. */
export function operationSection(
  { method, path, operation }: ListedOperation,
  document: OpenApiDocument,
  identifierPrefix: string,
): Html {
  const resolve = schemaResolver(document);
  const { operationId, summary, description = "", requestBody, responses, "x-also-at": alsoAt = [] } = operation;
  const reply = responses["200"];
  return html`<article id="${operationId}">
    <h3>${summary}${operation.deprecated === true ? html` <mark>deprecated</mark>` : undefined}</h3>
    <p class="call"><b>${method.toUpperCase()}</b> <code>${path}</code></p>
    ${alsoAt.length === 0 ? undefined : html`<p>Also at ${alsoAt.map((each) => html`<code>${each}</code> `)}</p>`}
    ${description.split("\n\n").map((paragraph) => html`<p>${paragraph}</p>`)}
    <pre>${curlLine({ method, path, operation }, identifierPrefix)}</pre>
    <p>Permission: <code>${JSON.stringify(operation["x-permission"])}</code></p>
    ${parameterTable(operation, document, resolve)}
    ${
      requestBody === undefined
        ? undefined
        : html`<h4>Body${requestBody.required ? "" : " (optional)"}</h4>
            ${fieldTable(requestBody.content["application/json"].schema, resolve)}`
    }
    <h4>Reply 200</h4>
    ${reply === undefined || isReference(reply) ? undefined : replyTables(reply, resolve)}
    ${refusalTable(responses, document)}
  </article>`;
}

function parameterTable({ parameters = [] }: Operation, document: OpenApiDocument, resolve: Resolve): Html | undefined {
  if (parameters.length === 0) return undefined;
  const rows = parameters
    .map((each): Parameter | undefined =>
      isReference(each) ? document.components.parameters[lastPart(each.$ref)] : each,
    )
    .filter((each) => each !== undefined)
    .map(({ name, in: place, required, description, schema }) => {
      const notes = notesOf(description === undefined ? schema : { ...schema, description });
      return html`<tr>
        <td><code>${name}</code></td>
        <td>${place}, ${typeText(schema, resolve)}</td>
        <td>${required ? "required" : ""}</td>
        <td>${notes}</td>
      </tr>`;
    });
  return html`<h4>Parameters</h4>
    ${table(rows)}`;
}

function replyTables({ content = {} }: Response, resolve: Resolve): Html[] {
  return Object.entries(content).map(([type, { schema }]) =>
    type === "application/json"
      ? fieldTable(schema, resolve)
      : html`<p>
          <code>${type}</code>:
          ${typeof schema.description === "string" ? schema.description : typeText(schema, resolve)}
        </p>`,
  );
}

function fieldTable(schema: JsonSchema, resolve: Resolve): Html {
  const rows = schemaRows(schema, resolve);
  if (rows.length === 0) return html`<p>${typeText(schema, resolve)}</p>`;
  return table(
    rows.map(
      ({ name, type, isRequired, notes }) =>
        html`<tr>
          <td><code>${name}</code></td>
          <td>${type}</td>
          <td>${isRequired ? "required" : ""}</td>
          <td>${notes}</td>
        </tr>`,
    ),
  );
}

/** Puts the table into a box of its own, which scrolls if the table is too wide. */
function table(rows: readonly Html[]): Html {
  return html`<div class="scroll">
    <table>
      ${rows}
    </table>
  </div>`;
}

function refusalTable(responses: Operation["responses"], document: OpenApiDocument): Html {
  const rows = Object.entries(responses)
    .filter(([status]) => status !== "200")
    .map(([status, response]): [string, Response | undefined] => [
      status,
      isReference(response) ? document.components.responses[lastPart(response.$ref)] : response,
    ]);
  return html`<details>
    <summary>Refusals</summary>
    ${table(
      rows.map(
        ([status, response]) =>
          html`<tr>
            <td>${status}</td>
            <td>${response?.description}</td>
          </tr>`,
      ),
    )}
  </details>`;
}

function schemaResolver({ components }: OpenApiDocument): Resolve {
  return (schema) =>
    isReference(schema) && typeof schema.$ref === "string" ? (components.schemas[lastPart(schema.$ref)] ?? {}) : schema;
}

function lastPart(reference: string): string {
  return reference.slice(reference.lastIndexOf("/") + 1);
}

/** The prefix in paths and keys that is replaced by the deployment's own. */
const NEUTRAL_PREFIX = /(?<![A-Za-z0-9])svc(?=_user)/g;

/**
 * The operation as a curl line. The token and the ids that only the reader knows are shell variables; everything else
 * is filled in. Addresses and bodies are quoted, so that the shell does not interpret the value of a variable.
 */
function curlLine({ method, path, operation }: ListedOperation, identifierPrefix: string): string {
  const needsToken = operation.security?.length !== 0;
  const url =
    path.replaceAll(/\{(\w+)\}/g, (_, name: string) => exampleOf(operation, "path", name)) + queryOf(operation);
  const { example } = operation.requestBody?.content["application/json"] ?? {};
  const words = [
    "curl",
    ...(method === "get" ? [] : ["-X", method.toUpperCase()]),
    ...(needsToken ? ['-H "X-AUTH-TOKEN: $TOKEN"'] : []),
    `"${SERVER_ADDRESS}${url}"`,
    ...(example === undefined ? [] : [`-d ${singleQuoted(JSON.stringify(example))}`]),
  ];
  return words.join(" ").replaceAll(NEUTRAL_PREFIX, identifierPrefix);
}

/** The fields that the query must have, and those that the operation's example has. */
function queryOf(operation: Operation): string {
  const fields = (operation.parameters ?? []).flatMap((each) =>
    isReference(each) || each.in !== "query" || !(each.required || each.example !== undefined) ? [] : [each.name],
  );
  const query = fields.map((name) => `${name}=${exampleOf(operation, "query", name)}`).join("&");
  return query === "" ? "" : `?${query}`;
}

/** A value that exists in every account, or a shell variable. */
function exampleOf({ parameters = [] }: Operation, place: "path" | "query", name: string): string {
  const found = parameters.find((each) => !isReference(each) && each.in === place && each.name === name);
  return (found !== undefined && !isReference(found) ? found.example : undefined) ?? `$${name.toUpperCase()}`;
}

function singleQuoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
