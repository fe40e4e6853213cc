import { Type } from "typebox";
import { OneOf } from "../http/schema.ts";
import { LocationName, MAX_LOCATION_LENGTH } from "../lib/location-name.ts";
import { NOTEBOOK_TYPES } from "./notebook.ts";

export const LocationField = Type.String({
  minLength: 1,
  maxLength: MAX_LOCATION_LENGTH,
  description: "A folder, such as Common/reports or Users/<e-mail>; by default your own home",
  examples: ["Common"],
});

export const notebookFields = {
  name: LocationName,
  note_type: Type.Optional(OneOf(NOTEBOOK_TYPES, { default: "spark" })),
  label: Type.Optional(
    Type.String({
      maxLength: 255,
      description: "The cluster on which it runs, checked when it runs; empty: the default cluster",
    }),
  ),
};

/** Larger than the limit of all texts (paragraphs.ts), because JSON escapes can make a text up to six times longer. */
export const NOTEBOOK_BODY = { bytes: 32 * 1024 * 1024 } as const;
