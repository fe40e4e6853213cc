import { expect, test } from "vitest";
import { useServer } from "../../test/support/given.ts";
import { rawSocket } from "../../test/support/raw-request.ts";

const given = useServer();

test("a connection that does not send its headers within thirty seconds is 408", async () => {
  const beganAt = performance.now();
  const replies = await Promise.all(
    ["", "GET /healthz HTTP/1.1\r\nX-Slow: "].map((bytes) => rawSocket(given.base, bytes)),
  );
  for (const reply of replies) expect(reply.status).toBe(408);
  expect(performance.now() - beganAt).toBeLessThan(45_000);
});
