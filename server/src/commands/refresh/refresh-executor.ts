import { mkdir, rm } from "node:fs/promises";
import type { Executor, CommandRun } from "../execution/executor.ts";
import { journalFile } from "./added-journal.ts";
import type { RefreshRun, RefreshServices } from "./refresh-run.ts";

/** Runs table refreshes by the catalog, in this process. They need no engine, but some memory. */
export function refreshExecutor(services: RefreshServices): Executor {
  // Loaded with the first refresh.
  const runOf = async (run: CommandRun): Promise<RefreshRun> => {
    const { RefreshRun } = await import("./refresh-run.ts");
    // Keeps the journal of a run whose node was lost.
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
