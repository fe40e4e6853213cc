import { execFileSync } from "node:child_process";
import type { BenchHeadgate } from "../headgate.ts";

/** Prints the current memory of each process. */
export function benchMemory({ dataDir, pid }: BenchHeadgate): void {
  const lines = execFileSync("ps", ["-eo", "pid,ppid,rss,args", "-ww"], { encoding: "utf8" }).split("\n");
  const postmaster = lines
    .find((line) => /postgres -D/.test(line) && line.includes(dataDir))
    ?.trim()
    .split(/\s+/)[0];
  const ours = lines.filter((line) => {
    const [id, parent] = line.trim().split(/\s+/);
    return line.includes(dataDir) || id === String(pid) || (parent === postmaster && parent !== undefined);
  });
  let sum = 0;
  for (const line of ours) {
    const [, , rss = "0", ...args] = line.trim().split(/\s+/);
    const name = nameOf(args.join(" "));
    if (name === undefined) continue;
    sum += Number(rss);
    console.log(`${String(Math.round(Number(rss) / 1024)).padStart(6)} MiB  ${name}`);
  }
  console.log(`${String(Math.round(sum / 1024)).padStart(6)} MiB  in total, with shared pages counted in each process`);
}

function nameOf(args: string): string | undefined {
  const names: [RegExp, string | undefined][] = [
    [/bwrap|^\/bin\/sh|^sh /, undefined],
    [/runner\.mjs/, "runner"],
    [/^postgres: /, "PostgreSQL, a connection or a part of it"],
    [/WarmServer/, "warm server"],
    [/[Mm]etastore/, "metastore"],
    [/[Ss]tandby/, "standby driver"],
    [/postgres -D/, "PostgreSQL"],
    [/headgate\.mjs start/, "Headgate"],
  ];
  return names.find(([pattern]) => pattern.test(args))?.[1];
}
