import { Type } from "typebox";
import { Fault, invalid } from "../lib/fault.ts";
import { checkName } from "../lib/name-rule.ts";

/** Commands without a label run on the cluster with this label. Every account has one. */
export const DEFAULT_LABEL = "default";

const MAX_LABELS = 50;

export const Label = Type.String({
  minLength: 1,
  maxLength: 255,
  description:
    "Unique in the account; not only digits, no comma, no control characters, at least one visible character",
  examples: ["etl"],
});

export const Labels = Type.Array(Label, { minItems: 1, maxItems: MAX_LABELS });

/** Paths accept an id or a label, and filters accept comma-separated lists, so a label must not look like either. */
export function checkLabels(labels: readonly string[]): string[] {
  for (const label of labels) checkLabel(label);
  return [...new Set(labels)];
}

function checkLabel(label: string): void {
  checkName("labels", label);
  if (label.includes(",")) throw invalid("labels", "must not contain a comma");
  if (label.trim() !== label) throw invalid("labels", "must not start or end with white space");
  if (/^\d+$/.test(label)) throw invalid("labels", "must not consist only of digits, which would be read as an id");
  if (label === "reassign-label")
    throw invalid("labels", "must not be reassign-label, which is the path of an operation");
}

/** The label `default` can be moved to another cluster, but not removed. */
export function checkKeepsDefault(before: readonly string[], after: readonly string[]): void {
  if (before.includes(DEFAULT_LABEL) && !after.includes(DEFAULT_LABEL)) {
    throw invalid("labels", `must keep ${DEFAULT_LABEL}: move it to another cluster by reassign-label first`);
  }
}

export function labelTaken(label: string): Fault {
  return new Fault("conflict", `Another cluster of the account already has the label ${label}.`);
}
