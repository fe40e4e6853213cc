import { closeSync, openSync } from "node:fs";
import { basename, dirname } from "node:path";

/** The limit of Linux in bytes. */
const LONGEST_PATH = 107;

/** The gRPC target of a Unix socket. A path that is too long is replaced by one through a descriptor of its folder. */
export class SocketPath {
  readonly target: string;
  #folder: number | undefined;

  constructor(path: string) {
    if (Buffer.byteLength(path) > LONGEST_PATH) this.#folder = openSync(dirname(path), "r");
    this.target = `unix:${this.#folder === undefined ? path : `/proc/self/fd/${this.#folder}/${basename(path)}`}`;
  }

  close(): void {
    if (this.#folder !== undefined) closeSync(this.#folder);
    this.#folder = undefined;
  }
}
