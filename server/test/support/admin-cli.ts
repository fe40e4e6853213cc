import { spawn } from "node:child_process";
import { once } from "node:events";
import { homedir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, inject } from "vitest";
import { repositoryDir } from "./repository-dir.ts";
import type { TestDatabase } from "./test-database.ts";

/** The real command line, as `npm run admin -- …` runs it, in a separate process without a terminal. */
export interface AdminCli {
  /** Returns stdout. Fails the test unless the command succeeds. */
  run(...args: string[]): Promise<string>;
  /** Like `run` with `--json`. */
  json(...args: string[]): Promise<AdminJson>;
  /** Returns stderr. Fails the test unless the command exits with 1 and prints nothing to stdout. */
  refused(...args: string[]): Promise<string>;
  /** Returns everything, whatever the exit code is. */
  finish(...args: string[]): Promise<Finished>;
  with(settings: Record<string, string>): AdminCli;
}

// JSON of any shape: each test asserts what it reads.
// oxlint-disable-next-line typescript/no-explicit-any
type AdminJson = any;

export function adminCli(settings: Record<string, string>): AdminCli {
  const finish = (...args: string[]): Promise<Finished> => runAdmin(args, settings);
  const run = async (...args: string[]): Promise<string> => {
    const { status, stdout, stderr } = await finish(...args);
    expect(status, `${args.join(" ")}: ${stderr}`).toBe(0);
    return stdout;
  };
  return {
    run,
    finish,
    json: async (...args) => JSON.parse(await run(...args, "--json")),
    async refused(...args) {
      const { status, stdout, stderr } = await finish(...args);
      expect({ status, stdout }, `${args.join(" ")}: ${stderr}`).toEqual({ status: 1, stdout: "" });
      expect(stderr, "a refusal is no stack trace").not.toMatch(/\n\s+at /);
      return stderr;
    },
    with: (more) => adminCli({ ...settings, ...more }),
  };
}

/** A URL over TCP, like DATABASE_URL for another machine. */
export function urlOf({ connection: { user, password, port, database } }: TestDatabase): string {
  return `postgres://${user}:${password}@127.0.0.1:${port}/${database}`;
}

interface Finished {
  status: number | null;
  stdout: string;
  stderr: string;
}

async function runAdmin(args: readonly string[], settings: Record<string, string>): Promise<Finished> {
  const child = spawn(process.execPath, [join(repositoryDir, "server/headgate.mjs"), "admin", ...args], {
    env: {
      PATH: process.env.PATH ?? "",
      HOME: homedir(),
      HEADGATE_CACHE_DIR: inject("postgres").cacheDir,
      ...settings,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = once(child, "exit") as Promise<[number | null]>;
  const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
  return { status, stdout, stderr };
}
