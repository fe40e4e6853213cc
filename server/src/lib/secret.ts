import { inspect } from "node:util";

export const secretMask = "********";

/**
 * A value that cannot be printed by accident: conversion to text, JSON, templates and inspection all return the mask.
 * The value is in a private field, so spreading and loggers that walk properties do not see it. `reveal()` returns it.
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
