import { InvalidArgumentError, Option } from "commander";
import { settings } from "../config/settings.ts";
import { features, isFeature, type Feature } from "../lib/features.ts";
import { hasControlCharacter, hasVisibleCharacter } from "../lib/name-rule.ts";

export const jsonOption = (): Option => new Option("--json", "print JSON for programs");

export function parseId(text: string): number {
  const id = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(id) && id > 0) return id;
  throw new InvalidArgumentError("It must be a positive integer; the command accounts lists the ids.");
}

export function parseNodeId(text: string): string {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)) return text;
  throw new InvalidArgumentError("It must be the id of a node; node-list lists the ids.");
}

export function parseHours(text: string): number {
  const hours = Number(text);
  if (/^\d+$/.test(text) && hours >= 1 && hours <= 8760) return hours;
  throw new InvalidArgumentError("It must be an integer from 1 to 8760.");
}

export function parseFeature(text: string): Feature {
  if (isFeature(text)) return text;
  throw new InvalidArgumentError(`It must be one of ${features.join(", ")}.`);
}

export function parseFeatures(text: string): readonly Feature[] {
  const list = settings.defaultFeatures.parse(text);
  if (list !== undefined) return list;
  throw new InvalidArgumentError(`It must be ${settings.defaultFeatures.allowed}.`);
}

export function parseEmail(text: string): string {
  const email = settings.adminEmail.parse(text);
  if (email !== undefined) return email;
  throw new InvalidArgumentError(`It must be ${settings.adminEmail.allowed}.`);
}

const MAX_NAME_LENGTH = 255;

export function parseAccountName(text: string): string {
  const name = text.trim();
  if (hasVisibleCharacter(name) && name.length <= MAX_NAME_LENGTH && !hasControlCharacter(name)) return name;
  throw new InvalidArgumentError(
    `It must have 1 to ${MAX_NAME_LENGTH} characters, at least one of them visible and none a control character.`,
  );
}
