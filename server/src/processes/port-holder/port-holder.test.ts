import { spawn, type StdioOptions } from "node:child_process";
import { once } from "node:events";
import { rmSync, statSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, test, vi } from "vitest";
import { freePort, isFree } from "../../../test/support/free-port.ts";
import { aPortToHold, ANSWER, GET } from "../../../test/support/port-to-hold.ts";
import { loopbacks } from "../../../test/support/loopback.ts";
import { because } from "../../../test/skip-reasons/skip-reasons.ts";
import { findPython, howToInstallPython } from "../set-up/find-python.ts";
import { ACCEPTS_A_TURN, endPortHolder } from "./port-holder.ts";

const python = await findPython();
const PATIENCE = { timeout: 45_000 };
const options = { concurrent: true, ...because(howToInstallPython()) };
describe.skipIf(python === undefined)("the holder of a port", options, () => {
  test("answers on IPv4 and IPv6 whenever the server does not serve", async ({ expect, onTestFinished }) => {
    const { port, hold, holders, say } = await aPortToHold(onTestFinished);
    const held = await hold();
    expect(held.sockets).toHaveLength(ACCEPTS_A_TURN * loopbacks.length);
    for (const host of loopbacks) expect(await say(GET, host)).toBe(ANSWER);
    await held.serve(true);
    const waiting = say(GET); // no server accepts it in this test
    await held.serve(false);
    expect(await waiting).toBe(ANSWER);
    await held.release();
    expect(await isFree(port)).toBe(true);
    expect(await holders()).toEqual([]);
  });

  test("limits the time of slow, endless and silent clients, and answers HEAD without a body", async ({
    expect,
    onTestFinished,
  }) => {
    const { hold, say } = await aPortToHold(onTestFinished);
    const held = await hold();
    const head = ANSWER.replace(/away$/, "");
    const [slow, endless, silent, headOnly] = await Promise.all([
      say("GET / HTTP/1.1\r\n"),
      say(`GET / HTTP/1.1\r\nX: ${"x".repeat(20_000)}`),
      say(""),
      say(GET.replace("GET", "HEAD")),
    ]);
    expect({ slow, endless, silent, headOnly }).toEqual({ slow: ANSWER, endless: ANSWER, silent: "", headOnly: head });
    await held.release();
  });

  test("answers while hundreds of idle connections are open", async ({ expect, onTestFinished }) => {
    const { port, hold, say } = await aPortToHold(onTestFinished);
    const held = await hold();
    const idle = Array.from({ length: 400 }, () => connect(port, "127.0.0.1").on("error", () => undefined));
    await Promise.all(idle.map((client) => once(client, "connect")));
    expect(await say(GET)).toBe(ANSWER);
    for (const client of idle) client.destroy();
    await held.release();
  });

  test("stays while a runner lives, and hands the port to the next holder without a gap", async ({
    expect,
    onTestFinished,
  }) => {
    const { folder, port, hold, holders, say, pretendRunner } = await aPortToHold(onTestFinished);
    const runner = pretendRunner();
    await (await hold()).release();
    const [first] = await holders();
    expect(await say(GET)).toBe(ANSWER);
    expect(await isFree(port)).toBe(false);
    expect(statSync(join(folder, "port-holder.sock")).mode & 0o777).toBe(0o600);

    const connections = Array.from({ length: 50 }, () => say(GET));
    const next = await hold();
    expect(new Set(await Promise.all(connections))).toEqual(new Set([ANSWER]));
    await expect.poll(holders, PATIENCE).not.toContain(first);
    expect(await holders()).toHaveLength(1);
    await next.release();
    runner.end();
    await expect.poll(holders, PATIENCE).toEqual([]);
    expect(await isFree(port)).toBe(true);
  });

  test("is replaced when it is killed, while the port stays bound", async ({ expect, onTestFinished }) => {
    const { port, hold, holders, say } = await aPortToHold(onTestFinished);
    const held = await hold();
    await held.serve(true);
    const [killed = 0] = await holders();
    process.kill(killed, "SIGKILL");
    await vi.waitFor(async () => {
      expect(await isFree(port)).toBe(false);
      expect((await holders()).filter((pid) => pid !== killed)).toHaveLength(1);
    }, PATIENCE);
    await held.serve(false);
    for (const host of loopbacks) expect(await say(GET, host)).toBe(ANSWER);
    await held.release();
  });

  test("releases the old port when the next server uses another one or none", async ({ expect, onTestFinished }) => {
    const { folder, port, hold, pretendRunner } = await aPortToHold(onTestFinished);
    pretendRunner();
    await (await hold()).release();
    const other = await freePort();
    await (await hold(other)).release();
    expect(await isFree(port)).toBe(true);
    expect(await isFree(other)).toBe(false);
    await endPortHolder(folder);
    expect(await isFree(other)).toBe(true);
  });

  test("fails with the system's error if the port is taken", async ({ expect, onTestFinished }) => {
    const { folder, hold } = await aPortToHold(onTestFinished);
    const other = await hold();
    rmSync(join(folder, "port-holder.sock"));
    await expect(hold()).rejects.toMatchObject({ code: "EADDRINUSE", address: "127.0.0.1" });
    await other.release();
  });

  test("takes over the socket of a holder of another version, and binds the missing address", async ({
    expect,
    onTestFinished,
  }) => {
    const { hold, say, startOldHolder } = await aPortToHold(onTestFinished);
    const old = await startOldHolder("hands");
    const held = await hold();
    expect((await old.saidUntilItsEnd()).trim()).toBe("taken");
    expect(held.sockets).toHaveLength(ACCEPTS_A_TURN * loopbacks.length);
    for (const host of loopbacks) expect(await say(GET, host)).toBe(ANSWER);
    await held.release();
  });

  test("ends a previous holder that hands no sockets over", async ({ expect, onTestFinished }) => {
    const { hold, say, startOldHolder } = await aPortToHold(onTestFinished);
    const old = await startOldHolder("obeys");
    const held = await hold();
    await old.saidUntilItsEnd();
    expect(await say(GET)).toBe(ANSWER);
    await held.release();
  });

  test("moves to another address with the same port", async ({ expect, onTestFinished }) => {
    const { port, hold, holders, say, pretendRunner } = await aPortToHold(onTestFinished);
    const runner = pretendRunner();
    await (await hold()).release();
    const next = await hold(port, "127.0.0.2");
    expect(await say(GET, "127.0.0.2")).toBe(ANSWER);
    expect(await isFree(port)).toBe(true);
    runner.end();
    await next.release();
    await expect.poll(holders, PATIENCE).toEqual([]);
  });

  test("ignores a further address that this machine does not have", async ({ expect, onTestFinished }) => {
    const { folder, port, say } = await aPortToHold(onTestFinished);
    const addresses = ["127.0.0.1", "192.0.2.1"].map((host) => ({ host, ipv6Only: true })); // the second is reserved for documentation
    const order = { folder, addresses, port, answer: ANSWER, runners: [], inherited: 0, copies: 1, serving: false };
    const script = fileURLToPath(new URL("port-holder.py", import.meta.url));
    const stdio: StdioOptions = ["ignore", "ignore", "inherit", "ipc"];
    const holder = spawn(python?.path ?? "", ["-I", "-S", script, "hold", JSON.stringify(order)], { stdio });
    const messages: unknown[] = [];
    holder.on("message", (message) => messages.push(message));
    await expect.poll(() => messages, PATIENCE).toContainEqual({ holds: true });
    expect(await say(GET)).toBe(ANSWER);
    const ended = once(holder, "exit");
    holder.disconnect();
    await ended;
  });
});
