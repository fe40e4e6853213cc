import { readAhead } from "../../lib/read-ahead.ts";
import type { HeldAnswer, KeepAnswer } from "./call-gate.ts";

export interface PieceOptions {
  readonly pieceSize: number;
  readonly ahead: number;
  /** Aborting it releases all pieces, even if the reader never continues. */
  readonly signal: AbortSignal;
}

/** Requests items in pieces and prefetches. Each piece counts as in memory until the reader takes the next one. */
export async function* heldPieces<T, R>(
  items: readonly T[],
  { pieceSize, ahead, signal }: PieceOptions,
  request: (piece: readonly T[], keep: KeepAnswer) => Promise<R>,
): AsyncGenerator<R> {
  const all = new Set<HeldAnswer>();
  let isOver = false;
  const releaseAll = (): void => {
    isOver = true;
    for (const held of all) held.release();
    all.clear();
  };
  signal.addEventListener("abort", releaseAll, { once: true });
  const pieces = readAhead(items, pieceSize, ahead, async (piece) => {
    const kept: HeldAnswer[] = [];
    const answer = await request(piece, (held) => {
      if (isOver) {
        held.release();
      } else {
        kept.push(held);
        all.add(held);
      }
    });
    return { answer, kept };
  });
  try {
    for await (const { answer, kept } of pieces) {
      yield answer;
      for (const held of kept) {
        held.release();
        all.delete(held);
      }
    }
  } finally {
    signal.removeEventListener("abort", releaseAll);
    releaseAll();
  }
}
