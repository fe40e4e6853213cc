import type { Readable } from "node:stream";
import { Fault } from "../lib/fault.ts";

interface Ending {
  readonly translate: (error: unknown) => unknown;
  /** Called once, when the contents have been read or are no longer needed. */
  readonly close: () => Promise<void>;
}

/**
 * The contents of a file that may change while it is read. If it has become shorter, the reply must break: the client
 * would wait for the rest, or take the next reply for it.
 */
export function exactly(bytes: number, body: Readable, { translate, close }: Ending): AsyncIterableIterator<Buffer> {
  const chunks = (body as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  let left = bytes;
  let ended: Promise<void> | undefined;
  const end = (): Promise<void> => {
    body.destroy();
    return (ended ??= close());
  };
  return {
    async next() {
      try {
        const step = left === 0 ? undefined : await chunks.next();
        if (step !== undefined && step.done !== true) {
          const chunk = step.value.length > left ? step.value.subarray(0, left) : step.value;
          left -= chunk.length;
          return { done: false, value: chunk };
        }
        if (left > 0) throw new Fault("unavailable", "The file has become shorter.");
        await end();
        return { done: true, value: undefined };
      } catch (error) {
        await end();
        throw translate(error);
      }
    },
    async return() {
      await end();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
