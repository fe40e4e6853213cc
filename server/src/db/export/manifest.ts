/**
 * The first entry of an export: its contents, so that an import can be refused before it changes anything. `format` is
 * the layout of the archive; the schema of the data follows from the number of the last migration. Attached databases
 * follow, each with its own schema, because no migration creates it.
 *
 *   manifest.json | keys | data/<table>/000001 000002 …  (COPY text, split anywhere; tables in load order)
 *   attached/<name>/ manifest.json | schema.sql | data/<table>/000001 …
 */
import { Type, type Static, type TSchema } from "typebox";
import { Check } from "typebox/schema";
import { Fault } from "../../lib/fault.ts";

export const FORMAT = 2;

const Name = Type.String({ minLength: 1, maxLength: 63 });

const content = {
  tables: Type.Array(
    Type.Object({ name: Name, columns: Type.Array(Name, { minItems: 1 }), rows: Type.Integer({ minimum: 0 }) }),
  ),
  /** `lastValue` is text, because a sequence can exceed the exact range of JSON numbers. */
  sequences: Type.Array(
    Type.Object({ name: Name, lastValue: Type.String({ pattern: "^-?\\d{1,19}$" }), isCalled: Type.Boolean() }),
  ),
};

const ContentSchema = Type.Object(content);

const ManifestSchema = Type.Object({
  format: Type.Integer({ minimum: 1 }),
  product: Type.String({ maxLength: 64 }),
  migration: Type.Integer({ minimum: 1 }),
  createdAt: Type.String({ maxLength: 32 }),
  ...content,
  /** Names of attached databases; format 1 has none. */
  attached: Type.Optional(Type.Array(Type.String({ pattern: "^[0-9a-z-]{1,63}$" }))),
});

/** The content of one database. */
export type Content = Static<typeof ContentSchema>;
export type Manifest = Static<typeof ManifestSchema>;

export function parseManifest(text: string, knownMigration: number): Manifest {
  const manifest: unknown = JSON.parse(text);
  const format =
    typeof manifest === "object" && manifest !== null && "format" in manifest ? manifest.format : undefined;
  if (typeof format === "number" && format > FORMAT)
    throw tooNew(`its format is ${format}, but this version reads ${FORMAT}`);
  const checked = check(ManifestSchema, manifest);
  if (checked.migration > knownMigration) {
    throw tooNew(
      `it was made by Headgate ${checked.product} at migration ${checked.migration}, but this version knows ${knownMigration}`,
    );
  }
  return checked;
}

/** The manifest of an attached database. */
export function parseContent(text: string): Content {
  return check(ContentSchema, JSON.parse(text));
}

function check<Schema extends TSchema>(schema: Schema, value: unknown): Static<Schema> {
  if (!Check(schema, value)) throw new Fault("invalid", "The export has no valid manifest.");
  return value;
}

function tooNew(why: string): Fault {
  return new Fault(
    "invalid",
    `The export was made by a newer version: ${why}. Import it with that version or a later one.`,
  );
}

/** The path prefix of the entries of one database; empty for the product's own. */
export function sectionOf(attached?: string): string {
  return attached === undefined ? "" : `attached/${attached}/`;
}

export function chunkName(section: string, table: string, number: number): string {
  return `${section}data/${table}/${String(number).padStart(6, "0")}`;
}
