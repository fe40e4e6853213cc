/**
 * How programs say that the kernel refused them another process or thread, in the words of shells, the JVM and Python. The
 * C library's words for it (EAGAIN) alone do not tell: reading from a socket fails with the same. Python
 * names the fork some lines above.
 */
const REFUSALS =
  /fork[^]{0,400}resource temporarily unavailable|cannot fork|unable to create (new )?native thread|can't start new thread/i;
const TAIL_BYTES = 4096;

/** Reads along what a program writes to its standard error. */
export interface RefusalSearch {
  read(chunk: Buffer): void;
  /** Whether its last words say so. */
  isFound(): boolean;
}

export function searchForRefusal(): RefusalSearch {
  let tail = "";
  return {
    read(chunk) {
      tail = (tail + chunk.subarray(-TAIL_BYTES).toString("latin1")).slice(-TAIL_BYTES);
    },
    isFound: () => REFUSALS.test(tail),
  };
}
