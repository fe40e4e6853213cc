/**
 * The settings as text for operators. A value is written as in the settings file, like the defaults, so that the two can
 * be compared. Secrets are masked.
 */
import { Secret } from "../lib/secret.ts";
import { shareText, sizeText, type Share } from "./parse-value.ts";
import { describeDefault } from "./setting.ts";
import { settings } from "./settings.ts";

export interface SettingText {
  readonly name: string;
  /** Null: not set, so the default applies. */
  readonly value: string | null;
  readonly default: string;
}

type SettingValue = string | number | Secret | Share | readonly string[] | ReadonlyMap<string, string> | null;

/** `values`: a `Config`. */
export function settingTexts(values: Readonly<Partial<Record<string, SettingValue>>>): SettingText[] {
  return Object.entries(settings).map(([key, setting]) => ({
    name: setting.name,
    value: valueText(key, values[key]),
    default: describeDefault(setting),
  }));
}

function valueText(key: string, value: SettingValue | undefined): string | null {
  if (value === null || value === undefined) return null;
  if (value instanceof Secret) return value.toString();
  if (typeof value === "number" && key.endsWith("MiB")) return sizeText(value);
  if (typeof value !== "object") return String(value);
  if ("percent" in value || "miB" in value) return shareText(value);
  const list = "join" in value ? value : [...value].map(([name, text]) => `${name}=${text}`);
  return list.length === 0 ? "none" : list.join(",");
}
