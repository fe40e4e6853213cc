import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { ConnectError } from "./connect-error.ts";

/** A descriptor that only refers to a file. Node does not name this flag. */
const O_PATH = 0o10000000;
/** A status of gRPC, whose library is loaded only when it is used. */
const UNAVAILABLE = 14;

/**
 * A Unix socket in a folder that a tenant's program can write to. No link is followed, and connections go to the socket
 * that was there at first, so the program cannot lead them to another one. Its name may be longer than the 107 bytes
 * that Linux allows for the name of a socket.
 */
export class PinnedSocket {
  readonly grpcTarget: string;
  #descriptor: number | undefined;

  constructor(path: string) {
    const descriptor = openSocket(path);
    this.#descriptor = descriptor;
    this.grpcTarget = `unix:/proc/self/fd/${descriptor}`;
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }
}

function openSocket(path: string): number {
  let descriptor: number;
  try {
    descriptor = openSync(path, O_PATH | constants.O_NOFOLLOW);
  } catch (error) {
    throw noSocket(error instanceof Error ? error.message : String(error));
  }
  if (fstatSync(descriptor).isSocket()) return descriptor;
  closeSync(descriptor);
  throw noSocket("there is something else in its place");
}

function noSocket(reason: string): ConnectError {
  const message = `The Spark server's socket cannot be used: ${reason}`;
  return new ConnectError({ kind: "unavailable", message, code: UNAVAILABLE });
}
