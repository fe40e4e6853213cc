import { CopyArgumentError } from "./copy-argument-error.ts";
import type { Encryption } from "./copy-options.ts";
import type { GivenOptions } from "./option-words.ts";

type Algorithm = Encryption["algorithm"];
const algorithms: ReadonlyMap<string, Algorithm> = new Map(
  (["AES256", "SSE-KMS", "SSE-C"] as const).map((name) => [name.toLowerCase(), name]),
);

/**
 * Reads the options of encryption at rest. An algorithm alone also encrypts: a user who names one does not expect
 * objects that are not encrypted. Messages never quote the key.
 */
export function readEncryption({ flags, values }: GivenOptions): { encryption: Encryption | null; note: string[] } {
  const named = values.get("s3SSEAlgorithm");
  const key = values.get("encryptionKey");
  if (!flags.has("s3ServerSideEncryption") && named === undefined) {
    const note = "--encryptionKey has no effect without --s3ServerSideEncryption and --s3SSEAlgorithm.";
    return { encryption: null, note: key === undefined ? [] : [note] };
  }
  switch (readAlgorithm(named ?? "AES256")) {
    case "AES256": {
      const note = "--encryptionKey has no effect: the algorithm is AES256, whose key is the store's.";
      return { encryption: { algorithm: "AES256" }, note: key === undefined ? [] : [note] };
    }
    case "SSE-KMS":
      return { encryption: { algorithm: "SSE-KMS", keyId: readKeyId(key) }, note: [] };
    case "SSE-C":
      return { encryption: { algorithm: "SSE-C", key: readCustomerKey(key) }, note: [] };
  }
}

function readAlgorithm(text: string): Algorithm {
  const algorithm = algorithms.get(text.toLowerCase());
  if (algorithm === undefined) throw new CopyArgumentError("--s3SSEAlgorithm must be AES256, SSE-KMS or SSE-C.");
  return algorithm;
}

/** The id is sent in a header. */
function readKeyId(key: string | undefined): string | null {
  if (key === undefined || key === "") return null;
  if (/^[\x21-\x7e]{1,2048}$/.test(key)) return key;
  throw new CopyArgumentError("--encryptionKey must be the id, ARN or alias of a key: printable ASCII without blanks.");
}

function readCustomerKey(key: string | undefined): string {
  if (key === undefined || key === "") {
    throw new CopyArgumentError("--s3SSEAlgorithm SSE-C needs --encryptionKey: 32 bytes in base64.");
  }
  const bytes = Buffer.from(key, "base64");
  if (bytes.length === 32 && bytes.toString("base64") === key) return key;
  throw new CopyArgumentError("--encryptionKey must be 32 bytes in base64 (44 characters) for SSE-C.");
}
