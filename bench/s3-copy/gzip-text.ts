import { readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { BenchCase } from "./bench-case.ts";
import type { ClientCommand } from "./client-process.ts";
import { RCLONE_REMOTE } from "./clients.ts";
import { compare } from "./compare.ts";
import { makeTextFile } from "./contents.ts";
import { listFiles } from "./object-folders.ts";
import { aimAgainstPeers, printAims, printResults } from "./report.ts";
import type { Workbench } from "./workbench.ts";

const TEXT_MIB = 1024;
const MIB = 1024 * 1024;
const name = "text";

export const gzipText: BenchCase = {
  does: "1 GiB of text from S3 to S3, compressed by gzip on the way",
  async run(bench) {
    const { clients, runner, rounds, files, objects, scaled } = bench;
    const bytes = scaled(TEXT_MIB) * MIB;
    bench.requireRoom(4 * bytes, 1000);
    const from = join(files, name);
    try {
      makeTextFile(from, "text.log", bytes);
      await objects.upload(from, name);
      const expected = await hashOutput(bench, `cat ${from}/text.log`);
      const shares: string[] = [];
      const verifyOf = (client: string) => async (): Promise<void> => {
        const folder = await objects.asFiles("copies", name);
        const found = await hashOutput(bench, `find ${folder} -name '*.gz' | xargs gzip -dc`);
        if (found !== expected) throw new Error("the decoded output is not the text");
        const size = listFiles(folder).reduce((sum, path) => sum + statSync(join(folder, path)).size, 0);
        shares.push(`${client} ${((100 * size) / bytes).toFixed(1)} %`);
      };
      const words = ["--src", `s3://sources/${name}/`, "--dest", `s3://copies/${name}/`, "--outputCodec", "gz"];
      const results = await compare({
        runner,
        rounds,
        contenders: [
          { name: "ours", command: () => clients.ours(words), verify: verifyOf("ours") },
          { name: "s5cmd and gzip", command: () => clients.script(withGzip), verify: verifyOf("s5cmd and gzip") },
          { name: "rclone", command: () => rcloneCompress(bench), verify: verifyOf("rclone") },
        ],
        reset: () => objects.remove("copies", name),
      });
      printResults(`${bytes / MIB} MiB of text, compressed on the way`, results, { files: 1, bytes });
      console.log(`  size of the output: ${shares.join(", ")}`);
      return printAims([aimAgainstPeers(results, 1.3)]);
    } finally {
      rmSync(from, { recursive: true, force: true });
      await objects.remove("sources", name);
    }
  },
};

const withGzip = `$S5CMD cat s3://sources/${name}/text.log | gzip -6 | $S5CMD pipe s3://copies/${name}/text.log.gz`;

/** rclone compresses what is written to a remote of the type `compress`. */
function rcloneCompress({ clients }: Workbench): ClientCommand {
  const { argv, env } = clients.rclone("copy", `${RCLONE_REMOTE}sources/${name}`, "packed:");
  const packed = {
    RCLONE_CONFIG_PACKED_TYPE: "compress",
    RCLONE_CONFIG_PACKED_REMOTE: `${RCLONE_REMOTE}copies/${name}`,
    RCLONE_CONFIG_PACKED_MODE: "gzip",
    RCLONE_CONFIG_PACKED_LEVEL: "6",
  };
  return { argv, env: { ...env, ...packed } };
}

async function hashOutput({ clients, runner }: Workbench, command: string): Promise<string> {
  await runner.run(clients.script(`${command} | sha256sum`));
  return readFileSync(runner.stdout, "utf8").trim();
}
