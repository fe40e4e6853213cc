import { mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { scriptConnect, type ScriptedConnect } from "../../../test/support/scripted-connect.ts";
import { openConnect, type ConnectChannel } from "./spark-connect.ts";

/** The folder is one that a tenant's program can write to. */
let folder: string;
let own: ScriptedConnect;
let other: ScriptedConnect;
const inside = (name: string): string => join(folder, name);

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "headgate-sockets-"));
  own = await scriptConnect([], `unix:${inside("own")}`);
  other = await scriptConnect([], `unix:${inside("other")}`);
});
afterEach(() => {
  for (const server of [own, other]) server.stop();
  rmSync(folder, { recursive: true });
});

function open(name: string): ConnectChannel {
  return openConnect({ host: "localhost", port: 1, socket: inside(name), sessionUser: "u" });
}

test("a socket is used even if a link to another one replaces it", async () => {
  const channel = open("own");
  renameSync(inside("own"), inside("away"));
  symlinkSync(inside("other"), inside("own"));
  await expect(channel.ping()).resolves.toBeUndefined();
  expect({ own: own.released, other: other.released }).toEqual({ own: ["session"], other: [] });
  channel.close();
});

test("a link to a socket, a file and a missing socket are refused", () => {
  symlinkSync(inside("other"), inside("link"));
  writeFileSync(inside("file"), "");
  const reasons = { link: "there is something else in its place", file: "something else", missing: "ENOENT" };
  for (const [name, reason] of Object.entries(reasons)) expect(() => open(name)).toThrow(reason);
});
