import { lstatSync } from "node:fs";
import { getPriority, setPriority } from "node:os";
import { setImmediate as turn } from "node:timers/promises";
import { bytesOf, measureUsage } from "../../lib/disk-usage.ts";
import { answerRequests } from "../helper-process/helper-process.ts";
import { removeEntry } from "./remove-entry.ts";
import type { RemoverRequest } from "./remove-tree.ts";

/** A lower priority than the server's, a higher one than that of users' programs. */
const NICE = 5;

// Only root may raise the priority of a process, and the server may run with a low one.
setPriority(Math.max(NICE, getPriority()));
if (process.getuid?.() === 0) process.setgroups?.([]); // root's groups must not count for the owners of folders
answerRequests((request: RemoverRequest): Promise<number> => {
  return "measure" in request ? measure(request.measure) : removeAll(request.remove);
});

async function removeAll(paths: readonly string[]): Promise<number> {
  const removed = await Promise.allSettled(paths.map((path) => takeTurns(removeEntry(latin1(path)))));
  const failed = removed.find((each) => each.status === "rejected");
  if (failed !== undefined) throw failed.reason;
  return 0;
}

async function measure(path: string): Promise<number> {
  const bytes = await takeTurns(measureEntry(latin1(path)));
  return Number.isFinite(bytes) ? bytes : 0;
}

function latin1(path: string): string {
  return Buffer.from(path).toString("latin1");
}

function* measureEntry(path: string): Generator<undefined, number> {
  const stats = lstatSync(Buffer.from(path, "latin1"), { throwIfNoEntry: false });
  if (stats === undefined) return 0;
  return stats.isDirectory() ? yield* measureUsage(path, 0) : bytesOf(stats, 0);
}

/** Requests take turns after each step, so that a large folder does not delay a small one. */
async function takeTurns<Result>(steps: Generator<undefined, Result>): Promise<Result> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    await turn();
  }
}
