import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync } from "@swc/core";

/** A string or a template of a source file; the expressions of a template stand in it as `{expression}`. */
export interface SourceString {
  /** Below the folder. */
  readonly file: string;
  readonly text: string;
  /** The property of an object that has this value. */
  readonly property: string | undefined;
}

/** Every string and template of the TypeScript below the folder, without those of tests. */
export function sourceStrings(folder: string): SourceString[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .flatMap((file) => {
      const found: SourceString[] = [];
      collect(
        parseSync(readFileSync(join(folder, file), "utf8"), { syntax: "typescript" }),
        undefined,
        (text, property) => found.push({ file, text, property }),
      );
      return found;
    });
}

/** A node of the syntax tree. */
type Node = Readonly<Record<string, unknown>>;

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null;
const children = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

function collect(
  value: unknown,
  property: string | undefined,
  add: (text: string, property: string | undefined) => void,
): void {
  if (!isNode(value)) return;
  if (value["type"] === "StringLiteral") add(String(value["value"]), property);
  if (value["type"] === "TemplateLiteral") add(textOf(value), property);
  const key = value["type"] === "KeyValueProperty" ? nameOf(value["key"]) : undefined;
  for (const child of Object.values(value)) collect(child, child === value["value"] ? key : undefined, add);
}

function textOf({ quasis, expressions }: Node): string {
  const names = children(expressions).map((expression) => `{${nameOf(expression)}}`);
  return children(quasis)
    .map((part, at) => `${isNode(part) ? String(part["cooked"] ?? part["raw"]) : ""}${names[at] ?? ""}`)
    .join("");
}

function nameOf(expression: unknown): string {
  if (!isNode(expression)) return "";
  switch (expression["type"]) {
    case "Identifier":
      return String(expression["value"]);
    case "MemberExpression":
      return `${nameOf(expression["object"])}.${nameOf(expression["property"])}`;
    case "CallExpression":
      return `${nameOf(expression["callee"])}()`;
    default:
      return String(expression["type"]);
  }
}
