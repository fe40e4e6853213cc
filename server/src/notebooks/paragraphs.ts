import { Type, type Static } from "typebox";
import { OneOf } from "../http/schema.ts";
import { invalid } from "../lib/fault.ts";

/** The paragraphs of a notebook and their bounds. Outputs are kept apart from them (ipynb/stored-notebook.ts). */
export const CODE_LANGUAGES = ["python", "scala", "r", "sql"] as const;
export type CodeLanguage = (typeof CODE_LANGUAGES)[number];

/** `raw` is text that is neither shown as Markdown nor run, as `.ipynb` files may have it. */
export const LANGUAGES = [...CODE_LANGUAGES, "markdown", "raw"] as const;
export type Language = (typeof LANGUAGES)[number];

const MEBIBYTE = 1024 * 1024;
export const MAX_PARAGRAPHS = 2000;
export const MAX_TEXT_BYTES = MEBIBYTE;
export const MAX_TEXTS_BYTES = 8 * MEBIBYTE;

export const Paragraph = Type.Object(
  {
    language: OneOf(LANGUAGES, { examples: ["sql"] }),
    text: Type.String({ description: "At most 1 MiB; all texts of a notebook together at most 8 MiB" }),
  },
  { title: "Paragraph" },
);
export type Paragraph = Readonly<Static<typeof Paragraph>>;

export const Paragraphs = Type.Array(Paragraph, { maxItems: MAX_PARAGRAPHS });

/** `field` names the place of a paragraph in the request, such as `paragraphs[3].text`. */
export function checkTexts(paragraphs: readonly Paragraph[], field: (index: number) => string): void {
  let total = 0;
  for (const [index, { text }] of paragraphs.entries()) {
    const bytes = Buffer.byteLength(text);
    if (bytes > MAX_TEXT_BYTES) {
      throw invalid(field(index), "must have at most 1 MiB of text: split it into several paragraphs");
    }
    total += bytes;
    if (total > MAX_TEXTS_BYTES) {
      throw invalid(field(index), "must not be there: the texts of a notebook can have at most 8 MiB together");
    }
  }
}
