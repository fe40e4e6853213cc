/** Says what to do when Spark's error is that it lacks a table format. */
import type { TableFormat } from "./table-format.ts";

const addFormat = (format: TableFormat): string =>
  `add "${format}" to table_formats of the cluster: PUT /api/v2/clusters/<its label>`;

const HINTS: readonly (readonly [RegExp, string])[] = [
  [/\bDATA_SOURCE_NOT_FOUND\b[^\n]{0,100}: delta\b/i, addFormat("delta")],
  [/\bClassNotFoundException\b[^\n]{0,50}\bio\.delta\./, addFormat("delta")],
  [/\bNo module named '?delta\b/, addFormat("delta")],
  // A table by its path: delta.`/a/b`.
  [/\bTABLE_OR_VIEW_NOT_FOUND\b[^\n]{0,100}`delta`\.`[^`\n]{0,300}\//, addFormat("delta")],
  [/\bDATA_SOURCE_NOT_FOUND\b[^\n]{0,100}: iceberg\b/i, addFormat("iceberg")],
  [/\bClassNotFoundException\b[^\n]{0,50}\borg\.apache\.iceberg\./, addFormat("iceberg")],
  [/\b(?:CATALOG_NOT_FOUND|REQUIRES_SINGLE_PART_NAMESPACE)\b[^\n]{0,100}`iceberg`/, addFormat("iceberg")],
  // Spark's own catalog shows the table, with this class in place of a reader.
  [
    /\binstantiate\b[^\n]{0,50}\borg\.apache\.hadoop\.mapred\.FileInputFormat\b/,
    `the name of an Iceberg table is iceberg.<schema>.<table>; ${addFormat("iceberg")} if it is missing there`,
  ],
];

/** The text with a hint, if it is such an error. */
export function withFormatHint(text: string): string {
  const [, hint] = HINTS.find(([error]) => error.test(text)) ?? [];
  return hint === undefined ? text : `${text} (${hint})`;
}
