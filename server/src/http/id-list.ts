import { notFound } from "../lib/fault.ts";

/** Parses `<id>` or a comma-separated list of ids in a path. A text that cannot be an id is 404. */
export function parseIdList(text: string): number[] {
  const ids = text.split(",").map((part) => {
    const id = /^\s*\d{1,16}\s*$/.test(part) ? Number(part) : 0;
    if (id < 1 || !Number.isSafeInteger(id)) throw notFound();
    return id;
  });
  return [...new Set(ids)];
}
