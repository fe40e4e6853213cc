import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { useServer, type AccountClient } from "../../test/support/given.ts";
import { runProgram, submitProgram } from "../../test/support/programs.ts";
import { stubDriver } from "../../test/support/stub-driver.ts";

const CONNECTIONS = 80;
/** The slots that follow from it. */
const WAITS_PER_USER = 20;
const WAITS_PER_ACCOUNT = 40;
const STREAMS_PER_USER = 1;

const given = useServer({ driver: stubDriver, settings: { HEADGATE_CONNECTIONS: String(CONNECTIONS) } });

interface Held {
  readonly socket: Socket;
  answer: string;
}

let held: Held[] = [];
afterEach(() => {
  for (const { socket } of held) socket.destroy();
  held = [];
});

/** Sends the request on a connection of its own, which stays open. A body is never complete. */
async function hold(client: AccountClient, request: string, isRead = true): Promise<Held> {
  const { hostname, port } = new URL(given.base);
  const [line = "", body = ""] = request.split("\n");
  const socket = connect(Number(port), hostname);
  const one: Held = { socket, answer: "" };
  held.push(one);
  socket.on("error", () => undefined);
  if (isRead) socket.on("data", (bytes) => (one.answer += bytes.toString()));
  await Promise.race([once(socket, "connect"), once(socket, "close")]);
  const length = body === "" ? "" : "Content-Length: 100\r\n";
  socket.write(`${line} HTTP/1.1\r\nHost: x\r\nX-AUTH-TOKEN: ${client.token}\r\n${length}\r\n${body}`);
  return one;
}

const holdMany = (client: AccountClient, request: string, count: number): Promise<Held[]> =>
  Promise.all(Array.from({ length: count }, () => hold(client, request)));
const answered = (some: readonly Held[]): Held[] => some.filter(({ answer }) => answer !== "");
const isOpen = ({ socket }: Held): boolean => socket.readyState === "open";

/** A command that does not end during the test. */
const unending = (account: AccountClient): Promise<number> => submitProgram(account, "exec sleep 600");

describe("requests that wait for an event", () => {
  test("are answered at once if the user has too many, and other users of the account wait", async () => {
    const account = await given.account();
    const colleague = await given.member(account, { groups: ["system-user"] });
    const id = await unending(account);
    const view = `GET /api/v1.2/commands/${id}?wait_seconds=60`;
    const many = await holdMany(account, view, WAITS_PER_USER + 5);
    await expect.poll(() => answered(many).length).toBe(5);
    for (const { answer } of answered(many)) expect(answer).toMatch(/^HTTP\/1.1 200 .*"status":"(waiting|running)"/s);

    const status = await account.get(`/commands/${id}/status_with_results?wait_seconds=60`);
    expect(status).toMatchObject({ id, results: null });
    const missing = `file:${join(given.dataDir, "accounts", String(account.accountId), "storage", "missing")}`;
    const sensor = { files: [missing], wait_seconds: 60 };
    expect(await account.post("/sensors/file_sensor", sensor)).toEqual({ status: "false" });

    const others = await holdMany(colleague, view, WAITS_PER_USER);
    expect(await account.get(`/commands/${id}?wait_seconds=60`)).toMatchObject({ id }); // in order: the others wait now
    expect(answered(others)).toEqual([]);
    await account.put(`/commands/${id}`, { status: "kill" });
    await expect.poll(() => answered([...many, ...others]).length).toBe(WAITS_PER_ACCOUNT + 5);
  });

  test("release their slots when their clients disconnect, even several on one connection", async () => {
    const account = await given.account();
    const id = await unending(account);
    const view = `GET /api/v1.2/commands/${id}?wait_seconds=60`;
    const pipelined = await hold(account, view);
    for (let n = 1; n < WAITS_PER_USER; n += 1) {
      pipelined.socket.write(`${view} HTTP/1.1\r\nHost: x\r\nX-AUTH-TOKEN: ${account.token}\r\n\r\n`);
    }
    const further = await holdMany(account, view, 3);
    await expect.poll(() => answered(further).length).toBeGreaterThan(0);
    for (const { socket } of [pipelined, ...further]) socket.destroy();
    await expect
      .poll(async () => {
        const later = await holdMany(account, view, WAITS_PER_USER + 1);
        await expect.poll(() => answered(later).length).toBeGreaterThan(0);
        for (const { socket } of later) socket.destroy();
        return answered(later).length;
      })
      .toBe(1);
  });
});

describe("a user who holds all connections", () => {
  test.each([
    ["waiting requests", (id: number) => `GET /api/v1.2/commands/${id}?wait_seconds=60`],
    ["unfinished bodies", () => "POST /api/v1.2/whitelist_ip\n{"],
  ])("with %s loses one to each new connection", async (_, requestOf) => {
    const attacker = await given.account();
    const neighbour = await given.account();
    const many = await holdMany(attacker, requestOf(await unending(attacker)), CONNECTIONS + 20);
    await attacker.get("/account"); // once this is answered, the others have been admitted
    const own = await holdMany(neighbour, "GET /api/v1.2/account", CONNECTIONS / 4);
    await expect.poll(() => answered(own).length).toBe(own.length);
    await neighbour.get("/account");
    expect(own.every(isOpen)).toBe(true);
    expect(many.filter(isOpen).length).toBeLessThanOrEqual(CONNECTIONS - own.length);
  });
});

describe("streams", () => {
  test("of a user are limited, beyond that 429, and other users can still read", async () => {
    const account = await given.account();
    const other = await given.account();
    const program = "head -c 60000000 /dev/zero"; // more than the buffers of a connection
    const [id, otherId] = [await runProgram(account, program), await runProgram(other, "echo small")];
    const stalled = await Promise.all(
      Array.from({ length: STREAMS_PER_USER }, () =>
        hold(account, `GET /api/v1.2/commands/${id}/results?format=raw`, false),
      ),
    );
    for (const { socket } of stalled) await once(socket, "readable");
    for (const path of [`/commands/${id}/results?format=raw`, `/commands/${id}/logs`]) {
      await expect.poll(async () => (await account.get(path).reply()).status).toBe(429);
      const refusal = await account.get(path).refused(429, /too many open uploads and downloads/);
      expect(refusal.headers.get("retry-after")).toBe("30");
    }
    const noSlot = { id, status: "done", inline: false, results: null };
    expect(await account.get(`/commands/${id}/status_with_results`)).toMatchObject(noSlot);
    expect((await other.get(`/commands/${otherId}/results`)).results).toBe("small\n");
    for (const { socket } of stalled) socket.destroy();
    await expect.poll(async () => (await account.get(`/commands/${id}/logs`).reply()).status).toBe(200);
  });
});
