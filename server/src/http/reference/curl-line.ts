import { isReference, type Operation } from "../openapi/document.ts";
import type { ListedOperation } from "./listed-operation.ts";

/** Placeholder for the address of this server in curl lines; it is replaced when a client requests the page. */
export const SERVER_ADDRESS = "{server}";

/** The prefix in paths and keys that is replaced by the deployment's own. */
const NEUTRAL_PREFIX = /(?<![A-Za-z0-9])svc(?=_user)/g;

/**
 * The operation as a curl line. The token and the ids that only the reader knows are shell variables; everything else
 * is filled in. Addresses and bodies are quoted, so that the shell does not interpret the value of a variable.
 */
export function curlLine({ method, path, operation }: ListedOperation, identifierPrefix: string): string {
  const needsToken = operation.security?.length !== 0;
  const url = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => exampleOf(operation, name));
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

/** A value that exists in every account, or a shell variable. */
function exampleOf({ parameters = [] }: Operation, name: string): string {
  const found = parameters.find((each) => !isReference(each) && each.in === "path" && each.name === name);
  return (found !== undefined && !isReference(found) ? found.example : undefined) ?? `$${name.toUpperCase()}`;
}

function singleQuoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
