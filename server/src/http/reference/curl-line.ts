import { isReference, type Operation } from "../openapi/document.ts";
import type { ListedOperation } from "./listed-operation.ts";

/** Stands in lines of a shell for the address of this server, which a page learns when it is asked for. */
export const SERVER_ADDRESS = "{server}";

/** In paths and keys, which carry the deployment's prefix instead. */
const NEUTRAL_PREFIX = /(?<![A-Za-z0-9])svc(?=_user)/g;

/**
 * The operation as a line for a shell: the token and the ids that only the reader knows are variables, everything else
 * is there. Addresses and bodies are quoted, so that no value of a variable is more than a value.
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

/** A value that every account has, or a variable of the shell. */
function exampleOf({ parameters = [] }: Operation, name: string): string {
  const found = parameters.find((each) => !isReference(each) && each.in === "path" && each.name === name);
  return (found !== undefined && !isReference(found) ? found.example : undefined) ?? `$${name.toUpperCase()}`;
}

function singleQuoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
