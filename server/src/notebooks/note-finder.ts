import type { ObjectFinder } from "../access/policy/object-finder.ts";
import { policyObjectOf } from "./note-in-path.ts";
import { findNote, lockNoteForPolicy } from "./store/notes.ts";

/** For the operations on policies. */
export const noteFinder: ObjectFinder = {
  async find(reader, id) {
    const row = await findNote(reader, id);
    return row === undefined ? undefined : policyObjectOf(row);
  },
  lockForPolicy: lockNoteForPolicy,
};
