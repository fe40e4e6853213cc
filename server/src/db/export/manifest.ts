import { Type, type Static } from "typebox";
import { Value } from "typebox/value";
import { Fault } from "../../lib/fault.ts";

/**
 * The first entry of an export: what is in it, so that an import can refuse before it touches anything. `format` is the
 * layout of the archive; the shape of the data follows from the number of the last migration.
 *
 *   manifest.json | keys | data/<table>/000001 000002 …  (COPY text, cut anywhere; tables in the order they load in)
 */
export const FORMAT = 1;

const Name = Type.String({ minLength: 1, maxLength: 63 });

const ManifestSchema = Type.Object({
  format: Type.Integer({ minimum: 1 }),
  product: Type.String({ maxLength: 64 }),
  migration: Type.Integer({ minimum: 1 }),
  createdAt: Type.String({ maxLength: 32 }),
  tables: Type.Array(
    Type.Object({ name: Name, columns: Type.Array(Name, { minItems: 1 }), rows: Type.Integer({ minimum: 0 }) }),
  ),
  /** `lastValue` is text: a sequence counts further than a JSON number is exact. */
  sequences: Type.Array(
    Type.Object({ name: Name, lastValue: Type.String({ pattern: "^-?\\d{1,19}$" }), isCalled: Type.Boolean() }),
  ),
});

export type Manifest = Static<typeof ManifestSchema>;

export function parseManifest(text: string, knownMigration: number): Manifest {
  const manifest: unknown = JSON.parse(text);
  const format =
    typeof manifest === "object" && manifest !== null && "format" in manifest ? manifest.format : undefined;
  if (typeof format === "number" && format > FORMAT)
    throw tooNew(`its format is ${format}, this version reads ${FORMAT}`);
  if (!Value.Check(ManifestSchema, manifest)) throw new Fault("invalid", "The export has no valid manifest.");
  if (manifest.migration > knownMigration) {
    throw tooNew(
      `it was made by Headgate ${manifest.product} at migration ${manifest.migration}, this version knows ${knownMigration}`,
    );
  }
  return manifest;
}

function tooNew(why: string): Fault {
  return new Fault("invalid", `The export is of a newer version: ${why}. Import it with that version or a later one.`);
}

export function chunkName(table: string, number: number): string {
  return `data/${table}/${String(number).padStart(6, "0")}`;
}

/** A chunk of this table; of any table when none is named. */
export function isChunk(entry: string, table?: string): boolean {
  return entry.startsWith(table === undefined ? "data/" : `data/${table}/`);
}
