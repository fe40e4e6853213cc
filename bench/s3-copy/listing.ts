import { readFileSync } from "node:fs";
import type { BenchCase } from "./bench-case.ts";
import { RCLONE_REMOTE } from "./clients.ts";
import { compare } from "./compare.ts";
import { withManyKeys } from "./many-keys.ts";
import { aimAgainstPeers, printAims, printResults } from "./report.ts";

const COUNT = 1_000_000;
const name = "keys";

/** Our copy only lists, because its pattern matches no key. */
export const listing: BenchCase = {
  does: "a million keys listed",
  async run(bench) {
    const { clients, runner, rounds, scaled } = bench;
    const count = scaled(COUNT);
    const source = `s3://sources/${name}/`;
    const words = ["--src", source, "--dest", `s3://copies/${name}/`, "--srcPattern", ".*/no-such-file"];
    const requireLines = (): void => {
      const lines = readFileSync(runner.stdout, "latin1").split("\n").length - 1;
      if (lines !== count) throw new Error(`${lines} keys instead of ${count}`);
    };
    const requireCount = (): void => {
      const log = readFileSync(runner.stderr, "utf8");
      if (!log.includes(`0 of ${count} files matched`))
        throw new Error(`the log does not count ${count} files:\n${log}`);
    };
    const remote = `${RCLONE_REMOTE}sources/${name}`;
    return withManyKeys(bench, name, count, async () => {
      const results = await compare({
        runner,
        rounds,
        contenders: [
          { name: "ours", command: () => clients.ours(words), verify: requireCount },
          { name: "s5cmd", command: () => clients.s5cmd("ls", `${source}*`), verify: requireLines },
          { name: "rclone", command: () => clients.rclone("lsf", "-R", "--files-only", remote), verify: requireLines },
        ],
        reset: () => Promise.resolve(),
      });
      printResults(`${count} keys listed`, results, { files: count, bytes: 0 });
      return printAims([aimAgainstPeers(results, 1.3)]);
    });
  },
};
