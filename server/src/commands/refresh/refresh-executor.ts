import { mkdir, rm } from "node:fs/promises";
import type { Executor, CommandRun } from "../execution/executor.ts";
import { journalFile } from "./added-journal.ts";
import type { RefreshRun, RefreshServices } from "./refresh-run.ts";

/** Table refreshes by the catalog: they need no engine and no process of their own, but some memory of this one. */
export function refreshExecutor(services: RefreshServices): Executor {
  // Loaded with the first one.
  const runOf = async (run: CommandRun): Promise<RefreshRun> => {
    const { RefreshRun } = await import("./refresh-run.ts");
    // What it had added before its node was lost counts, too.
    await mkdir(run.files.folder, { recursive: true, mode: 0o711 });
    return new RefreshRun(run, services);
  };
  return {
    unready: () => null,
    isRestartable: true,
    prepare: (run) => Promise.resolve({ spawn: () => runOf(run) }),
    async adopt(run) {
      const live = await runOf(run);
      await live.begin();
      return live;
    },
    tidy: ({ files }) => rm(journalFile(files.folder), { force: true }),
  };
}
