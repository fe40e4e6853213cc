/** The files of a run folder whose first content is final: the claim of the folder, and the order to a standby driver. */
import { readFileSync, closeSync, linkSync, openSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseProcessHandle, type ProcessHandle } from "../detached-process/detached-process.ts";
import { readFields } from "./json-fields.ts";
import { fileNames, render, parseOrder, type Order } from "./protocol.ts";

/**
 * The first claim of a folder is final: by the runner that will run it, or with `null` by the server, so that no runner
 * ever will. The server's claim is an empty file. Returns false if the folder was claimed before.
 */
export function claimFolder(folder: string, runner: ProcessHandle | null): boolean {
  return createOnce(join(folder, fileNames.taken), runner === null ? "" : render({ runner }));
}

/** Undefined: the folder is not claimed; null: the server has claimed it. */
export function readOwner(folder: string): ProcessHandle | null | undefined {
  let text: string;
  try {
    text = readFileSync(join(folder, fileNames.taken), "utf8");
  } catch {
    return undefined;
  }
  return text === "" ? null : (parseProcessHandle(readFields(text).value("runner")) ?? null);
}

/** The first order to a waiting program is final. Null, stored as an empty file: the program is not needed. */
export function writeOrder(folder: string, order: Order | null): boolean {
  return createOnce(join(folder, fileNames.order), order === null ? "" : render({ order }));
}

/** Undefined: no order yet; null: the program is not needed. */
export function readOrder(folder: string): Order | null | undefined {
  const text = tryToRead(folder, fileNames.order);
  if (text === undefined) return undefined;
  return text === "" ? null : parseOrder(text).order;
}

/** Whether the folder's program waits for an order. */
export function isStandby(folder: string): boolean {
  const text = tryToRead(folder, fileNames.spec);
  return text !== undefined && readFields(text).optionalObject("standby") !== null;
}

function tryToRead(folder: string, name: string): string | undefined {
  try {
    return readFileSync(join(folder, name), "utf8");
  } catch {
    return undefined;
  }
}

/**
 * Creates a file that appears with its whole content or not at all. Returns false if the file exists already. An empty
 * file needs no space, so it can be created on a full disk too.
 */
function createOnce(path: string, text: string): boolean {
  if (text === "") return unlessExists(() => closeSync(openSync(path, "wx", 0o600)));
  const own = `${path}.${process.pid}`;
  writeFileSync(own, text, { mode: 0o600, flush: true }); // readable after a power cut too
  try {
    return unlessExists(() => linkSync(own, path));
  } finally {
    rmSync(own, { force: true });
  }
}

function unlessExists(create: () => void): boolean {
  try {
    create();
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
}
