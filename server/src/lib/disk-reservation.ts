/** Room on the disk for a file that is being uploaded. */
export interface DiskReservation {
  /** So many more bytes have arrived. Throws the refusal when there is no room for them. */
  add(bytes: number): void;
  /** Idempotent. `isStored`: the bytes stay on the disk. */
  release(isStored: boolean): void;
}
