import type { FastifyInstance, FastifyReply } from "fastify";

/**
 * Creates signals that abort when the client disconnects or the server starts to stop, so that long polls and followed
 * logs do not delay a stop. A signal is created only for handlers that request one.
 */
export function endingSignals(server: FastifyInstance): (reply: FastifyReply) => AbortSignal {
  const open = new Set<AbortController>();
  let isStopping = false;
  server.addHook("preClose", (done) => {
    isStopping = true;
    for (const controller of open) controller.abort();
    done();
  });
  // The headers of this response still allowed keep-alive, so the connection must be closed here.
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
