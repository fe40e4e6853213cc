import { isReference, type Operation } from "../openapi/document.ts";
import type { ListedOperation } from "./entry.ts";

/** Placeholder for the address of this server in curl lines and links; replaced when a client requests the page. */
export const SERVER_ADDRESS = "{server}";

/**
 * The operation as a curl line. The token and the ids that only the reader knows are shell variables; everything else
 * is filled in. Addresses and bodies are quoted, so that the shell does not interpret the value of a variable.
 */
export function curlLine({ method, path, operation }: ListedOperation): string {
  const needsToken = operation.security?.length !== 0;
  const url =
    path.replaceAll(/\{(\w+)\}/g, (_, name: string) => exampleOf(operation, "path", name)) + queryOf(operation);
  const words = [
    "curl",
    ...(method === "get" ? [] : ["-X", method.toUpperCase()]),
    ...(needsToken ? ['-H "X-AUTH-TOKEN: $TOKEN"'] : []),
    `"${SERVER_ADDRESS}${url}"`,
    ...bodyOf(operation),
  ];
  return words.join(" ");
}

function bodyOf({ requestBody }: Operation): string[] {
  const content = requestBody?.content;
  if (content === undefined) return [];
  if ("application/octet-stream" in content) {
    return [`--data-binary ${singleQuoted(content["application/octet-stream"].example ?? "")}`];
  }
  const { example } = content["application/json"];
  return example === undefined ? [] : [`-d ${singleQuoted(JSON.stringify(example))}`];
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
function exampleOf({ parameters = [] }: Operation, location: "path" | "query", name: string): string {
  const found = parameters.find((each) => !isReference(each) && each.in === location && each.name === name);
  return (found !== undefined && !isReference(found) ? found.example : undefined) ?? `$${name.toUpperCase()}`;
}

function singleQuoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
