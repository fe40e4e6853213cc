import { Type, type Static } from "typebox";
import { OneOf } from "../http/schema.ts";
import { invalid } from "../lib/fault.ts";

/** The paragraphs of a notebook and their limits. Outputs are stored separately (ipynb/stored-notebook.ts). */
export const CODE_LANGUAGES = ["python", "scala", "r", "sql"] as const;
export type CodeLanguage = (typeof CODE_LANGUAGES)[number];

/** `raw` is the text of a raw cell of an `.ipynb` file, which is neither run nor rendered as Markdown. */
export const LANGUAGES = [...CODE_LANGUAGES, "markdown", "raw"] as const;
export type Language = (typeof LANGUAGES)[number];

const MEBIBYTE = 1024 * 1024;
export const MAX_PARAGRAPHS = 2000;
export const MAX_PARAGRAPH_BYTES = MEBIBYTE;
export const MAX_NOTEBOOK_BYTES = 8 * MEBIBYTE;

export const Paragraph = Type.Object(
  {
    language: OneOf(LANGUAGES, { examples: ["sql"] }),
    text: Type.String({ description: "At most 1 MiB; all texts of a notebook together at most 8 MiB" }),
  },
  { title: "Paragraph" },
);
export type Paragraph = Readonly<Static<typeof Paragraph>>;

export const Paragraphs = Type.Array(Paragraph, { maxItems: MAX_PARAGRAPHS });

/** Checks the sizes of texts. `field` names a text in the request, such as `paragraphs[3].text`. */
export function checkTexts(paragraphs: readonly Paragraph[], field: (index: number) => string): void {
  let total = 0;
  for (const [index, { text }] of paragraphs.entries()) {
    const bytes = Buffer.byteLength(text);
    if (bytes > MAX_PARAGRAPH_BYTES) {
      throw invalid(field(index), "must have at most 1 MiB of text: split it into several paragraphs");
    }
    total += bytes;
    if (total > MAX_NOTEBOOK_BYTES) {
      throw invalid(
        field(index),
        "exceeds the limit: all texts of a notebook together can have at most 8 MiB. Split the notebook.",
      );
    }
  }
}
