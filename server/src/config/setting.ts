import type { ParseValue } from "./parse-value.ts";

/** The definition of one setting. */
export interface Setting<T> {
  readonly name: string;
  readonly description: string;
  /** Completes "NAME must be …". */
  readonly allowed: string;
  readonly parse: ParseValue<T>;
  /** The value is never shown, not even if it is invalid. */
  readonly secret?: true;
}

/** The default is text and goes through `parse`, so that the documented value is the actual one. */
export interface FixedSetting<T> extends Setting<T> {
  readonly default: string;
}

/** Without a value, the reader derives one from other settings or leaves it out; `derived` describes how. */
export interface DerivedSetting<T> extends Setting<T> {
  readonly derived: string;
}

export function fixed<T>(setting: FixedSetting<T>): FixedSetting<T> {
  return setting;
}

export function derived<T>(setting: DerivedSetting<T>): DerivedSetting<T> {
  return setting;
}

/** The default as text for people. */
export function describeDefault(setting: FixedSetting<unknown> | DerivedSetting<unknown>): string {
  return "default" in setting ? setting.default : setting.derived;
}
