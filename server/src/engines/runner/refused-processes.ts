/**
 * How programs say that the kernel refused them another process or thread: errno EAGAIN, in the words of the C library,
 * shells, the JVM and Python.
 */
const REFUSALS =
  /resource temporarily unavailable|cannot fork|unable to create (new )?native thread|can't start new thread/i;
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
