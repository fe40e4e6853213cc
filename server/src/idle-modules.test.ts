import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { repositoryDir } from "../test/support/repository-dir.ts";

const listing = `
  import { registerHooks } from "node:module";
  const loaded = [];
  registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context); } });
  await import("./server/src/app.ts");
  console.log(loaded.join("\\n"));`;

test("clients of Spark and readers of Arrow are loaded on first use", () => {
  const program = ["--input-type=module", "--eval", listing];
  const loaded = execFileSync(process.execPath, program, { cwd: repositoryDir, encoding: "utf8" }).split("\n");
  expect(loaded.filter((url) => url.endsWith("/server/src/app.ts"))).toHaveLength(1);
  const heavy = /node_modules\/(apache-arrow|@bufbuild|@grpc|flatbuffers)\/|\/engines\/spark-connect\//;
  expect(loaded.filter((url) => heavy.test(url))).toEqual([]);
});
