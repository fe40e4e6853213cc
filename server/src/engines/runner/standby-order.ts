import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readFields } from "./json-fields.ts";
import { createOnce } from "./create-once.ts";
import { fileNames, parseOrder, render, type Order } from "./protocol.ts";

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
