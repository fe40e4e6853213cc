import { isRecord } from "../lib/is-record.ts";

export type FieldPath = readonly string[];

const MAX_DEPTH = 4;
const MAX_WARNINGS = 50;
const NAME_LENGTH = 64;

/**
 * Collects the fields that a body has and the operation does not, and warns about them. Only names are repeated, never
 * values, because those may be secrets. A body can have tens of thousands of fields, so most of them are only counted.
 */
export class IgnoredFields {
  readonly #named: FieldPath[] = [];
  readonly #isMet: (name: string, value: unknown) => boolean;
  #further = 0;

  /** `isMet` says whether a field asks for what the operation does anyway. */
  constructor(isMet: (name: string, value: unknown) => boolean = () => false) {
    this.#isMet = isMet;
  }

  /** Adds a field with everything in it. Null and empty objects ask for nothing. */
  add(parent: FieldPath, name: string, value: unknown): void {
    if (value === null || value === undefined || this.#isMet(name, value)) return;
    if (isRecord(value) && parent.length + 1 < MAX_DEPTH) {
      const path = [...parent, name];
      for (const inner of Object.keys(value)) this.add(path, inner, value[inner]);
    } else if (this.#named.length < MAX_WARNINGS) this.#named.push([...parent, name]);
    else this.#further += 1;
  }

  /** `advice` says why a field is ignored and what to do instead. */
  warnings(advice: (path: FieldPath) => string): string[] {
    const named = this.#named.map((path) => `${shown(path)} was ignored: ${advice(path)}.`);
    if (this.#further === 0) return named;
    const further = this.#further === 1 ? "1 further field was" : `${this.#further} further fields were`;
    return [...named, `${further} ignored, too.`];
  }
}

function shown(path: FieldPath): string {
  return path
    .map((name) =>
      /^[\w.-]+$/.test(name) && name.length <= NAME_LENGTH ? name : JSON.stringify(name.slice(0, NAME_LENGTH)),
    )
    .join(".");
}
