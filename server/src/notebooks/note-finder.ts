import type { ObjectFinder } from "../access/policy/object-finder.ts";
import { policyObjectOf } from "./note-in-path.ts";
import { findNote, lockNoteForPolicy } from "./store/notes.ts";

/** Lets the operations of access/policy find and lock notebooks. */
export const noteFinder: ObjectFinder = {
  async find(reader, id) {
    const row = await findNote(reader, id);
    return row === undefined ? undefined : policyObjectOf(row);
  },
  lockForPolicy: lockNoteForPolicy,
};
