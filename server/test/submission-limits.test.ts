import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { SUBMISSION_BODY } from "../src/commands/submit-command.ts";
import { LONGEST_TEXT_BYTES, SubmissionBody } from "../src/commands/submission/body.ts";
import { MAX_EXPRESSION_LENGTH, MAX_MACROS } from "../src/commands/submission/macros.ts";
import { ARGUMENTS_BYTES, INLINE_BYTES, SCRIPT_BYTES } from "../src/commands/submission/plan.ts";
import { defaultLimits } from "../src/engines/macro-sandbox/macro-sandbox.ts";
import { repositoryDir } from "./support/repository-dir.ts";

/** Collapses blanks, so that the alignment of the tables does not matter. */
const page = readFileSync(join(repositoryDir, "docs/commands.md"), "utf8").replaceAll(/[ \n]+/g, " ");

interface Rules {
  maxItems?: number;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
  items?: { minLength?: number; maxLength?: number };
}

function limitOf({ maxItems, minimum, maximum, maxLength, items }: Rules): string {
  const rules = [
    maxItems === undefined ? "" : `at most ${maxItems} entries`,
    items?.maxLength === undefined ? "" : `of ${items.minLength ?? 0} to ${items.maxLength} characters each`,
    minimum === undefined ? "" : `${minimum} to ${maximum}`,
    maxLength === undefined ? "" : `at most ${maxLength} characters`,
  ];
  return rules.filter((rule) => rule !== "").join(", ") || "true or false";
}

const fields = Object.entries(SubmissionBody.properties).map(([name, schema]): [string, Rules] => [
  name,
  schema as Rules,
]);

describe("docs/commands.md", () => {
  test.each(fields)("states the limit of %s that the API enforces", (name, rules) => {
    expect(page).toContain(`| \`${name}\` | ${limitOf(rules)} |`);
  });

  test("lists exactly the fields of the API", () => {
    const [, table = ""] = page.split("Limits of every field");
    const listed = [...table.matchAll(/\| `(\w+)` \|/g)].map(([, name]) => name);
    expect(listed).toEqual(fields.map(([name]) => name));
  });

  test("states the limits of texts that are enforced", () => {
    const [inline, script, longest] = [`${INLINE_BYTES / 1024} KiB`, mib(SCRIPT_BYTES), mib(LONGEST_TEXT_BYTES)];
    expect(page).toContain(
      `| \`program\`, \`sql\`, \`query\` | ${inline} | ${longest} with \`large_inline_content\` |`,
    );
    expect(page).toContain(`| the script at \`script_location\` | ${script} | ${longest} with \`large_scripts\` |`);
    expect(page).toContain(`| arguments, each with its macros filled in | ${ARGUMENTS_BYTES / 1024} KiB |`);
    const { bytes, withFeature } = SUBMISSION_BODY;
    expect(page).toContain(
      `| the whole body, as JSON | ${mib(bytes)} | ${mib(withFeature.bytes)} with \`${withFeature.feature}\``,
    );
  });

  test("states the limits of macros that are enforced", () => {
    expect(page).toContain(`At most ${MAX_MACROS} variables.`);
    expect(page).toContain(`An expression has at most ${MAX_EXPRESSION_LENGTH} characters.`);
    expect(page).toContain(`A value has at most ${defaultLimits.textLength} characters.`);
    expect(page).toContain(
      `${defaultLimits.cpuMs / 1000} second of processor time and ${mib(defaultLimits.memoryBytes)} of memory.`,
    );
  });
});

function mib(bytes: number): string {
  return `${bytes / 1024 / 1024} MiB`;
}
