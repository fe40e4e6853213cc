import { unreadable } from "../connection-failure.ts";
import { ObjectStoreError } from "../object-store-error.ts";

/** Undefined if the file or folder does not exist. */
export async function orMissing<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ObjectStoreError && error.kind === "missing") return undefined;
    throw error;
  }
}

export function parsed<T>({ subject }: { readonly subject: string }, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw unreadable(subject, error);
  }
}
