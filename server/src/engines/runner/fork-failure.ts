/**
 * The messages of shells, the JVM and Python when the kernel refuses another process or thread. The text of EAGAIN
 * alone is not enough, because a read from a socket fails with the same; Python names the fork some lines above it.
 */
const FORK_FAILURES =
  /fork[^]{0,400}resource temporarily unavailable|cannot fork|unable to create (new )?native thread|can't start new thread/i;
const TAIL_BYTES = 4096;

/** Searches the standard error of a program. */
export interface ForkFailureDetector {
  read(chunk: Buffer): void;
  /** Whether the end of the text reports a fork failure. */
  isFound(): boolean;
}

export function detectForkFailure(): ForkFailureDetector {
  let tail = "";
  return {
    read(chunk) {
      tail = (tail + chunk.subarray(-TAIL_BYTES).toString("latin1")).slice(-TAIL_BYTES);
    },
    isFound: () => FORK_FAILURES.test(tail),
  };
}
