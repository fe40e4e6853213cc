import { mkdirSync } from "node:fs";
import { accountIdentity } from "../commands/execution/command-files.ts";
import type { Config } from "../config.ts";
import { findControlGroups } from "../processes/runner/find-control-groups.ts";
import { ensureBubblewrap, findBubblewrap } from "../processes/sandbox/find-bubblewrap.ts";
import { openSandbox, type Sandbox } from "../processes/sandbox/sandbox.ts";
import { writeSystemCallFilter } from "../processes/sandbox/system-call-filter.ts";
import { printSparsely, type ShowProgress } from "../processes/set-up/set-up-step.ts";
import type { Log } from "../lib/log.ts";

export interface SandboxOptions {
  readonly config: Config;
  readonly log: Log;
  readonly showProgress?: ShowProgress | undefined;
  /** Aborts the set-up of bubblewrap. */
  readonly signal?: AbortSignal;
}

export async function composeSandbox({
  config,
  log,
  showProgress,
  signal = new AbortController().signal,
}: SandboxOptions): Promise<Sandbox> {
  const { isolation, cacheDir, dataDir, keyFile, configFile, proxySecretFile } = config;
  const identity = accountIdentity(1);
  mkdirSync(cacheDir, { recursive: true, mode: 0o755 });
  const progress = showProgress ?? printSparsely((step) => log.info({ step }, "setting up the isolation of programs"));
  const found =
    isolation === "none"
      ? await findBubblewrap(identity, cacheDir)
      : await ensureBubblewrap(identity, { cacheDir, signal, progress });
  showProgress?.(undefined);
  const ours = [dataDir, keyFile, configFile, proxySecretFile].filter((path) => path !== null);
  const filterFile = writeSystemCallFilter([cacheDir, dataDir]);
  if (filterFile === undefined)
    log.warn(`programs run without a system call filter: there is none for ${process.arch}`);
  const sandbox = openSandbox(isolation, found, process.getuid?.() ?? 0, ours, filterFile);
  if (sandbox.warning !== undefined) log.warn(sandbox.warning);
  return sandbox;
}

/** Logs at the start how the limits of programs are enforced on this machine. */
export function composeControlGroups(nice: number, log: Log): string | null {
  const found = findControlGroups(nice);
  if (found.kind === "usable") {
    log.info({ folder: found.folder }, "the limits of programs are enforced by control groups and by their runners");
    return found.folder;
  }
  log.info({ reason: found.reason }, "the limits of programs are enforced by their runners, without control groups");
  return null;
}
