import type { Readable } from "node:stream";
import { Fault } from "../lib/fault.ts";
import type { BodyClaim } from "./body-budget.ts";
import type { BodyTerms } from "./body-terms.ts";
import { incompleteRequest } from "./error-body.ts";

export interface IncomingBody {
  readonly stream: Readable;
  /** The header Content-Length; undefined if the body is chunked. */
  readonly declaredBytes: number | undefined;
  readonly terms: BodyTerms;
  /** Grows as the body arrives. The caller must release it. */
  readonly claim: BodyClaim;
}

/**
 * Reads a body within its limit and the budget. A declared length that does not fit now is refused before any byte is
 * read, but reserves nothing: otherwise clients that declare much and send little would block others.
 */
export function readBody({ stream, declaredBytes, terms, claim }: IncomingBody): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const mostBytes = declaredBytes ?? terms.limitBytes;
  // One buffer of the reserved size: a Buffer per chunk would take a hundred times the memory of a one-byte chunk.
  let collected: Buffer = Buffer.alloc(0);
  let received = 0;
  const add = (chunk: Buffer): void => {
    const before = received;
    received += chunk.length;
    if (received > terms.limitBytes) throw tooLarge(terms);
    if (received > collected.length) {
      // Doubles the buffer, so that it is copied only a few times.
      const room = Math.max(received, Math.min(2 * received, mostBytes));
      claim.growTo(room);
      if (chunk.length === room) {
        collected = chunk;
        return;
      }
      const larger = Buffer.allocUnsafe(room);
      collected.copy(larger, 0, 0, before);
      collected = larger;
    }
    chunk.copy(collected, before);
  };
  const leave = (): void =>
    void stream.off("data", onData).off("end", onEnd).off("error", onError).off("close", onClose);
  const onData = (chunk: Buffer): void => {
    try {
      add(chunk);
    } catch (error) {
      stream.pause();
      leave();
      reject(error);
    }
  };
  const onEnd = (): void => {
    leave();
    resolve(collected.subarray(0, received));
  };
  const onError = (error: Error): void => {
    leave();
    reject(error);
  };
  const onClose = (): void => onError(incompleteRequest(undefined));
  try {
    if (declaredBytes !== undefined) {
      if (declaredBytes > terms.limitBytes) throw tooLarge(terms);
      claim.check(declaredBytes);
    }
    stream.on("data", onData).on("end", onEnd).on("error", onError).on("close", onClose);
  } catch (error) {
    reject(error);
  }
  return promise;
}

function tooLarge({ limitBytes, hint }: BodyTerms): Fault {
  const size = limitBytes >= 1024 * 1024 ? `${limitBytes / 1024 / 1024} MiB` : `${limitBytes / 1024} KiB`;
  return new Fault("too-large", `The body is larger than ${size}${hint === undefined ? "." : `: ${hint}`}`);
}
