import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";

/**
 * Clients of engines, and the renderer of guides: each takes memory of an idle server, and most installations need few
 * of them for hours.
 */
const LATER = ["undici", "@grpc/grpc-js", "@bufbuild/protobuf", "apache-arrow", "re2js", "marked"];

const LIST_PACKAGES = `
  import { registerHooks } from "node:module";
  const packages = new Set();
  registerHooks({
    load(url, context, next) {
      const name = /.*\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1];
      if (name !== undefined) packages.add(name);
      return next(url, context);
    },
  });
  await import(process.argv[1]);
  console.log([...packages].join("\\n"));
`;

test("the clients of engines and the renderer of guides are loaded on first use, not at the start", () => {
  const app = new URL("app.ts", import.meta.url).href;
  const loaded = execFileSync(process.execPath, ["--input-type=module", "--eval", LIST_PACKAGES, app], {
    encoding: "utf8",
  }).split("\n");
  expect(loaded).toContain("fastify");
  expect(loaded.filter((name) => LATER.includes(name))).toEqual([]);
});
