/** Hadoop's own codecs, from Spark's jars, decode our files and encode files for us. They have no LZO. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { chunksOf, collect, sampleBytes } from "../../../../test/support/byte-streams.ts";
import { findSparkHome, SET_UP_MS } from "../../../../test/support/connect-server.ts";
import { runDriver } from "../../../../test/support/driver-run.ts";
import { sparkIsMissing } from "../../../../test/support/spark-missing.ts";
import { decodeStream, encodeStream } from "./codec.ts";
import { codecOf, extensionOf } from "./codec-table.ts";

const program = `
import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.hadoop.io.IOUtils
import org.apache.hadoop.io.compress.CompressionCodecFactory
import java.nio.file.{Files, Paths}
val folder = Paths.get(args(0))
val factory = new CompressionCodecFactory(new Configuration())
args.drop(1).foreach { name =>
  val codec = factory.getCodec(new Path(name))
  val decoded = Files.newOutputStream(folder.resolve(name + ".decoded"))
  IOUtils.copyBytes(codec.createInputStream(Files.newInputStream(folder.resolve(name))), decoded, 4096, true)
  Seq("hadoop-" + name, "hadoop-" + name + ".deflate").foreach { target =>
    val encoder = factory.getCodec(new Path(target))
    val encoded = encoder.createOutputStream(Files.newOutputStream(folder.resolve(target)))
    IOUtils.copyBytes(Files.newInputStream(folder.resolve(name + ".decoded")), encoded, 300000, true)
  }
}
`;

const samples = new Map([
  ["empty", Buffer.alloc(0)],
  ["byte", Buffer.from("a")],
  ["block", sampleBytes(218_422, 100)],
  ["text", sampleBytes(1_500_000, 900)],
  ["repeated", sampleBytes(1_500_000, 1)],
  ["random", sampleBytes(700_000, 100_000)],
]);
const codecs = ["gzip", "snappy"] as const;

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "headgate-codecs-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

// Skipped if this machine has no Java or Python; sparkIsMissing prints the reason.
test.skipIf(sparkIsMissing)(
  "Hadoop reads our files, even concatenated, and we read those of Hadoop",
  async () => {
    const expected = new Map<string, Buffer>();
    for (const codec of codecs) {
      const parts: Buffer[] = [];
      for (const [name, bytes] of samples) {
        const encoded = await collect(encodeStream(codec, chunksOf(bytes)));
        parts.push(encoded);
        writeFileSync(join(folder, `${name}${extensionOf(codec)}`), encoded);
        expected.set(`${name}${extensionOf(codec)}`, bytes);
      }
      writeFileSync(join(folder, `all${extensionOf(codec)}`), Buffer.concat(parts));
      expected.set(`all${extensionOf(codec)}`, Buffer.concat([...samples.values()]));
    }
    const home = await findSparkHome(inject("postgres").cacheDir);
    const programArguments = [folder, ...expected.keys()];
    const end = await runDriver(home, { kind: "scala", text: program, programArguments }, "cold");
    expect(end.exitCode, end.log).toBe(0);
    for (const [name, bytes] of expected) {
      expect(readFileSync(join(folder, `${name}.decoded`)).equals(bytes), `${name} by Hadoop`).toBe(true);
      for (const file of [`hadoop-${name}`, `hadoop-${name}.deflate`]) {
        const decoding = decodeStream(codecOf(file) ?? "bzip2", chunksOf(readFileSync(join(folder, file))));
        expect((await collect(decoding)).equals(bytes), file).toBe(true);
      }
    }
  },
  SET_UP_MS,
);
