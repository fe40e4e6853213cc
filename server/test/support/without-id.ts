import type { Reply } from "./client.ts";

/** The refusal of an unknown object without the id that the request named; the rest is equal for all of them. */
export function withoutId({ text }: Reply, id: string | number): string {
  return text.replace(` ${id} does not exist`, " <id> does not exist");
}
