import { expect, test } from "vitest";
import { useServer } from "../../test/support/given.ts";

/** No driver runs programs here, so commands wait forever. */
const given = useServer();

test("a stop ends followed logs at once", async () => {
  const account = await given.operator();
  const { id } = await account.post("/commands", { command_type: "SparkCommand", cmdline: "own.py" });
  const followed = await fetch(`${given.base}/api/v1.2/commands/${id}/logs?follow=true`, {
    headers: { "X-AUTH-TOKEN": account.token ?? "" },
  });
  const text = followed.text();
  const begun = performance.now();
  await given.app.stop();
  expect(performance.now() - begun).toBeLessThan(18_000); // requests that do not end are cut off after 20 s
  expect(await text).toBe(": following\n\n");
});
