import { readdirSync, readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from "node:fs";
import { Int32, tableFromIPC, Utf8, vectorFromArray } from "apache-arrow";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { received, streamOf } from "../../../test/support/arrow-streams.ts";
import { useServer } from "../../../test/support/given.ts";
import { NUMBERED_ROWS } from "../../../test/support/numbered-batches.ts";
import { givenQuery, publish } from "../../../test/support/queried-rows.ts";
import { numbered, sizeOf, streamed } from "../../../test/support/streamed-results.ts";
import { commandFiles } from "../execution/command-files.ts";
import { filePruner } from "../prune-files.ts";

const given = useServer();
const PATIENCE = { timeout: 45_000 };
const MIB = 1024 * 1024;

const odd = received([
  {
    data: streamOf({
      n: vectorFromArray([1, null], new Int32()),
      "a,b": vectorFromArray(['say "é"\t\u0001', ""], new Utf8()),
    }),
    rows: 2,
  },
]);

function timesOpen(path: string): number {
  const handles = readdirSync("/proc/self/fd").map((name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`);
    } catch {
      return ""; // it was the one of the listing
    }
  });
  return handles.filter((target) => target === path).length;
}

describe("the rows of a query", () => {
  test.each([
    ["", "application/json; charset=utf-8", '{"inline":true,"results":"1\\tsay \\"é\\"\\t\\u0001\\r\\nNULL\\t\\r\\n"}'],
    [
      "?include_headers=true&raw=1",
      "application/json; charset=utf-8",
      '{"inline":true,"results":"n\\u0001a,b\\r\\n1\\u0001say \\"é\\"\\t\\u0001\\r\\nNULL\\u0001\\r\\n"}',
    ],
    ["?format=raw", "application/octet-stream", '1\tsay "é"\t\u0001\r\nNULL\t\r\n'],
    ["?format=csv&include_headers=true", "text/csv; charset=utf-8", 'n,"a,b"\r\n1,"say ""é""\t\u0001"\r\n,""\r\n'],
    ["?format=csv", "text/csv; charset=utf-8", '1,"say ""é""\t\u0001"\r\n,""\r\n'],
    [
      "?format=json&raw=true&include_headers=true",
      "application/json; charset=utf-8",
      '[\n{"n":1,"a,b":"say \\"é\\"\\t\\u0001"},\n{"n":null,"a,b":""}\n]\n',
    ],
  ])("are there as asked: %s", async (query, type, text) => {
    const account = await given.account();
    const { id } = await givenQuery(given, account, odd);
    const reply = await account.get(`/commands/${id}/results${query}`).reply();
    expect([reply.status, reply.headers.get("content-type"), reply.text]).toEqual([200, type, text]);
  });

  test("can be read as one Arrow stream", async () => {
    const account = await given.account();
    const { id } = await givenQuery(given, account, numbered(3));
    const response = await fetch(`${given.base}/api/v1.2/commands/${id}/results?format=arrow`, {
      headers: { "X-AUTH-TOKEN": account.token ?? "" },
    });
    expect(response.headers.get("content-type")).toBe("application/vnd.apache.arrow.stream");
    const table = tableFromIPC(new Uint8Array(await response.arrayBuffer()));
    expect([table.numRows, table.getChild("n")?.get(2 * NUMBERED_ROWS)]).toEqual([1500, 1000]);
  });

  test("are part of status_with_results", async () => {
    const account = await given.account();
    const { id } = await givenQuery(given, account, odd);
    expect(await account.get(`/commands/${id}/status_with_results`)).toEqual({
      id,
      status: "done",
      progress: 0,
      error: null,
      inline: true,
      results: '1\tsay "é"\t\u0001\r\nNULL\t\r\n',
    });
  });

  test("are inline below 20 MiB of text, even if their JSON is larger", async () => {
    const account = await given.account();
    const kibibyte = `${'"'.repeat(100)}${"x".repeat(922)}`; // and a line end
    const batchOf = (texts: string[]) => ({ data: streamOf({ t: vectorFromArray(texts, new Utf8()) }), rows: 1024 });
    const mebibyte = batchOf(Array.from({ length: 1024 }, () => kibibyte));
    const oneByteLess = batchOf([...Array.from({ length: 1023 }, () => kibibyte), kibibyte.slice(1)]);
    const mebibytes = Array.from({ length: 19 }, () => mebibyte);
    const below = await givenQuery(given, account, received([...mebibytes, oneByteLess]));
    expect((await account.get(`/commands/${below.id}/results`)).results).toHaveLength(20 * MIB - 1);
    const { id } = await givenQuery(given, account, received([...mebibytes, mebibyte]));
    expect(await account.get(`/commands/${id}/status_with_results`)).toMatchObject({ inline: false, results: null });
    expect(await account.get(`/commands/${id}/results`)).toMatchObject({ inline: false });
    expect(await sizeOf(await streamed(given, account, `/commands/${id}/results?format=raw`))).toBe(20 * MIB);
  });

  test("of 20 MiB and more are in the account's storage, as text without headers, uploaded once", async () => {
    const account = await given.account();
    const { id } = await givenQuery(given, account, numbered(70));
    const path = `/commands/${id}/results?include_headers=true&raw=true`;
    const { result_location: location } = await account.get(path);
    const { storage_location: root } = await account.get("/account");
    expect(location).toEqual([
      expect.stringMatching(new RegExp(`^${root}/tmp/[-0-9]{10}/${account.accountId}/${id}/`)),
    ]);
    const file = new URL(location[0]);
    const raw = await fetch(`${given.base}/api/v1.2/commands/${id}/results?format=raw`, {
      headers: { "X-AUTH-TOKEN": account.token ?? "" },
    });
    expect(readFileSync(file).equals(Buffer.from(await raw.arrayBuffer()))).toBe(true);
    const { ino } = statSync(file);
    expect((await account.get(path)).result_location).toEqual(location);
    expect(statSync(file).ino).toBe(ino);
  });

  test("are published to the account's storage, unless there are none", async () => {
    const account = await given.account();
    const full = await givenQuery(given, account, odd);
    const none = streamOf({ n: vectorFromArray([], new Int32()) });
    const empty = await givenQuery(given, account, received([{ data: none, rows: 0 }]));
    for (const { id } of [full, empty]) await publish(given, id);
    const published = () =>
      given.app.services.db.system.query("select from command_publishing where command_id = any ($1)", [
        [full.id, empty.id],
      ]);
    await expect.poll(async () => (await published()).length, PATIENCE).toBe(0);
    const { storage_location: root } = await account.get("/account");
    const { path } = await account.get(`/commands/${full.id}`);
    expect(readFileSync(new URL(`${root}${path}/results`), "utf8")).toBe('1\tsay "é"\t\u0001\r\nNULL\t\r\n');
    expect(readdirSync(new URL(`${root}${path}/..`))).toEqual([String(full.id)]);
    expect(await account.get(`/commands/${empty.id}/results?include_headers=1`)).toMatchObject({ results: "n\r\n" });
  });
});

describe("a script that returned nothing", () => {
  test("has an empty result in every format, even after its files were removed", async () => {
    const account = await given.account();
    const { id } = await givenQuery(given, account);
    rmSync(commandFiles(given.dataDir, account.accountId, id).folder, { recursive: true });
    const text = async (query: string) => (await account.get(`/commands/${id}/results${query}`).reply()).text;
    expect(await account.get(`/commands/${id}/results?include_headers=true`)).toEqual({ inline: true, results: "" });
    expect(await account.get(`/commands/${id}/status_with_results`)).toMatchObject({ inline: true, results: "" });
    expect([await text("?format=raw"), await text("?format=csv"), await text("?format=json")]).toEqual([
      "",
      "",
      "[]\n",
    ]);
    const arrow = await streamed(given, account, `/commands/${id}/results?format=arrow`);
    const table = tableFromIPC(Buffer.concat(await Array.fromAsync(arrow as AsyncIterable<Buffer>)));
    expect([table.numRows, table.numCols]).toEqual([0, 0]);
  });
});

describe("rows that were removed", () => {
  test("are refused in every format", async () => {
    const account = await given.account();
    const { id, spool } = await givenQuery(given, account, odd);
    const files = commandFiles(given.dataDir, account.accountId, id).attempt(1);
    writeFileSync(files.log, "log");
    const days = { resultsDays: 1, logsDays: 30, sizeBytes: 1000 * MIB };
    const later = new Date(Date.now() + 2 * 24 * 3_600_000);
    await filePruner(
      {
        db: given.app.services.db,
        clock: { now: () => later },
        dataDir: given.dataDir,
        log: pino({ level: "silent" }),
      },
      days,
    )();
    expect(readdirSync(files.folder)).toEqual(["log"]);
    expect(spool?.rows).toBe(2);
    for (const query of ["", "?format=raw", "?format=csv", "?format=json", "?format=arrow"]) {
      await account.get(`/commands/${id}/results${query}`).refused(422, /^results of this command have been removed/);
    }
    expect(await account.get(`/commands/${id}/status_with_results`)).toMatchObject({ inline: null, results: null });
  });

  test("are never read from the folder of a program", async () => {
    const account = await given.account();
    const { id } = await givenQuery(given, account, odd);
    await given.app.services.db.system.query("update command set kind = 'program' where id = $1", [id]);
    await account.get(`/commands/${id}/results?format=json`).refused(422, /^results of this command have been removed/);
    writeFileSync(commandFiles(given.dataDir, account.accountId, id).attempt(1).output, "printed");
    expect(await account.get(`/commands/${id}/results`)).toEqual({ inline: true, results: "printed" });
    await account.get(`/commands/${id}/results?format=json`).refused(422, /^format must be raw/);
  });

  test("that are damaged abort the reply", async () => {
    const account = await given.account();
    const { id, spool } = await givenQuery(given, account, numbered(30));
    const dataFile = spool?.dataFile ?? "";
    const bytes = readFileSync(dataFile);
    bytes.fill(0, bytes.length - 1000);
    writeFileSync(dataFile, bytes);
    const reply = await streamed(given, account, `/commands/${id}/results?format=csv`);
    expect(reply.statusCode).toBe(200);
    await expect(sizeOf(reply)).rejects.toThrow("aborted");
  });
});

/** `query-results.full.test.ts` measures the memory of a larger one. */
describe("a large result", () => {
  test("is no longer read when its client disconnects", async () => {
    const account = await given.account();
    const { id, spool } = await givenQuery(given, account, numbered(400));
    const dataFile = spool?.dataFile ?? "";
    const readers = await Promise.all(
      ["csv", "json", "arrow", "raw"].map((format) =>
        streamed(given, account, `/commands/${id}/results?format=${format}`),
      ),
    );
    expect(timesOpen(dataFile)).toBe(4);
    for (const reader of readers) reader.destroy();
    await expect.poll(() => timesOpen(dataFile), PATIENCE).toBe(0);
  });

  test("is refused when the user reads too many, while other accounts can still read theirs", async () => {
    const [account, other] = await Promise.all([given.account(), given.account()]);
    const { id } = await givenQuery(given, account, numbered(30));
    const { id: ofOther } = await givenQuery(given, other, odd);
    const formats = ["csv", ...Array.from({ length: 24 }, () => "arrow")];
    const slow = (format: string) => streamed(given, account, `/commands/${id}/results?format=${format}`);
    const readers = await Promise.all(formats.map(slow));
    for (const query of ["", "?format=csv"]) {
      const { headers } = await account
        .get(`/commands/${id}/results${query}`)
        .refused(429, /too many open uploads and downloads/);
      expect(headers.get("retry-after")).toBe("30");
      expect((await other.get(`/commands/${ofOther}/results${query}`).reply()).status).toBe(200);
    }
    for (const reader of readers) reader.destroy();
    await expect.poll(async () => (await account.get(`/commands/${id}/results`).reply()).status, PATIENCE).toBe(200);
  });

  test("that is inline is no longer read when its client disconnects", async () => {
    const account = await given.account();
    const { id, spool } = await givenQuery(given, account, numbered(30));
    const reader = await streamed(given, account, `/commands/${id}/results`);
    expect(timesOpen(spool?.dataFile ?? "")).toBe(1);
    reader.destroy();
    await expect.poll(() => timesOpen(spool?.dataFile ?? ""), PATIENCE).toBe(0);
  });
});
