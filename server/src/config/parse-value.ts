import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** Parses the text of a setting; undefined if the text is not allowed. */
export type ParseValue<T> = (text: string) => T | undefined;

export function integer(from: number, to: number): ParseValue<number> {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
    return value >= from && value <= to ? value : undefined;
  };
}

export function oneOf<T extends string>(allowed: readonly T[]): ParseValue<T> {
  return (text) => allowed.find((value) => value === text);
}

export function matching(pattern: RegExp): ParseValue<string> {
  return (text) => (pattern.test(text) ? text : undefined);
}

/** A comma-separated list without duplicates. `none` is the empty list, because an empty value counts as not set. */
export function listOf<T>(item: ParseValue<T>): ParseValue<readonly T[]> {
  return (text) => {
    if (text === "none") return Object.freeze([]);
    const values = new Set<T>();
    for (const part of text.split(",")) {
      const value = item(part.trim());
      if (value === undefined) return undefined;
      values.add(value);
    }
    return Object.freeze([...values]);
  };
}

/** No shell expands values of the file, so `~` would become a folder of that name. */
export const path: ParseValue<string> = matching(/^[^~\p{Cc}][^\p{Cc}]*$/u);

/** `prod=/etc/hadoop/prod`. */
export const namedFolder: ParseValue<readonly [name: string, folder: string]> = (text) => {
  const [, name, folder] = /^([A-Za-z0-9][A-Za-z0-9_.-]{0,63})=(\/[^\p{Cc},]*)$/u.exec(text) ?? [];
  return name === undefined || folder === undefined ? undefined : [name, folder];
};

export const host: ParseValue<string> = (text) =>
  isIP(text) !== 0 || /^(?=.{1,253}$)(?!-)[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})*$/i.test(text) ? text : undefined;

/** An address or a CIDR block. Host bits that are set are usually a mistake, so they are refused. */
export const network: ParseValue<string> = (text) => {
  const [address = "", bits, ...rest] = text.split("/");
  // Unlike ipaddr.js, isIP refuses octal and shortened forms; zone ids have no meaning in a list of networks.
  if (isIP(address) === 0 || address.includes("%") || rest.length > 0) return undefined;
  if (bits === undefined) return text;
  if (!/^\d{1,3}$/.test(bits) || !ipaddr.isValidCIDR(text)) return undefined;
  const [parsed] = ipaddr.parseCIDR(text);
  const base =
    parsed.kind() === "ipv4" ? ipaddr.IPv4.networkAddressFromCIDR(text) : ipaddr.IPv6.networkAddressFromCIDR(text);
  return base.toString() === parsed.toString() ? text : undefined;
};

/** Without a trailing slash, so that a path can be appended. */
export const httpAddress: ParseValue<string> = (text) => {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  const plain = url.username === "" && url.password === "" && url.search === "" && url.hash === "";
  return /^https?:$/.test(url.protocol) && plain ? url.href.replace(/\/+$/, "") : undefined;
};

/** `8g`, `512m`; a plain number is in MiB. */
export const sizeMiB: ParseValue<number> = (text) => {
  const match = /^(\d{1,9})(m|g)?$/i.exec(text);
  if (match === null) return undefined;
  const value = Number(match[1]) * (match[2]?.toLowerCase() === "g" ? 1024 : 1);
  return value >= 1 && value <= 2 ** 30 ? value : undefined;
};

/** Like `sizeMiB`, but allows 0. */
export const sizeMiBOrNone: ParseValue<number> = (text) => (text === "0" ? 0 : sizeMiB(text));

/** A percentage of something, or an absolute size. */
export type Share = { readonly percent: number } | { readonly miB: number };

/** `50%`, or a size; 0 is a size. */
export const share: ParseValue<Share> = (text) => {
  const [, digits] = /^(\d{1,3})%$/.exec(text) ?? [];
  if (digits !== undefined)
    return Number(digits) >= 1 && Number(digits) <= 100 ? { percent: Number(digits) } : undefined;
  const miB = sizeMiBOrNone(text);
  return miB === undefined ? undefined : { miB };
};

export function shareText(value: Share): string {
  return "percent" in value ? `${value.percent}%` : sizeText(value.miB);
}

/** As `sizeMiB` reads it: `8g`, `512m`; `0` as `sizeMiBOrNone` does. */
export function sizeText(miB: number): string {
  if (miB === 0) return "0";
  return miB % 1024 === 0 ? `${miB / 1024}g` : `${miB}m`;
}

/** Describes the values that `path` allows. */
export const A_PATH = "a path (relative paths start at the repository; ~ is not expanded)";
