import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { BodyBudget } from "./body-budget.ts";
import { ANONYMOUS_TERMS } from "./body-terms.ts";
import { BodyParser, type ParsedBody } from "./body-parser.ts";
import { incompleteRequest } from "./error-body.ts";
import { readBody } from "./read-body.ts";

/** Reads and parses every body within the limits that the gate has set on its request. */
export function receiveBodies(
  server: FastifyInstance,
  budget: BodyBudget,
  incoming: (value: unknown) => unknown,
): void {
  const parser = new BodyParser();
  server.decorateRequest("bodyTerms");
  server.decorateRequest("rawReply");
  server.decorateRequest("bodySha256");
  server.decorateRequest("rawBody");
  server.addHook("onClose", async () => parser.stop());

  const settle = (request: FastifyRequest, { value, sha256 }: ParsedBody): unknown => {
    request.bodySha256 = sha256;
    return incoming(value);
  };
  server.addContentTypeParser("application/json", async (request: FastifyRequest, stream: IncomingMessage) => {
    const length = request.headers["content-length"];
    const { bodyTerms: terms = ANONYMOUS_TERMS, rawReply } = request;
    const declaredBytes = length === undefined ? undefined : Number(length);
    // If the client left during admission, no further event would release the claim.
    if (stream.destroyed || rawReply?.closed === true) throw incompleteRequest(undefined);
    const claim = budget.open(terms.owner, () => onceOver(stream, rawReply, () => claim.release()));
    const bytes = await readBody({ stream, declaredBytes, terms, claim }).catch((error: unknown) => {
      // Released at once: when several bodies do not fit together, one is refused and the others continue.
      claim.release();
      throw error;
    });
    const small = parser.parseSmall(bytes);
    if (small === undefined) return settle(request, await parser.parseLarge(bytes));
    request.rawBody = bytes;
    return settle(request, small);
  });
}

/** Calls back when the request is answered or its client has disconnected, at once if that has already happened. */
function onceOver({ socket }: IncomingMessage, rawReply: ServerResponse | undefined, release: () => void): void {
  const over = (): void => {
    socket.off("close", over);
    rawReply?.off("close", over);
    release();
  };
  if (socket.destroyed || rawReply?.closed === true) {
    release();
    return;
  }
  // The response to a pipelined request does not close with the socket while an earlier response is pending.
  socket.on("close", over);
  rawReply?.on("close", over);
}
