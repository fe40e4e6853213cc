import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, inject } from "vitest";
import { runAdmin } from "../../src/admin/admin.ts";
import { readConfig } from "../../src/config.ts";
import { repositoryDir } from "./repository-dir.ts";
import type { TestDatabase } from "./test-database.ts";

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

type Runner = (args: readonly string[], env: NodeJS.ProcessEnv) => Promise<Finished>;

/** The real command line, as `npm run admin -- …` runs it, in a separate process without a terminal. */
export function adminCli(settings: Record<string, string>): AdminCli {
  return adminOf(settings, runProcess);
}

/** The same commands in the process of the test: for what they do, without the half second in which a process starts. */
export function adminHere(settings: Record<string, string>): AdminCli {
  return adminOf(settings, runHere);
}

function adminOf(settings: Record<string, string>, runner: Runner): AdminCli {
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: homedir(),
    HEADGATE_CACHE_DIR: inject("postgres").cacheDir,
    ...settings,
  };
  const finish = (...args: string[]): Promise<Finished> => runner(args, env);
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
    with: (more) => adminOf({ ...settings, ...more }, runner),
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

async function runProcess(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Finished> {
  const child = spawn(process.execPath, [join(repositoryDir, "server/headgate.mjs"), "admin", ...args], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = once(child, "exit") as Promise<[number | null]>;
  const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
  return { status, stdout, stderr };
}

async function runHere(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Finished> {
  const isRoot = process.getuid?.() === 0;
  const loadConfig = async () =>
    readConfig(env, { repositoryDir, isRoot, readFile: (path) => readFileSync(path, "utf8") });
  const said = { stdout: "", stderr: "" };
  const status = await runAdmin(args, loadConfig, {
    out: (text) => (said.stdout += text),
    error: (text) => (said.stderr += text),
  });
  return { status, ...said };
}
