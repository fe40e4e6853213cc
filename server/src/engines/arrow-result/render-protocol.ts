import type { Chunk, RenderOptions } from "./rendering.ts";
import type { SpoolToRead } from "./spool-reader.ts";

/** Messages to a render thread. Each chunk is requested, so the thread never runs ahead of the reader. */
export type RenderRequest =
  | { readonly kind: "open"; readonly id: number; readonly spool: SpoolToRead; readonly options: RenderOptions }
  | { readonly kind: "next"; readonly id: number }
  | { readonly kind: "count"; readonly id: number; readonly limit: number }
  | { readonly kind: "close"; readonly id: number };

/** One reply per `next` and `count`, in the order of the requests. */
export type RenderReply =
  | ({ readonly kind: "chunk"; readonly id: number } & Chunk)
  | { readonly kind: "count"; readonly id: number; readonly bytes: number }
  | { readonly kind: "failed"; readonly id: number; readonly error: unknown };
