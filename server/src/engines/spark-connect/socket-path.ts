import { closeSync, openSync } from "node:fs";
import { basename, dirname } from "node:path";

/** The address of a Unix socket has room for so many bytes. */
const LONGEST_PATH = 107;

/** A Unix socket as gRPC names it. One below a folder with a long name is reached by a descriptor of that folder. */
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
