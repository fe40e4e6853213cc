import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { spawnHeadgate } from "../../test/support/headgate-process.ts";
import { listenForProxy } from "./proxy-socket.ts";

let base: string;
let folder: string;
let listeners: Server[] = [];
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "headgate-socket-"));
  folder = join(base, "proxy");
  mkdirSync(folder, { mode: 0o750 });
});
afterEach(() => {
  for (const listener of listeners) listener.close();
  listeners = [];
  rmSync(base, { recursive: true });
});

const pathIn = (within: string): string => join(within, "proxy.sock");

async function open(path: string, shownFolders: string[] = []): Promise<Server> {
  const listener = createServer((socket) => socket.end());
  listeners.push(listener);
  await listenForProxy(listener, { path, shownFolders });
  return listener;
}

describe("the socket for a proxy", () => {
  test.each(["755", "751", "752", "770"])("is refused in a folder that others can use (mode %s)", async (mode) => {
    chmodSync(folder, Number.parseInt(mode, 8));
    await expect(open(pathIn(folder))).rejects.toThrow(
      /^HEADGATE_PROXY_SOCKET: other users can enter or change .*: as root, run install -d -m 0750/,
    );
  });

  test("is refused where there is no folder", async () => {
    await expect(open(pathIn(join(base, "missing")))).rejects.toThrow(
      /does not exist: as root, run install -d -m 0750/,
    );
  });

  test("is refused in a folder that users' programs see, also through a link", async () => {
    const link = join(base, "link");
    symlinkSync(folder, link);
    for (const [path, shown] of [
      [pathIn(folder), base],
      [pathIn(folder), folder],
      [pathIn(link), folder],
    ] as const) {
      await expect(open(path, [shown])).rejects.toThrow(`users' programs see ${shown}: choose a folder outside it`);
    }
    await open(pathIn(folder), [join(base, "pro"), join(base, "absent")]);
  });

  test("replaces a socket that a crash left, and disappears at a stop", async () => {
    const path = pathIn(folder);
    await spawnLeftover(path);
    expect(existsSync(path)).toBe(true);
    const listener = await open(path);
    await once(listener.close(), "close");
    expect(existsSync(path)).toBe(false);
  });

  test("does not replace the socket of a running server, nor another file", async () => {
    await open(pathIn(folder));
    await expect(open(pathIn(folder))).rejects.toThrow(/another program listens on .*: stop it or choose another path/);
    const file = join(folder, "file");
    writeFileSync(file, "");
    await expect(open(file)).rejects.toThrow(/exists and is not a socket: remove it or choose another path/);
  });
});

/** A process that listens there and is killed. */
async function spawnLeftover(path: string): Promise<void> {
  const script = `require("node:net").createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 9))`;
  await once(spawn(process.execPath, ["-e", script]), "exit");
}

describe("a start", () => {
  test("with a proxy on loopback that proves itself by its address alone is refused with the remedy", async () => {
    const child = spawnHeadgate(["start"], {
      HEADGATE_DATA_DIR: base,
      HEADGATE_TRUSTED_PROXIES: "10.0.0.0/8,0.0.0.0/0",
    });
    let said = "";
    child.stderr?.setEncoding("utf8").on("data", (text: string) => (said += text));
    expect(await once(child, "close")).toEqual([1, null]);
    expect(said).toContain("HEADGATE_TRUSTED_PROXIES must not include loopback addresses (0.0.0.0/0)");
    expect(said).toContain("Either set HEADGATE_PROXY_SOCKET");
  });
});
