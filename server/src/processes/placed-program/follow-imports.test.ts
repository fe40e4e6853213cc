import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { followImports, readImports } from "./follow-imports.ts";

const folder = mkdtempSync(join(tmpdir(), "headgate-imports-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function write(files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
}

test("imports of every form are found, except imports of types", () => {
  const text = [
    `import "./effect.ts";`,
    `import { type A, b } from "./named.ts";`,
    `import {\n  long,\n  longer,\n} from "./lines.ts";`,
    `import type { T } from "./only-types.ts";`,
    `import * as all from "./all.ts";`,
    `export { c } from "./again.ts";`,
    `export type { U } from "./types-again.ts";`,
    `export const text = "./text.ts";`,
    `const later = await import("./later.ts");`,
    `const thread = new URL("thread.ts", import.meta.url);`,
  ].join("\n");
  expect(readImports(text)).toEqual([
    { kind: "import", specifier: "./effect.ts" },
    { kind: "import", specifier: "./named.ts" },
    { kind: "import", specifier: "./lines.ts" },
    { kind: "import", specifier: "./all.ts" },
    { kind: "import", specifier: "./again.ts" },
    { kind: "import", specifier: "./later.ts" },
    { kind: "url", specifier: "thread.ts" },
  ]);
});

test("files, threads, and packages with their dependencies are followed once each, even in cycles", async () => {
  write({
    "src/main.ts": `import "./a.ts";\nimport "node:fs";\nimport "one/deep.js";\nnew URL("thread.ts", import.meta.url);`,
    "src/a.ts": `import "./main.ts";\nimport "@scope/two";`,
    "src/thread.ts": `import "./a.ts";`,
    "node_modules/one/package.json": `{ "version": "1.2.3", "dependencies": { "three": "*" } }`,
    "node_modules/@scope/two/package.json": `{ "version": "2.0.0" }`,
    "node_modules/three/package.json": `{ "version": "3.0.0", "dependencies": { "one": "*" } }`,
  });
  const at = (name: string): string => join(folder, name);
  const { sources, entries, packages } = await followImports(at("src/main.ts"));
  expect([...sources.keys()].toSorted()).toEqual([at("src/a.ts"), at("src/main.ts"), at("src/thread.ts")]);
  expect([...entries]).toEqual([at("src/main.ts"), at("src/thread.ts")]);
  expect([...packages].map(([name, { version }]) => `${name}@${version}`).toSorted()).toEqual([
    "@scope/two@2.0.0",
    "one@1.2.3",
    "three@3.0.0",
  ]);
});

test("the error for a package that is not installed names it", async () => {
  write({ "src/lost.ts": `import "no-such-package-here";` });
  await expect(followImports(join(folder, "src/lost.ts"))).rejects.toThrow(/no-such-package-here is not installed/);
});
