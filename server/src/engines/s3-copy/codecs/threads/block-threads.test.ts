import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { CodecError } from "../blocks/codec-error.ts";
import { runBlockTask } from "./block-threads.ts";

const program = `
import { decodeStream, encodeStream } from "./codecs/codec.ts";
async function* source() {
  for (let i = 0; i < 40; i++) yield Buffer.alloc(100_000, "text " + i);
}
for (const codec of ["gzip", "lzo", "snappy"]) {
  let bytes = 0;
  for await (const chunk of decodeStream(codec, encodeStream(codec, source()))) bytes += chunk.length;
  console.log(codec, bytes);
}
`;

test("a process with a copy of the sources encodes, decodes and ends by itself", async () => {
  const folder = mkdtempSync(join(tmpdir(), "headgate-copied-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const sources = fileURLToPath(new URL("..", import.meta.url));
  cpSync(sources, join(folder, "codecs"), { recursive: true });
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  writeFileSync(join(folder, "main.ts"), program);
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, "main.ts")], { cwd: folder });
  expect(stdout).toBe("gzip 4000000\nlzo 4000000\nsnappy 4000000\n");
});

test("only the damaged block fails: its thread continues", async () => {
  const block = () => Buffer.from(new ArrayBuffer(100));
  const damaged = Array.from({ length: 20 }, () =>
    runBlockTask({ kind: "decode-snappy", bytes: Buffer.alloc(10, 0xff) }),
  );
  const whole = Array.from({ length: 20 }, () => runBlockTask({ kind: "encode-snappy", bytes: block() }));
  const results = await Promise.allSettled([...damaged, ...whole]);
  const failures = results.filter((result) => result.status === "rejected");
  expect(failures.map(({ reason }) => reason instanceof CodecError)).toEqual(Array<boolean>(20).fill(true));
  expect(results.slice(20).every((result) => result.status === "fulfilled")).toBe(true);
});
