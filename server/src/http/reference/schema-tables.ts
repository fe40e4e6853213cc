/** The tables of an operation: parameters, fields and refusals. */
import { isRecord } from "../../lib/is-record.ts";
import { html, type Html } from "../html.ts";
import {
  isReference,
  type FieldGroup,
  type JsonSchema,
  type OpenApiDocument,
  type Operation,
  type Parameter,
  type Response,
} from "../openapi/document.ts";
import { notesOf, schemaRows, typeText, type Resolve, type SchemaRow } from "./schema-rows.ts";

export function parameterTable(operation: Partial<Operation>, document: OpenApiDocument): Html | undefined {
  const rows = parameterRows(operation, document);
  if (rows.length === 0) return undefined;
  return html`<h4>Parameters</h4>
    ${rowTable(rows)}`;
}

export function parameterRows({ parameters = [] }: Partial<Operation>, document: OpenApiDocument): SchemaRow[] {
  const resolve = schemaResolver(document);
  return parameters
    .map((each): Parameter | undefined =>
      isReference(each) ? document.components.parameters[lastPart(each.$ref)] : each,
    )
    .filter((each) => each !== undefined)
    .map(({ name, in: location, required, description, schema }) => ({
      name,
      type: `${location}, ${typeText(schema, resolve)}`,
      isRequired: required,
      notes: notesOf(description === undefined ? schema : { ...schema, description }),
    }));
}

/** The fields of a body, in groups if its schema has some. */
export function bodyTables(schema: JsonSchema, document: OpenApiDocument): Html {
  const resolve = schemaResolver(document);
  const groups = fieldGroupsOf(resolve(schema));
  if (groups.length === 0) return fieldTable(schema, document);
  const rows = schemaRows(schema, resolve);
  return html`${groups.map(
    ({ title, fields, example }) =>
      html`<h5>${title}</h5>
        ${example === undefined ? undefined : html`<pre class="body">${JSON.stringify(example)}</pre>`}
        ${rowTable(fields.flatMap((field) => rows.filter(({ name }) => rootOf(name) === field)))}`,
  )}`;
}

export function fieldTable(schema: JsonSchema, document: OpenApiDocument): Html {
  const resolve = schemaResolver(document);
  const rows = schemaRows(schema, resolve);
  return rows.length === 0 ? html`<p>${typeText(schema, resolve)}</p>` : rowTable(rows);
}

export function refusalTable(responses: Operation["responses"], document: OpenApiDocument): Html {
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

function rowTable(rows: readonly SchemaRow[]): Html {
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

function fieldGroupsOf({ "x-field-groups": groups }: JsonSchema): readonly FieldGroup[] {
  // Only our own definitions have the extension.
  return Array.isArray(groups) ? groups.filter((each): each is FieldGroup => isRecord(each)) : [];
}

/** The field of the body that a row belongs to: `tags` of `tags[].name`. */
function rootOf(name: string): string {
  return name.split(/[.[]/, 1)[0] ?? name;
}

export function schemaResolver({ components }: OpenApiDocument): Resolve {
  return (schema) =>
    isReference(schema) && typeof schema.$ref === "string" ? (components.schemas[lastPart(schema.$ref)] ?? {}) : schema;
}

function lastPart(reference: string): string {
  return reference.slice(reference.lastIndexOf("/") + 1);
}
