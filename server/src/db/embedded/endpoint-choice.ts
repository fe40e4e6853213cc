import { randomInt } from "node:crypto";
import { chmod, lstat, mkdir, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Fault } from "../../lib/fault.ts";
import { assertReachable, giveTo, type UnprivilegedUser } from "./unprivileged-user.ts";

/** The shortest limit of all supported systems: macOS, 104 bytes with the terminating zero. */
const longestSocketPathBytes = 103;

/**
 * The folder of the Unix socket: next to the cluster, or in the temporary folder if that path is too long for a socket
 * address. A recorded temporary folder is reused only while no other user can access it; a new one has an unpredictable
 * name, so that it cannot be prepared by an attacker.
 */
export async function provideSocketDir(folder: string, user: UnprivilegedUser | undefined): Promise<string> {
  const near = join(folder, "run");
  if (fits(near)) {
    await mkdir(near, { recursive: true, mode: 0o700 });
    await giveTo(user, near);
    await chmod(near, 0o700);
    return near;
  }
  const record = join(folder, "socket-dir");
  const recorded = await readRecord(record);
  if (recorded !== undefined && (await isOursAlone(recorded, user))) return recorded;
  const temporary = [tmpdir(), "/tmp"].find((path) => fits(join(path, "headgate-xxxxxx")));
  if (temporary === undefined)
    throw new Fault(
      "invalid",
      "no temporary folder has a path that is short enough for a Unix socket: set TMPDIR to a shorter one",
    );
  await assertReachable(user, temporary, "TMPDIR");
  const made = await mkdtemp(join(temporary, "headgate-"));
  await giveTo(user, made);
  await writeFile(record, made, { mode: 0o600 });
  return made;
}

function fits(folder: string): boolean {
  return Buffer.byteLength(join(folder, ".s.PGSQL.65535")) <= longestSocketPathBytes;
}

async function isOursAlone(path: string, user: UnprivilegedUser | undefined): Promise<boolean> {
  const found = await lstat(path).catch(() => undefined);
  const owner = user?.uid ?? process.getuid?.();
  return found !== undefined && found.isDirectory() && found.uid === owner && (found.mode & 0o777) === 0o700;
}

/** Persists over restarts, because other processes are configured with it. */
export async function readPort(folder: string): Promise<number | undefined> {
  const port = Number(await readRecord(join(folder, "port")));
  return Number.isInteger(port) && port > 0 && port < 65536 ? port : undefined;
}

/** The previous port if it is free. New ports are below the kernel's range for outgoing connections. */
export async function choosePort(folder: string, kept: number | undefined): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = attempt === 0 && kept !== undefined ? kept : randomInt(20_000, 32_768);
    if (!(await isFree(port))) continue;
    if (port !== kept) await writeFile(join(folder, "port"), String(port), { mode: 0o600 });
    return port;
  }
  throw new Fault("unavailable", "no free port on 127.0.0.1 for PostgreSQL");
}

async function isFree(port: number): Promise<boolean> {
  return new Promise((settle) => {
    const server = createServer();
    server.once("error", () => settle(false));
    server.listen({ host: "127.0.0.1", port }, () => server.close(() => settle(true)));
  });
}

async function readRecord(path: string): Promise<string | undefined> {
  return readFile(path, "utf8").then(
    (text) => text.trim(),
    () => undefined,
  );
}
