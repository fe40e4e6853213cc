import { once } from "node:events";
import { connect } from "node:net";
import Fastify from "fastify";
import { expect, onTestFinished, test } from "vitest";
import { BodyBudget, receiveBodies } from "./receive-bodies.ts";

const MIB = 1024 * 1024;
const LIMITS = { accountBytes: 4 * MIB, nodeBytes: 8 * MIB };

test("a client that disconnects during admission reserves no memory for bodies", async () => {
  const budget = new BodyBudget(LIMITS);
  const server = Fastify();
  onTestFinished(() => server.close());
  receiveBodies(server, budget, (value) => value);
  const admitted = Promise.withResolvers<void>();
  let arrived = 0;
  let left = 0;
  let failed = 0;
  server.post("/", {
    async onRequest(request, reply) {
      request.bodyTerms = { limitBytes: 2 * MIB, owner: "one" };
      request.rawReply = reply.raw;
      reply.raw.once("close", () => (left += 1));
      arrived += 1;
      await admitted.promise;
    },
    handler: async () => "",
    errorHandler(_error, _request, reply) {
      failed += 1;
      void reply.send();
    },
  });
  const port = Number(new URL(await server.listen({ host: "127.0.0.1", port: 0 })).port);
  const sockets = await Promise.all(
    [1, 2].map(async () => {
      const socket = connect(port, "127.0.0.1");
      await once(socket, "connect");
      socket.write(
        `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${2 * MIB}\r\n\r\n{`,
      );
      return socket;
    }),
  );
  await expect.poll(() => arrived).toBe(2);
  for (const socket of sockets) socket.resetAndDestroy();
  await expect.poll(() => left).toBe(2);
  admitted.resolve();
  await expect.poll(() => failed).toBe(2);
  expect(() => budget.open("one").growTo(LIMITS.accountBytes)).not.toThrow();
});
