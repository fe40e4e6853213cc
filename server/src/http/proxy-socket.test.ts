import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { spawnHeadgate } from "../../test/support/headgate-process.ts";
import { listenForProxy } from "./proxy-socket.ts";

/** The id of the system's user and group of this name. */
const USER_NOBODY = 65_534;

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

  test("does not replace the socket of a program that is too busy to accept connections", async () => {
    const path = pathIn(folder);
    await spawnBusy(path);
    await expect(open(path)).rejects.toThrow(/another program listens on/);
    expect(existsSync(path)).toBe(true);
  });

  test.runIf(process.getuid?.() === 0)("is refused with the remedy if the server may not create it", async () => {
    chmodSync(base, 0o755);
    chmodSync(folder, 0o550);
    chownSync(folder, USER_NOBODY, USER_NOBODY);
    const module = join(import.meta.dirname, "proxy-socket.ts");
    const options = JSON.stringify({ path: pathIn(folder), shownFolders: [] });
    const script = `
      import { createServer } from "node:net";
      import { listenForProxy } from ${JSON.stringify(module)};
      await listenForProxy(createServer(), ${options}).catch(({ message }) => console.log(message));`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
      uid: USER_NOBODY,
      gid: USER_NOBODY,
      cwd: "/",
    });
    expect(await text(child.stdout)).toMatch(
      /^HEADGATE_PROXY_SOCKET: the user of Headgate cannot create files in .*: as root, run install -d -m 0750/,
    );
  });

  test("does not replace the socket of a running server, nor another file", async () => {
    await open(pathIn(folder));
    await expect(open(pathIn(folder))).rejects.toThrow(/another program listens on .*: stop it, remove the socket/);
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

/** A process that listens there, accepts nothing, and whose queue of connections is full. */
async function spawnBusy(path: string): Promise<void> {
  const listen = `listen({ path: ${JSON.stringify(path)}, backlog: 1 }, () => process.kill(process.pid, "SIGSTOP"))`;
  const child = spawn(process.execPath, ["-e", `require("node:net").createServer().${listen}`]);
  onTestFinished(() => void child.kill("SIGKILL"));
  let refusal: unknown;
  await expect
    .poll(
      async () => {
        const socket = connect(path);
        onTestFinished(() => void socket.destroy());
        await once(socket, "connect").catch((error: unknown) => (refusal = String(error)));
        return refusal;
      },
      { interval: 5 },
    )
    .toContain("EAGAIN");
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
