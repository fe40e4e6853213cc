import type { ParseValue } from "./parse-value.ts";

/** What is known of one setting. */
export interface Setting<T> {
  readonly name: string;
  readonly description: string;
  /** Completes "NAME must be …". */
  readonly allowed: string;
  readonly parse: ParseValue<T>;
  /** A setting whose value is never shown, not even when it is wrong. */
  readonly secret?: true;
}

/** The default is a text like any other and goes through `parse`: what is documented is what happens. */
export interface FixedSetting<T> extends Setting<T> {
  readonly default: string;
}

/** Without a value the reader derives one from other settings or leaves it out; `derived` tells how. */
export interface DerivedSetting<T> extends Setting<T> {
  readonly derived: string;
}

export function fixed<T>(setting: FixedSetting<T>): FixedSetting<T> {
  return setting;
}

export function derived<T>(setting: DerivedSetting<T>): DerivedSetting<T> {
  return setting;
}

/** The default as a person reads it. */
export function describeDefault(setting: FixedSetting<unknown> | DerivedSetting<unknown>): string {
  return "default" in setting ? setting.default : setting.derived;
}
