import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { Fault } from "../lib/fault.ts";
import { ANONYMOUS_TERMS, type BodyTerms } from "./gate.ts";
import { BodyParser, type ParsedBody } from "./body-parser.ts";
import { incompleteRequest } from "./error-body.ts";
import { sendContinue } from "./expect-continue.ts";
import { whenFinished } from "./when-finished.ts";

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
    sendContinue(stream);
    const claim = budget.open(terms.owner, () => whenFinished(stream, rawReply, () => claim.release()));
    const bytes = await readBody({ stream, declaredBytes, terms, claim }).catch((error: unknown) => {
      // Released at once: when several bodies do not fit together, one is refused and the others continue.
      claim.release();
      throw error;
    });
    const small = parser.parseSmall(bytes);
    if (small === undefined) return settle(request, await parser.parseLarge(bytes, terms.maxValues));
    request.rawBody = bytes;
    return settle(request, small);
  });
}

interface IncomingBody {
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
  const maxBytes = declaredBytes ?? terms.limitBytes;
  // One buffer of the reserved size: a Buffer per chunk would take a hundred times the memory of a one-byte chunk.
  let collected: Buffer = Buffer.alloc(0);
  let received = 0;
  const add = (chunk: Buffer): void => {
    const before = received;
    received += chunk.length;
    if (received > terms.limitBytes) throw tooLarge(terms);
    if (received > collected.length) {
      // Doubles the buffer, so that it is copied only a few times.
      const room = Math.max(received, Math.min(2 * received, maxBytes));
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

export interface BodyLimits {
  readonly accountBytes: number;
  readonly nodeBytes: number;
}

/** Smaller bodies are not counted: HEADGATE_CONNECTIONS bounds their number. */
const UNCOUNTED_BYTES = 16 * 1024;
/**
 * Reserved for each account, so that large bodies of other accounts never cause an ordinary submission to be refused.
 */
const OWN_BYTES = 2 * 1024 * 1024;
const RETRY_AFTER_SECONDS = 1;

/** The memory that one body takes. It only grows until it is released. */
interface BodyClaim {
  /** Throws if a total of this many bytes would exceed a limit now. Reserves nothing. */
  check(bytes: number): void;
  /** Reserves this many bytes in total, or throws. */
  growTo(bytes: number): void;
  /** Idempotent. The claim can reserve nothing afterwards. */
  release(): void;
}

/**
 * Counts the bytes of request bodies in memory, per account and on this node, from their arrival until the request is
 * answered. The first 2 MiB of each account do not count towards the limit of the node.
 */
export class BodyBudget {
  readonly #limits: BodyLimits;
  readonly #accounts = new Map<string, number>();
  #shared = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
  }

  /** `onTaken` is called when the claim reserves its first bytes. Small bodies reserve none. */
  open(owner: string, onTaken: () => void = () => undefined): BodyClaim {
    let taken = 0;
    let isOver = false;
    const check = (bytes: number): void => {
      if (bytes > UNCOUNTED_BYTES && bytes > taken) this.#check(owner, bytes - taken);
    };
    return {
      check,
      growTo: (bytes) => {
        check(bytes);
        if (isOver || bytes <= UNCOUNTED_BYTES || bytes <= taken) return;
        this.#add(owner, bytes - taken);
        const isFirst = taken === 0;
        taken = bytes;
        if (isFirst) onTaken();
      },
      release: () => {
        if (taken > 0) this.#add(owner, -taken);
        taken = 0;
        isOver = true;
      },
    };
  }

  #check(owner: string, bytes: number): void {
    const before = this.#accounts.get(owner) ?? 0;
    const after = before + bytes;
    if (after > this.#limits.accountBytes) {
      throw new Fault(
        "rate-limited",
        "This account is sending too many large bodies at once. Wait until the other requests are answered.",
        {
          retryAfterSeconds: RETRY_AFTER_SECONDS,
        },
      );
    }
    const shared = sharedPart(after) - sharedPart(before);
    if (shared > 0 && this.#shared + shared > this.#limits.nodeBytes) {
      throw new Fault("unavailable", "The server is receiving too many large bodies at once. Try again shortly.", {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
    }
  }

  #add(owner: string, bytes: number): void {
    const before = this.#accounts.get(owner) ?? 0;
    const after = before + bytes;
    this.#shared += sharedPart(after) - sharedPart(before);
    if (after > 0) this.#accounts.set(owner, after);
    else this.#accounts.delete(owner);
  }
}

function sharedPart(bytes: number): number {
  return Math.max(0, bytes - OWN_BYTES);
}
