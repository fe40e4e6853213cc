import { expect, test } from "vitest";
import { collectGarbage } from "../../../test/memory/live-memory.ts";
import { useServer } from "../../../test/support/given.ts";
import { givenQuery } from "../../../test/support/queried-rows.ts";
import { numbered, sizeOf, streamed } from "../../../test/support/streamed-results.ts";

const given = useServer();
const MIB = 1024 * 1024;

test("a large result is streamed without being held in memory, however slow its readers are", async () => {
  const account = await given.account();
  const { id } = await givenQuery(given, account, numbered(400));
  await sizeOf(await streamed(given, account, `/commands/${id}/results?format=csv`)); // starts the thread and allocates its buffers
  collectGarbage(); // of earlier test files
  const before = process.memoryUsage.rss();
  let highest = before;
  const watch = setInterval(() => {
    highest = Math.max(highest, process.memoryUsage.rss());
  }, 20);
  const waiting = await Promise.all(
    ["csv", "json", "raw"].map((format) => streamed(given, account, `/commands/${id}/results?format=${format}`)),
  );
  const size = await sizeOf(await streamed(given, account, `/commands/${id}/results?format=csv&include_headers=true`));
  clearInterval(watch);
  for (const one of waiting) one.destroy();
  expect(size).toBeGreaterThan(100 * MIB);
  expect(highest - before).toBeLessThan(80 * MIB);
});
