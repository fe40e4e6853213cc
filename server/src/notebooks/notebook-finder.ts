import type { ObjectFinder } from "../access/policy/object-finder.ts";
import { policyObjectOf } from "./notebook-in-path.ts";
import { findNotebook, lockNotebookForPolicy } from "./store/notebooks.ts";

/** Lets the operations of access/policy find and lock notebooks. */
export const notebookFinder: ObjectFinder = {
  async find(reader, id) {
    const row = await findNotebook(reader, id);
    return row === undefined ? undefined : policyObjectOf(row);
  },
  lockForPolicy: lockNotebookForPolicy,
};
