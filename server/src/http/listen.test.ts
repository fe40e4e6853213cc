import { spawn } from "node:child_process";
import { once } from "node:events";
import Fastify, { type FastifyInstance } from "fastify";
import { describe, expect, test } from "vitest";
import { because, NO_IPV6 } from "../../test/skip-reasons/skip-reasons.ts";
import { freePort, isFree } from "../../test/support/free-port.ts";
import { hasIpv6, inUrl, loopbacks } from "../../test/support/loopback.ts";
import { findPython, howToInstallPython } from "../processes/set-up/find-python.ts";
import { listen, takeSystemdSockets } from "./listen.ts";

const python = await findPython();

/** Answers requests once `answer` is called. */
function aServer(): { server: FastifyInstance; answer: () => void } {
  const { promise, resolve: answer } = Promise.withResolvers<void>();
  const server = Fastify();
  server.get("/", () => "here");
  server.get("/slow", () => promise.then(() => "late"));
  return { server, answer };
}

const urlsOf = (port: number): string[] => loopbacks.map((host) => `http://${inUrl(host)}:${port}`);

describe("on loopback", () => {
  test.each([...loopbacks, "localhost"])("%s serves both address families, also on a free port", async (host) => {
    const { server } = aServer();
    const { url, drain } = await listen(server, { host, port: 0 });
    const port = Number(new URL(url).port);
    for (const each of urlsOf(port)) expect(await (await fetch(each)).text()).toBe("here");
    await drain();
    expect(await isFree(port)).toBe(true);
  });

  test("a drain waits for the requests of both address families", async () => {
    const { server, answer } = aServer();
    const { url, drain } = await listen(server, { host: "127.0.0.1", port: 0 });
    const port = Number(new URL(url).port);
    let arrived = 0;
    server.server.on("request", () => (arrived += 1));
    const replies = urlsOf(port).map(async (each) => (await fetch(`${each}/slow`)).text());
    await expect.poll(() => arrived).toBe(replies.length);
    const drained = drain();
    answer();
    expect(await Promise.all(replies)).toEqual(replies.map(() => "late"));
    await drained;
    expect(await isFree(port)).toBe(true);
  });

  test.skipIf(!hasIpv6)(
    "a port that is taken in one address family fails, and is not bound in the other",
    because(NO_IPV6),
    async () => {
      const port = await freePort();
      const other = aServer().server;
      await other.listen({ host: "::1", port });
      await expect(listen(aServer().server, { host: "127.0.0.1", port })).rejects.toMatchObject({ code: "EADDRINUSE" });
      await other.close();
      expect(await isFree(port)).toBe(true);
    },
  );
});

/** Starts a command as systemd does for a service with a socket unit. */
const ACTIVATE = `
import fcntl, os, socket, sys
copies = []
for address in sys.argv[2].split():
    listener = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, int(sys.argv[1])))
    listener.listen()
    copies.append(fcntl.fcntl(listener, fcntl.F_DUPFD, 30))
for number, copy in enumerate(copies):
    os.dup2(copy, 3 + number)
    os.close(copy)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(copies)), LISTEN_FDNAMES="a:b")
os.execv(sys.argv[3], sys.argv[3:])
`;

/** Serves the inherited sockets, prints their address and a child's view of them, and ends with its standard input. */
const SERVE = `
import { execFileSync } from "node:child_process";
import Fastify from "fastify";
import { listen, takeSystemdSockets } from ${JSON.stringify(import.meta.resolve("./listen.ts"))};
const sockets = takeSystemdSockets(process.env, process.pid);
const server = Fastify();
server.get("/", () => "here");
const { url, socketUrls, drain } = await listen(server, { host: "10.9.8.7", port: 1, sockets });
const child = execFileSync("/bin/sh", ["-c", "readlink /proc/$$/fd/3 /proc/$$/fd/4; :"], { encoding: "utf8" });
console.log(JSON.stringify({ url, socketUrls, child }));
process.stdin.resume().on("end", () => drain());
`;

describe("sockets that systemd has opened", () => {
  test.skipIf(python === undefined)(
    "are served at their own address, and not inherited by child processes",
    because(howToInstallPython()),
    async () => {
      const port = await freePort();
      const argv = [
        "-c",
        ACTIVATE,
        String(port),
        loopbacks.join(" "),
        process.execPath,
        "--input-type=module",
        "-e",
        SERVE,
      ];
      const child = spawn(python?.path ?? "", argv, { cwd: import.meta.dirname, stdio: ["pipe", "pipe", "inherit"] });
      const exited = once(child, "exit").then(() => ["{}"]);
      const [said] = await Promise.race([once(child.stdout, "data"), exited]);
      const { url, socketUrls, child: seen } = JSON.parse(String(said));
      expect({ url, socketUrls }).toEqual({ url: `http://127.0.0.1:${port}`, socketUrls: urlsOf(port) });
      expect(seen).toBe("");
      for (const each of urlsOf(port)) expect(await (await fetch(each)).text()).toBe("here");
      child.stdin.end();
      await exited;
      expect(await isFree(port)).toBe(true);
    },
  );

  test("are ignored if they are meant for another process", () => {
    const env = { LISTEN_PID: "7", LISTEN_FDS: "1", LISTEN_FDNAMES: "x", PATH: "/bin" };
    expect(takeSystemdSockets(env, 8)).toEqual([]);
    expect(env).toEqual({ PATH: "/bin" });
    expect(takeSystemdSockets({ LISTEN_PID: "7", LISTEN_FDS: "2" }, 7)).toEqual([{ fd: 3 }, { fd: 4 }]);
    for (const count of ["", "x", "-1"])
      expect(takeSystemdSockets({ LISTEN_PID: "7", LISTEN_FDS: count }, 7)).toEqual([]);
  });
});
