import { once } from "node:events";
import { createServer } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { isExhaustive } from "../../../test/support/exhaustive.ts";
import { startThriftServer, type AnswerCall, type ThriftServer } from "../../../test/thrift/thrift-server.ts";
import { addressRefusal } from "../../lib/network-policy.ts";
import { renderReply, type CallHead } from "./codec/message.ts";
import { HiveClient, type HiveClientOptions } from "./hive-client.ts";
import { addPartitions, getAllDatabases, getAllTables, getPartitionNames, getTables } from "./hive-functions.ts";
import type { HiveTable } from "./hive-structs.ts";

const opened: { close(): unknown }[] = [];

afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
});

async function serve(answer: AnswerCall): Promise<ThriftServer> {
  const server = await startThriftServer(answer);
  opened.push({ close: () => server.stop() });
  return server;
}

function connectTo({ port }: { port: number }, changes: Partial<HiveClientOptions> = {}): HiveClient {
  const client = new HiveClient({ host: "127.0.0.1", port, checkAddress: () => null, user: "us", ...changes });
  opened.push(client);
  return client;
}

const soon = (ms = 45_000): AbortSignal => AbortSignal.timeout(ms);
const databases = (call: CallHead): Buffer => renderReply(getAllDatabases, call.sequence, { success: ["default"] });
const hex = (text: string): Buffer => Buffer.from(text.replaceAll(" ", ""), "hex");
/** An answer to `get_all_databases` with another result; a valid one is `0f 0000 0b`, the length and the names. */
const reply = (call: CallHead, rest: string): Buffer => Buffer.concat([databases(call).subarray(0, 29), hex(rest)]);

describe("a call to something that is not a metastore fails within its deadline:", () => {
  const garbage: [string, (call: CallHead) => Buffer][] = [
    ["a web server", () => Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n")],
    ["zeros", () => Buffer.alloc(100_000)],
    ["an old protocol version", () => hex("00000011")],
    ["an answer of another function", (call) => renderReply(getAllTables, call.sequence, { success: [] })],
    ["an answer to another call", (call) => databases({ ...call, sequence: call.sequence + 1 })],
    ["a call instead of an answer", (call) => Buffer.concat([hex("80010001"), databases(call).subarray(4)])],
    ["data after the answer", (call) => Buffer.concat([databases(call), Buffer.of(0)])],
    ["a name of 2 GB", () => hex("80010002 7fffffff")],
    ["2 billion names", (call) => reply(call, "0f0000 0b 7fffffff")],
    ["2 billion numbers instead of names", (call) => reply(call, "0f0000 08 7fffffff")],
    ["a name of -1 bytes", (call) => reply(call, "0f0000 0b 00000001 ffffffff")],
    ["a field of an unknown type", (call) => reply(call, "63 0007")],
    ["endlessly nested structs", (call) => reply(call, "0c0007".repeat(100_000))],
    ["an unknown field of 2 GB", (call) => reply(call, "0b0007 7fffffff")],
  ];

  test.each(garbage)("%s", async (_, answer) => {
    const server = await serve((socket, call) => socket.write(answer(call)));
    // Only missing names are waited for until the deadline; everything else fails immediately.
    const failure = connectTo(server).databaseNames(soon(1000));
    await expect(failure).rejects.toMatchObject({
      name: "Fault",
      code: "unavailable",
      publicMessage: expect.stringMatching(/^The Hive metastore at 127\.0\.0\.1:\d+ did not answer/),
    });
    await expect.poll(() => server.connections().open).toBe(0);
  });

  test.each([1, 12, 29, 33, 40])("an answer that is truncated after %i bytes", async (length) => {
    const server = await serve((socket, call) => socket.end(databases(call).subarray(0, length)));
    await expect(connectTo(server).databaseNames(soon())).rejects.toMatchObject({
      code: "unavailable",
      publicMessage: expect.stringMatching(/closed the connection\.$/),
    });
    expect(server.calls).toEqual([getAllDatabases.name]);
  });

  test.each([0, 1, 33])(
    "an answer that stalls after %i bytes, and its connection is not used again",
    async (length) => {
      let isStalled = true;
      const server = await serve((socket, call) => {
        socket.write(isStalled ? databases(call).subarray(0, length) : databases(call));
      });
      const client = connectTo(server);
      await expect(client.databaseNames(soon(100))).rejects.toMatchObject({
        code: "unavailable",
        publicMessage: expect.stringMatching(/did not answer in time\.$/),
      });
      isStalled = false;
      expect(await client.databaseNames(soon())).toEqual(["default"]);
      expect(server.connections().made).toBe(2);
    },
  );

  test("no answer to a caller without a deadline, by the client's own timeout", async () => {
    const server = await serve(() => undefined);
    const client = connectTo(server, { callTimeoutMs: 100 });
    await expect(client.databaseNames(new AbortController().signal)).rejects.toMatchObject({ code: "unavailable" });
  });

  test("no answer to the handshake, or a closed connection", async () => {
    const silent = createServer({ allowHalfOpen: true }, (socket) => socket.on("error", () => undefined));
    const rude = createServer((socket) => socket.on("error", () => undefined).once("data", () => socket.destroy()));
    for (const [server, connectTimeoutMs, problem] of [
      [silent, 100, /did not answer in time/],
      [rude, 30_000, /closed the connection during the handshake/],
    ] as const) {
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      const client = connectTo(server.address() as { port: number }, { connectTimeoutMs }); // not a pipe
      await expect(client.databaseNames(soon())).rejects.toMatchObject({
        code: "unavailable",
        message: expect.stringMatching(problem),
      });
      server.close();
    }
  });

  test("a closed port", async () => {
    const server = await startThriftServer(() => undefined);
    await server.stop();
    await expect(connectTo(server).databaseNames(soon())).rejects.toMatchObject({
      code: "unavailable",
      publicMessage: `The Hive metastore at 127.0.0.1:${server.port} cannot be reached (ECONNREFUSED).`,
    });
  });

  test("a caller that aborts gets its own reason", async () => {
    const asked = Promise.withResolvers<void>();
    const server = await serve(() => asked.resolve());
    const off = new AbortController();
    const failure = connectTo(server).databaseNames(off.signal);
    await asked.promise;
    off.abort(new Error("no longer"));
    await expect(failure).rejects.toThrow("no longer");
    await expect.poll(() => server.connections().open).toBe(0);
  });
});

test.each(["127.0.0.1", "localhost"])("no connection to %s is made if the address check refuses it", async (host) => {
  const server = await serve((socket, call) => socket.write(databases(call)));
  const checkAddress = (address: string): string | null => addressRefusal(address, []) ?? null;
  await expect(connectTo(server, { host, checkAddress }).databaseNames(soon())).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringMatching(/^the address of the Hive metastore must not be in a loopback/),
  });
  expect(server.connections().made).toBe(0);
});

test("an answer without a result is an error", async () => {
  const server = await serve((socket, call) => socket.write(renderReply(getAllDatabases, call.sequence, {})));
  await expect(connectTo(server).databaseNames(soon())).rejects.toMatchObject({ name: "HiveError", kind: "failed" });
});

test("a function that the metastore does not know is an error of its own kind", async () => {
  const message = "Invalid method name: 'get_all_databases'";
  const server = await serve((socket, call) => {
    const head = databases(call).subarray(0, 29);
    head[3] = 3;
    const text = Buffer.from(message);
    socket.write(
      Buffer.concat([head, hex("0b0001"), Buffer.of(0, 0, 0, text.length), text, hex("080002 00000001 00")]),
    );
  });
  const client = connectTo(server);
  await expect(client.databaseNames(soon())).rejects.toMatchObject({
    kind: "unknown-function",
    message: expect.stringMatching(/Invalid/),
  });
  await expect(client.databaseNames(soon())).rejects.toMatchObject({ kind: "unknown-function" });
  expect(server.connections().made).toBe(1);
});

describe("connections", () => {
  test("are limited in number and reused", async () => {
    const held: (() => void)[] = [];
    const server = await serve((socket, call) => held.push(() => socket.write(databases(call))));
    const client = connectTo(server, { maxConnections: 3 });
    const calls = Array.from({ length: 9 }, () => client.databaseNames(soon()));
    for (let left = 9; left > 0; left -= 3) {
      await expect.poll(() => held).toHaveLength(3);
      expect(server.connections()).toEqual({ made: 3, open: 3 });
      for (const answer of held.splice(0)) answer();
    }
    expect(await Promise.all(calls)).toHaveLength(9);
  });

  test("a call waits for one no longer than its deadline, and is not sent afterwards", async () => {
    const held: (() => void)[] = [];
    const server = await serve((socket, call) => held.push(() => socket.write(databases(call))));
    const client = connectTo(server, { maxConnections: 1 });
    const first = client.databaseNames(soon());
    await expect.poll(() => held).toHaveLength(1);
    await expect(client.databaseNames(soon(50))).rejects.toMatchObject({ code: "unavailable" });
    held[0]?.();
    expect(await first).toEqual(["default"]);
    expect(server.calls).toHaveLength(1);
  });

  test("are closed when idle and with the client", async () => {
    const server = await serve((socket, call) => socket.write(databases(call)));
    await connectTo(server, { idleMs: 20 }).databaseNames(soon());
    await expect.poll(() => server.connections().open).toBe(0);
    const client = connectTo(server);
    await client.databaseNames(soon());
    expect(server.connections().open).toBe(1);
    client.close();
    await expect.poll(() => server.connections().open).toBe(0);
  });

  /** The first connection dies at its second call, before the client can notice. */
  const dyingServer = (): Promise<ThriftServer> => {
    let count = 0;
    return serve((socket, call) => {
      count += 1;
      if (count === 2) socket.resetAndDestroy();
      else socket.write(call.name === addPartitions.name ? added(call) : databases(call));
    });
  };
  const added = (call: CallHead): Buffer => renderReply(addPartitions, call.sequence, { success: {} });

  test("a read on a dead one is repeated once on a new one", async () => {
    const server = await dyingServer();
    const client = connectTo(server);
    await client.databaseNames(soon());
    expect(await client.databaseNames(soon())).toEqual(["default"]);
    expect([server.calls.length, server.connections().made]).toEqual([3, 2]);
  });

  test("a write on a dead one is not repeated, because its outcome is unknown", async () => {
    const server = await dyingServer();
    const client = connectTo(server);
    await client.addPartitions("d", "t", [], soon());
    await expect(client.addPartitions("d", "t", [], soon())).rejects.toMatchObject({ code: "unavailable" });
    expect(server.calls).toHaveLength(2);
  });

  test("one that died while idle is replaced, even for a write", async () => {
    const server = await serve((socket, call) => socket.write(added(call)));
    const client = connectTo(server);
    await client.addPartitions("d", "t", [], soon());
    server.cutAll();
    await expect.poll(() => server.connections().open).toBe(0);
    await client.addPartitions("d", "t", [], soon());
    expect(server.calls).toHaveLength(2);
  });
});

describe("a long answer", () => {
  const columns = Array.from({ length: 20 }, (_, n) => ({ name: `column_${n}`, type: "decimal(38,18)", comment: "" }));
  const table = (n: number): HiveTable => ({ tableName: `t${n}`, dbName: "d", sd: { cols: columns } });
  const names = Array.from({ length: isExhaustive ? 10_000 : 2000 }, (_, n) => `t${n}`);

  test("of thousands of tables arrives in pieces, in order", async () => {
    let at = 0;
    const pieces = names.length / 100;
    const server = await serve((socket, call) => {
      const first = at;
      at += names.length / pieces;
      const tables = Array.from({ length: names.length / pieces }, (_, n) => table(first + n));
      socket.write(renderReply(getTables, call.sequence, { success: { tables } }));
    });
    let next = 0;
    for await (const tables of connectTo(server, { maxConnections: 1 }).tables("d", names, soon())) {
      for (const { tableName } of tables) {
        expect(tableName).toBe(`t${next}`);
        next += 1;
      }
    }
    expect([next, server.calls.length]).toEqual([names.length, pieces]);
  });

  test("above the size limit fails before it is in memory", async () => {
    const piece = Buffer.alloc(64 * 1024);
    let isCut = false;
    let sent = 0;
    const server = await serve((socket, call) => {
      socket.once("close", () => (isCut = true));
      socket.write(reply(call, "0f0000 0b 00ffffff"));
      const send = (): void => {
        while (!isCut && socket.write(piece)) sent += piece.length;
      };
      socket.on("drain", send);
      send();
    });
    const client = connectTo(server, { budgetBytes: 16 * 1024 * 1024 });
    await expect(client.databaseNames(soon())).rejects.toThrow(/exceeds the size limit/);
    // An empty string has four bytes on the wire, but the budget counts its memory, which is more.
    expect(sent).toBeLessThan(16 * 1024 * 1024);
  });
});

test("a list of names has a smaller limit than other answers", async () => {
  const names = Array.from({ length: 800 }, (_, at) => `${"n".repeat(50_000)}_${at}`);
  const server = await serve((socket, call) =>
    socket.write(renderReply(getAllTables, call.sequence, { success: names })),
  );
  await expect(connectTo(server).tableNames("default", soon())).rejects.toMatchObject({ code: "unavailable" });
});

test("other partitions that match the pattern do not displace the requested one", async () => {
  const limited = renderedNames(["day=axb"]);
  const all = renderedNames(["day=axb", "day=a_b"]);
  const server = await serve((socket, call) => socket.write((server.calls.length === 1 ? limited : all)(call)));
  const choice = { values: ["a_b"], limit: 1 };
  expect(await connectTo(server).partitionNames("default", "t", choice, soon())).toEqual(["day=a_b"]);
  expect(server.calls).toHaveLength(2);
});

function renderedNames(success: string[]): (call: CallHead) => Buffer {
  return ({ sequence }) => renderReply(getPartitionNames, sequence, { success });
}
