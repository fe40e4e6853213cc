import type { JsonSchema } from "./document.ts";

/**
 * Turns schemas into plain JSON and moves those with a title to the components. Two different schemas with the same
 * title are a bug, reported when the document is generated.
 */
export class NamedSchemas {
  readonly #byTitle = new Map<string, JsonSchema>();

  /** The schema, or a reference to it if it has a title. */
  register(schema: object): JsonSchema {
    // JSON drops the metadata that TypeBox adds to schemas.
    const plain: unknown = JSON.parse(JSON.stringify(schema));
    return this.#register(plain) as JsonSchema; // an object stays an object
  }

  get all(): Record<string, JsonSchema> {
    return Object.fromEntries([...this.#byTitle].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }

  #register(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#register(item));
    if (typeof value !== "object" || value === null) return value;
    const registered = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, this.#register(inner)]));
    const { title } = registered;
    if (typeof title !== "string" || !COMPONENT_NAME.test(title) || !("type" in registered)) return registered;
    const there = this.#byTitle.get(title);
    if (there !== undefined && JSON.stringify(there) !== JSON.stringify(registered)) {
      throw new Error(`two different schemas are titled ${title}`);
    }
    this.#byTitle.set(title, registered);
    return { $ref: `#/components/schemas/${title}` };
  }
}

const COMPONENT_NAME = /^[A-Z]\w*$/;
