import type { FastifyInstance, FastifyRequest } from "fastify";
import type { BodyBudget } from "./body-budget.ts";
import { ANONYMOUS_TERMS } from "./body-terms.ts";
import { BodyParser, type ParsedBody } from "./parsed-body.ts";
import { readBody } from "./read-body.ts";

/** Reads and parses every body by the terms that the gate has set on its request. */
export function receiveBodies(
  server: FastifyInstance,
  budget: BodyBudget,
  incoming: (value: unknown) => unknown,
): void {
  const parser = new BodyParser();
  server.decorateRequest("bodyTerms");
  server.decorateRequest("answerTo");
  server.decorateRequest("bodySha256");
  server.decorateRequest("rawBody");
  server.decorateRequest("isBodyRefused", false);
  server.addHook("onClose", async () => parser.stop());

  const settle = (request: FastifyRequest, { value, sha256 }: ParsedBody): unknown => {
    request.bodySha256 = sha256;
    return incoming(value);
  };
  server.addContentTypeParser("application/json", (request, stream, done) => {
    const length = request.headers["content-length"];
    const { bodyTerms: terms = ANONYMOUS_TERMS, answerTo } = request;
    const body = {
      stream,
      declaredBytes: length === undefined ? undefined : Number(length),
      terms,
      budget,
      // Also when the client has gone: then the answer is closed without having been sent.
      claimed: (bytes: number) => answerTo?.once("close", () => budget.release(terms.owner, bytes)),
    };
    readBody(body, (error, bytes = Buffer.alloc(0)) => {
      if (error !== null) {
        request.isBodyRefused = true;
        done(error);
        return;
      }
      try {
        const small = parser.parseSmall(bytes);
        if (small !== undefined) {
          request.rawBody = bytes;
          done(null, settle(request, small));
          return;
        }
      } catch (failure) {
        done(asError(failure));
        return;
      }
      parser.parseLarge(bytes).then(
        (parsed) => done(null, settle(request, parsed)),
        (failure: unknown) => done(asError(failure)),
      );
    });
  });
}

function asError(failure: unknown): Error {
  return failure instanceof Error ? failure : new Error(String(failure));
}
