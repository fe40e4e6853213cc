import type { Chunk, RenderOptions } from "./rendering.ts";
import type { SpoolToRead } from "./spool-reader.ts";

/** What a render thread is told. Each piece is asked for: it never runs ahead of whoever reads. */
export type RenderRequest =
  | { readonly kind: "open"; readonly id: number; readonly spool: SpoolToRead; readonly options: RenderOptions }
  | { readonly kind: "next"; readonly id: number }
  | { readonly kind: "count"; readonly id: number; readonly limit: number }
  | { readonly kind: "close"; readonly id: number };

/** One for each `next` and `count`, in their order. */
export type RenderReply =
  | ({ readonly kind: "chunk"; readonly id: number } & Chunk)
  | { readonly kind: "count"; readonly id: number; readonly bytes: number }
  | { readonly kind: "failed"; readonly id: number; readonly error: unknown };
