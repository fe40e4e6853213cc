import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Config } from "./config.ts";
import type { Log } from "./lib/log.ts";
import type { StopSignals } from "./start.ts";

/** One program, roles as subcommands; each loads only the modules it needs. */
const USAGE = `Usage: headgate <command>

  start      serve (npm start)
  admin …    operator commands (npm run admin -- --help)
  setup …    fetch and build what a start would, and the named table formats (npm run setup -- delta iceberg)
  migrate    bring the database to this version and end
  openapi    print the OpenAPI document
  schema     print the schema of the database

Settings: see headgate.env.example.`;

const repositoryDir = fileURLToPath(new URL("../..", import.meta.url));

async function main([command, ...rest]: readonly string[]): Promise<void> {
  switch (command) {
    case "start":
      return runServer(await loadConfig());
    case "admin": {
      const { runAdmin } = await import("./admin/admin.ts");
      process.exitCode = await runAdmin(rest, loadConfig);
      return undefined;
    }
    case "setup": {
      const { setUpAll } = await import("./set-up.ts");
      return setUpAll(await loadConfigAndWarn(), process.stdout, rest);
    }
    case "migrate":
      return runMigrations(await loadConfigAndWarn());
    case "openapi": {
      const { openApiText } = await import("./openapi-document.ts");
      process.stdout.write(openApiText());
      return undefined;
    }
    case "schema": {
      const { printSchema } = await import("./admin/print-schema.ts");
      return printSchema(await loadConfig());
    }
    case "help":
    case "--help":
    case "-h":
      say(USAGE);
      return undefined;
    default:
      fail(`${command === undefined ? "No command was given." : `Unknown command ${command}.`}\n\n${USAGE}`);
  }
}

async function loadConfig(): Promise<Config> {
  const { readConfig } = await import("./config.ts");
  const isRoot = process.getuid?.() === 0;
  return readConfig(process.env, { repositoryDir, isRoot, readFile: (path) => readFileSync(path, "utf8") });
}

/** For subcommands without a log. */
async function loadConfigAndWarn(): Promise<Config> {
  const config = await loadConfig();
  for (const warning of config.warnings) process.stderr.write(`Warning: ${warning}\n`);
  return config;
}

async function runServer(config: Config): Promise<void> {
  const { takeSystemdSockets } = await import("./http/listen.ts");
  const sockets = takeSystemdSockets(process.env, process.pid);
  const [{ start }, { openLog }] = await Promise.all([import("./start.ts"), import("./open-log.ts")]);
  const { log, say, showProgress } = openLog(config);
  for (const warning of config.warnings) log.warn(warning);
  const signals = stopSignals(log);
  try {
    const headgate = await start(config, log, say, signals, { setsUpSpark: true, showProgress, sockets });
    if (!signals.stop.aborted) await once(signals.stop, "abort");
    await headgate.stop({ everything: signals.everything.aborted });
  } catch (error) {
    // Stopped before it was ready: everything that was started has been stopped again.
    if (error !== signals.stop.reason) throw error;
  } finally {
    showProgress?.(undefined);
    if (signals.everything.aborted) await endLeft(config, log); // even if a part of the shutdown failed
  }
  process.exit(0);
}

/**
 * Also ends the processes that an earlier Headgate left running, and those that were being started at the time of the
 * stop.
 */
async function endLeft(config: Config, log: Log): Promise<void> {
  const { endEverything } = await import("./end-everything.ts");
  await endEverything(config, log).catch((error: unknown) =>
    log.warn({ err: error }, "some processes may still be running"),
  );
}

/** npm forwards a signal that the terminal has already sent to us: a second one within this time is the same signal. */
const SAME_SIGNAL_MS = 1_000;

/**
 * Installed first, because an unhandled early signal would leave the database running. Ctrl-C on a terminal ends
 * everything, and so does SIGUSR2 from `admin stop --all`; other signals leave running commands alone.
 */
function stopSignals(log: Log): StopSignals {
  const [stop, hurry, everything] = [new AbortController(), new AbortController(), new AbortController()];
  let firstAt: number | undefined;
  const onSignal = (signal: string): void => {
    firstAt ??= performance.now();
    if (signal === "SIGUSR2" || (signal === "SIGINT" && process.stdin.isTTY)) everything.abort();
    if (!stop.signal.aborted) log.info({ signal }, "stopping");
    stop.abort();
    if (performance.now() - firstAt > SAME_SIGNAL_MS) hurry.abort();
  };
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR2"]) process.on(signal, onSignal);
  return { stop: stop.signal, hurry: hurry.signal, everything: everything.signal };
}

async function runMigrations(config: Config): Promise<void> {
  const { attachStore } = await import("./db/open-store.ts");
  const { migrate } = await import("./db/migrate.ts");
  const { openLog } = await import("./open-log.ts");
  const { log } = openLog({ ...config, logLevel: "warn" });
  const store = await attachStore({ ...config, log, progress: say });
  try {
    const applied = await migrate(store.connection);
    say(
      applied.length === 0
        ? "The database is up to date."
        : applied.map(({ number, name }) => `${number} ${name}`).join("\n"),
    );
  } finally {
    await store.stop();
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}

// The reader of our output may have exited (`npm start | head`, a closed terminal); that must not crash the server.
process.stdout.on("error", () => undefined);
process.stderr.on("error", () => undefined);

const words = process.argv.slice(2);
main(words).catch((error: unknown) => {
  // Errors that an operator can act on are shown as a sentence; any other is a defect and shows its stack.
  const isActionable = error instanceof Error && (error.name === "Fault" || "syscall" in error);
  fail(
    isActionable
      ? `${words[0] === "start" ? "Headgate cannot start" : "Headgate"}: ${error.message}`
      : `Headgate failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
  );
});
