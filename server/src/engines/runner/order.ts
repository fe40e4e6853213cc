import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readFields } from "./fields.ts";
import { firstToLink } from "./first-to-link.ts";
import { fileNames, parseOrder, render, type Order } from "./protocol.ts";

/** Who decides first what becomes of a program that waits has decided for ever. Null: it is not needed. */
export function giveOrder(folder: string, order: Order | null): boolean {
  return firstToLink(join(folder, fileNames.order), render({ order }));
}

/** Undefined: none yet. */
export function readOrder(folder: string): Order | null | undefined {
  const text = tryToRead(folder, fileNames.order);
  return text === undefined ? undefined : parseOrder(text).order;
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
