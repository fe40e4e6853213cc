import { inspect } from "node:util";

export const secretMask = "********";

/**
 * A value that cannot be printed by accident: text, JSON, template and inspection all give the mask, and the value is
 * in a private field, out of reach of spreading and of loggers that walk properties. Whoever needs it says `reveal()`.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return secretMask;
  }

  toJSON(): string {
    return secretMask;
  }

  [inspect.custom](): string {
    return secretMask;
  }
}
