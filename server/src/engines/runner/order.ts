import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readFields } from "./fields.ts";
import { firstToLink, isFirst } from "./first-to-link.ts";
import { fileNames, parseOrder, render, type Order } from "./protocol.ts";

/**
 * Who decides first what becomes of a program that waits has decided for ever. Null: it is not needed; that is an empty
 * file, because that much can be written to a full disk too.
 */
export function giveOrder(folder: string, order: Order | null): boolean {
  const path = join(folder, fileNames.order);
  if (order === null) return isFirst(() => closeSync(openSync(path, "wx", 0o600)));
  return firstToLink(path, render({ order }));
}

/** Undefined: none yet. */
export function readOrder(folder: string): Order | null | undefined {
  const text = tryToRead(folder, fileNames.order);
  if (text === undefined) return undefined;
  return text === "" ? null : parseOrder(text).order;
}

/** Whether the folder's program is one that waits for an order. */
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
