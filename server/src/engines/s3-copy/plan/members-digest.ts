import { createHash, hash } from "node:crypto";
import type { PlannedOutput, SourceFile } from "./planned-output.ts";

type Member = Pick<SourceFile, "uri" | "size" | "etag" | "modifiedMs">;

/** Identifies the sources of an output, their versions and their order. */
export class MembersDigest {
  readonly #hash = createHash("sha256");

  add(member: Member): void {
    this.#hash.update(textOf(member));
  }

  finish(): string {
    return this.#hash.digest("base64url");
  }
}

/** The digest of an output with one source. */
export function memberDigest(member: Member): string {
  return hash("sha256", textOf(member), "base64url");
}

export async function digestOf(output: PlannedOutput): Promise<string> {
  if (output.single !== null) return memberDigest(output.single);
  const digest = new MembersDigest();
  for await (const source of output.sources()) digest.add(source);
  return digest.finish();
}

/** A missing ETag is written as an empty one, as in the records of a plan. */
function textOf({ uri, size, etag, modifiedMs }: Member): string {
  return `${JSON.stringify([uri, size, etag ?? "", modifiedMs])}\n`;
}
