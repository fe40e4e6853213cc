import { Type } from "typebox";
import { Fault, invalid } from "../lib/fault.ts";

/** A command without a label runs on the cluster that has this one; there always is one. */
export const DEFAULT_LABEL = "default";

const LABELS_AT_MOST = 50;

export const Label = Type.String({
  minLength: 1,
  maxLength: 255,
  description: "Unique in the account; not digits alone, no comma, no control characters",
  examples: ["etl"],
});

export const Labels = Type.Array(Label, { minItems: 1, maxItems: LABELS_AT_MOST });

/** Paths take an id or a label and filters take comma lists, so a label must not read as an id or as two. */
export function checkLabels(labels: readonly string[]): string[] {
  for (const label of labels) checkLabel(label);
  return [...new Set(labels)];
}

function checkLabel(label: string): void {
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(label)) throw invalid("labels", "must not contain control characters");
  if (label.includes(",")) throw invalid("labels", "must not contain a comma");
  if (label.trim() !== label) throw invalid("labels", "must not start or end with white space");
  if (/^\d+$/.test(label)) throw invalid("labels", "must not be digits alone: they would read as an id");
  if (label === "reassign-label") throw invalid("labels", "must not be reassign-label, which is a path of its own");
}

/** `default` stays somewhere: it can move, but not go. */
export function checkKeepsDefault(before: readonly string[], after: readonly string[]): void {
  if (before.includes(DEFAULT_LABEL) && !after.includes(DEFAULT_LABEL)) {
    throw invalid("labels", `must keep ${DEFAULT_LABEL}: it can only move to another cluster, by reassign-label`);
  }
}

export function labelTaken(label: string): Fault {
  return new Fault("conflict", `Another cluster of the account is labelled ${label} already.`);
}
