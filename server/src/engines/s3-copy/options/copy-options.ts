import type { S3Credentials } from "../../../object-store/s3/sign-request.ts";
import type { Codec } from "../codecs/codec-table.ts";
import type { OldScheme } from "./copy-addresses.ts";

/** The checked options of a copy (§4.4). Addresses have the form that listings use. */
export interface CopyOptions {
  /** Null only if `srcPrefixesFile` or `copyFromManifest` names the sources. */
  readonly src: string | null;
  /** Patterns match URIs with the scheme that `--src` is written with; null: with the one that they have here. */
  readonly srcScheme: OldScheme | null;
  readonly dest: string;
  readonly srcPrefixesFile: string | null;
  readonly srcPattern: string | null;
  readonly groupBy: string | null;
  readonly targetSizeMiB: number | null;
  /** Null: the compression is unchanged. */
  readonly outputCodec: OutputCodec | null;
  readonly encryption: Encryption | null;
  readonly storageClass: string | null;
  readonly deleteOnSuccess: boolean;
  readonly disableMultipartUpload: boolean;
  readonly chunkSizeMiB: number;
  /** Files per batch; null: the engine decides. */
  readonly filesPerMapper: number | null;
  /** The first number of the output files; null: they are not numbered. */
  readonly startingIndex: number | null;
  /** The name of the manifest file below `dest`; null: none. */
  readonly outputManifest: string | null;
  readonly previousManifest: string | null;
  /** False: if there is no `previousManifest`, it counts as empty. */
  readonly requirePreviousManifest: boolean;
  readonly copyFromManifest: boolean;
  readonly appendToLastFile: boolean;
  /** `[http(s)://]host[:port][/path]`. */
  readonly s3Endpoint: string | null;
  readonly srcS3Endpoint: string | null;
  readonly tmpDir: string | null;
  /** Keys from `-D` options, which replace the account's. */
  readonly credentials: S3Credentials | null;
  /** The number of concurrent transfers that `-D` options ask for; null: the engine decides. */
  readonly parallelism: number | null;
  /** Lines for the log: options without an effect. */
  readonly notes: readonly string[];
}

export type OutputCodec = Codec | "none";

/** Encryption at rest (`s3ServerSideEncryption`). */
export type Encryption =
  | { readonly algorithm: "AES256" }
  /** `keyId` null: the key of the provider. */
  | { readonly algorithm: "SSE-KMS"; readonly keyId: string | null }
  /** `key`: 32 bytes in base64. */
  | { readonly algorithm: "SSE-C"; readonly key: string };
