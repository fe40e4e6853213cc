import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { isRecord } from "../../src/lib/is-record.ts";
import { repositoryDir } from "./repository-dir.ts";

/**
 * Writes `api/example-answers.json`: answers of a real server by operation id, for the OpenAPI document. Values that
 * differ in each run are replaced, and lists are cut, so that a new recording shows only what has changed.
 */
export function recordAnswers(answers: ReadonlyMap<string, string>): void {
  const entries = [...answers].map(([id, text]): [string, unknown] => [id, steady(parsed(text))]);
  const sorted = entries.toSorted(([one], [other]) => (one < other ? -1 : 1));
  writeFileSync(
    join(repositoryDir, "api/example-answers.json"),
    `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`,
  );
}

/** The program of the recorded command. The stub driver runs it in a shell; readers see it in the language it names. */
export const RECORDED_PROGRAM = "echo 1; echo reading one file >&2";

const MAX_ENTRIES = 2;

const TEXTS: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, "2026-01-31T08:30:00Z"],
  [/^\/tmp\/\d{4}-\d\d-\d\d\//g, "/tmp/2026-01-31/"],
  [/^file:\/\/\/tmp\/.*\/accounts\//g, "file:///var/lib/headgate/accounts/"],
  [/\bhgi_[\w-]{20,}/g, "hgi_the-code-of-the-invitation"],
  [/\bhg_[\w-]{20,}/g, "hg_the-token"],
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "6f1d2c3b-4a59-4e68-8770-1a2b3c4d5e6f"],
];

/** By key. */
const VALUES: Readonly<Record<string, unknown>> = {
  etag: "1a2b3-c4d5e6f7g8-h",
  host: "node-1",
  memory_budget_mib: 16_384,
  submit_time: 1_769_848_200,
  waiting_reason: "it is about to start",
};

function steady(value: unknown, key = ""): unknown {
  if (Array.isArray(value)) return value.slice(0, MAX_ENTRIES).map((each) => steady(each));
  if (isRecord(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, steady(each, name)]));
  }
  if (value === RECORDED_PROGRAM) return "import sys\nprint(1)\nprint('reading one file', file=sys.stderr)";
  if (Object.hasOwn(VALUES, key)) return VALUES[key];
  return typeof value === "string" ? TEXTS.reduce((text, [from, to]) => text.replaceAll(from, to), value) : value;
}

/** An answer that is not JSON is a text. */
function parsed(text: string): unknown {
  return text.startsWith("{") || text.startsWith("[") ? JSON.parse(text) : text;
}
