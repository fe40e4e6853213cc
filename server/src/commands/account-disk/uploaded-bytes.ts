import type { DiskReservation } from "../../lib/disk-reservation.ts";

/** The least that a small file counts with. */
const MIN_FILE_BYTES = 4096;

/** The bytes of uploads that the last measurement of their account has not seen. */
export class UploadedBytes {
  readonly #open = new Map<number, number>();
  readonly #stored = new Map<number, number>();

  bytesOf(accountId: number): number {
    return (this.#open.get(accountId) ?? 0) + (this.#stored.get(accountId) ?? 0);
  }

  /** Whether an upload of the account has ended since its last measurement. */
  hasStored(accountId: number): boolean {
    return this.#stored.has(accountId);
  }

  /** Counts the larger one of the announced and the received number. */
  open(accountId: number, announced: number): DiskReservation {
    let received = 0;
    let counted = Math.max(announced, MIN_FILE_BYTES);
    let isOpen = true;
    change(this.#open, accountId, counted);
    return {
      add: (bytes) => {
        received += bytes;
        if (received <= counted || !isOpen) return;
        change(this.#open, accountId, received - counted);
        counted = received;
      },
      release: (isStored) => {
        if (!isOpen) return;
        isOpen = false;
        change(this.#open, accountId, -counted);
        if (isStored) change(this.#stored, accountId, counted);
      },
    };
  }

  /** Returns a function to call at the end of the measurement, which sees all files that are stored already. */
  beginMeasuring(accountId: number): () => void {
    const seen = this.#stored.get(accountId) ?? 0;
    return () => change(this.#stored, accountId, -seen);
  }
}

function change(counts: Map<number, number>, key: number, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
