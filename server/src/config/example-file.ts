import { describeDefault, type DerivedSetting, type FixedSetting } from "./setting.ts";
import { settingList } from "./settings.ts";

const head = `# Settings of Headgate. Copy this file, take the # off what you change, and name the copy in HEADGATE_CONFIG.
# KEY=value lines; a value may stand in quotes, an empty one counts as not set. The environment wins over the file.
# This file is generated from server/src/config/*-settings.ts.
`;

/** The text of `headgate.env.example`: each setting commented out with its default. A test keeps the file equal. */
export function exampleFile(): string {
  return [head, ...settingList.map(entry)].join("\n");
}

function entry(setting: FixedSetting<unknown> | DerivedSetting<unknown>): string {
  const lines = [...wrap(setting.description), ...wrap(`Allowed: ${setting.allowed}.`)];
  if ("derived" in setting) lines.push(...wrap(`Default: ${describeDefault(setting)}.`));
  const value = "default" in setting ? setting.default : "";
  return [...lines.map((line) => `# ${line}`), `#${setting.name}=${value}`, ""].join("\n");
}

function wrap(text: string): string[] {
  return text.match(/\S.{0,115}(?=\s|$)/g) ?? [];
}
