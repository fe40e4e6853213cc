import { createServer } from "node:net";
import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { expectErrorForm } from "../../test/support/client.ts";
import { rawSocket } from "../../test/support/raw-request.ts";
import { refuseBrokenRequest } from "./error-body.ts";

describe("a request that Node's parser refuses", () => {
  test.each([
    ["ERR_HTTP_REQUEST_TIMEOUT", 408],
    ["HPE_HEADER_OVERFLOW", 431],
    ["HPE_INVALID_METHOD", 400],
  ])("with %s is answered with %i in the common error format", async (code, status) => {
    const server = createServer((socket) => {
      socket.once("data", () =>
        refuseBrokenRequest(Object.assign(new Error("internal"), { code }), socket, "X-Svc-Trace-Id"),
      );
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    const reply = await rawSocket(`http://127.0.0.1:${address.port}`, "GET");
    server.close();
    expect(reply.status).toBe(status);
    expectErrorForm(reply);
    expect(reply.text).not.toContain("internal");
    expect(reply.headers.get("x-svc-trace-id")).toBe(reply.headers.get("x-request-id"));
  });
});
