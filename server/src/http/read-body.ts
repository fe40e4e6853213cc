import type { Readable } from "node:stream";
import { Fault } from "../lib/fault.ts";
import { UNCOUNTED_BYTES, type BodyBudget } from "./body-budget.ts";
import type { BodyTerms } from "./body-terms.ts";
import { cutOff } from "./error-body.ts";

export interface IncomingBody {
  readonly stream: Readable;
  /** The header Content-Length; undefined: it comes in chunks. */
  readonly declaredBytes: number | undefined;
  readonly terms: BodyTerms;
  readonly budget: BodyBudget;
  /** Told the bytes that the body takes of the budget, once for each part. They are for the caller to release. */
  readonly claimed: (bytes: number) => void;
}

/** Collects a body within its limit and the budget. One that says its length is refused before a byte of it is read. */
export function readBody(body: IncomingBody): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const { stream, declaredBytes, terms, budget, claimed } = body;
  let counted = 0;
  const count = (bytes: number): void => {
    if (bytes > terms.limitBytes) throw tooLarge(terms);
    if (bytes <= UNCOUNTED_BYTES || bytes <= counted) return;
    // Chunks are counted by as much again as there is, so that few of them ask.
    const wanted = declaredBytes === undefined ? Math.min(2 * bytes, terms.limitBytes) : bytes;
    budget.claim(terms.owner, wanted - counted);
    claimed(wanted - counted);
    counted = wanted;
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
    if (declaredBytes !== undefined) count(declaredBytes);
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
