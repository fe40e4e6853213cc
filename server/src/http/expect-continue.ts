/**
 * `Expect: 100-continue`: the client sends its body when it is asked to. It is asked when the body is read, so a client
 * whose request is refused before that need not send a large body.
 */
import type { IncomingMessage, Server, ServerResponse } from "node:http";

const waiting = new WeakMap<IncomingMessage, ServerResponse>();

export function takeExpectations(server: Server): void {
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    waiting.set(request, response);
    server.emit("request", request, response);
  });
  // Unknown expectations are ignored; Node's own refusal has no body.
  server.on("checkExpectation", (request, response) => server.emit("request", request, response));
}

/** Asks the client for the body, if it waits for that. */
export function sendContinue(request: IncomingMessage): void {
  const response = waiting.get(request);
  waiting.delete(request);
  if (response !== undefined && !response.headersSent && !response.destroyed) response.writeContinue();
}

/** The client has not sent its body, and may never do so. */
export function awaitsContinue(request: IncomingMessage): boolean {
  return waiting.has(request);
}
