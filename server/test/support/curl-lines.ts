/**
 * Runs curl lines as they stand in the documentation. A shell expands them; a shell function that only prints its
 * arguments replaces `curl`, so that curl need not be installed.
 */
import { execFileSync } from "node:child_process";

/** The arguments that the shell would pass to curl. */
function argumentsOf(line: string, variables: Record<string, string>): string[] {
  const script = `curl() { for each in "$@"; do printf '%s\\0' "$each"; done; }\n${line}`;
  return execFileSync("/bin/sh", ["-eu", "-c", script], { env: variables, encoding: "utf8" }).split("\0").slice(0, -1);
}

export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Sends the request of a curl line. */
export async function runCurlLine(line: string, variables: Record<string, string>): Promise<Answer> {
  let method = "GET";
  let url = "";
  let body: string | undefined;
  const headers: Record<string, string> = {};
  const words = argumentsOf(line, variables);
  for (let at = 0; at < words.length; at += 1) {
    const next = (): string => words[(at += 1)] ?? "";
    switch (words[at]) {
      case "-s":
      case "-sS":
        break;
      case "-X":
        method = next();
        break;
      case "-d":
      case "--data-binary":
        body = next();
        break;
      case "-H": {
        const [name = "", value = ""] = next().split(": ");
        headers[name] = value;
        break;
      }
      default:
        url = words[at] ?? "";
    }
  }
  const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) });
  return { status: response.status, text: await response.text() };
}
