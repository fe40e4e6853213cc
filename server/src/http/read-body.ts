import type { Readable } from "node:stream";
import { Fault } from "../lib/fault.ts";
import type { BodyClaim } from "./body-budget.ts";
import type { BodyTerms } from "./body-terms.ts";
import { cutOff } from "./error-body.ts";

export interface IncomingBody {
  readonly stream: Readable;
  /** The header Content-Length; undefined: it comes in chunks. */
  readonly declaredBytes: number | undefined;
  readonly terms: BodyTerms;
  /** Grows as the body arrives. It is for the caller to release. */
  readonly claim: BodyClaim;
}

/**
 * Collects a body within its limit and the budget. A declared length that does not fit now is refused before a byte is
 * read, but takes nothing: clients that declare much and send little would keep others out.
 */
export function readBody({ stream, declaredBytes, terms, claim }: IncomingBody): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const mostBytes = declaredBytes ?? terms.limitBytes;
  let counted = 0;
  const count = (received: number): void => {
    if (received > terms.limitBytes) throw tooLarge(terms);
    if (received <= counted) return;
    // Twice as much as there is, so that the count changes a few times only.
    counted = Math.min(2 * received, mostBytes);
    claim.growTo(counted);
  };
  const chunks: Buffer[] = [];
  let received = 0;
  const leave = (): void =>
    void stream.off("data", onData).off("end", onEnd).off("error", onError).off("close", onClose);
  const onData = (chunk: Buffer): void => {
    received += chunk.length;
    try {
      count(received);
      chunks.push(chunk);
    } catch (error) {
      stream.pause();
      leave();
      reject(error);
    }
  };
  const onEnd = (): void => {
    leave();
    const [only = Buffer.alloc(0)] = chunks;
    resolve(chunks.length < 2 ? only : Buffer.concat(chunks, received));
  };
  const onError = (error: Error): void => {
    leave();
    reject(error);
  };
  const onClose = (): void => onError(cutOff(undefined));
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
