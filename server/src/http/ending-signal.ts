import type { FastifyInstance, FastifyReply } from "fastify";

/**
 * For what waits or follows: given when the client has gone away or the server is about to stop, so that a stop takes
 * no longer than the work that is really under way. Made only for requests that ask for it.
 */
export function endingSignals(server: FastifyInstance): (reply: FastifyReply) => AbortSignal {
  const open = new Set<AbortController>();
  let isStopping = false;
  server.addHook("preClose", (done) => {
    isStopping = true;
    for (const controller of open) controller.abort();
    done();
  });
  // Its head was sent when connections were still kept: nobody else would close this one.
  server.addHook("onResponse", ({ raw }, _reply, done) => {
    if (isStopping) raw.socket.end();
    done();
  });
  return ({ raw }) => {
    const controller = new AbortController();
    open.add(controller);
    raw.once("close", () => {
      open.delete(controller);
      controller.abort();
    });
    if (isStopping || raw.destroyed) controller.abort();
    return controller.signal;
  };
}
