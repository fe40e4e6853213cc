/**
 * Text in HTTP headers, which carry bytes. Each byte is one character here. S3 stores metadata as Unicode
 * and sends what is not ASCII as encoded words (RFC 2047); other stores return the bytes that they received.
 */
import { ObjectStoreError } from "../object-store-error.ts";

const ascii = /^[ -~\t]*$/;
const control = /[^\P{Cc}\t]/u;
const encodedWord = /=\?utf-8\?(?:b\?([A-Za-z0-9+/=]*)|q\?([!->@-~]*))\?=/gi;
const betweenWords = /(\?=)\s+(?==\?utf-8\?)/gi;

/** As UTF-8, one character per byte. */
export function writeHeaderText(text: string): string {
  checkHeaderText(text);
  return ascii.test(text) ? text : Buffer.from(text, "utf8").toString("latin1");
}

/** As ASCII, so that a signature means the same to every server. */
export function encodeHeaderWords(text: string): string {
  checkHeaderText(text);
  return ascii.test(text) ? text : `=?UTF-8?B?${Buffer.from(text, "utf8").toString("base64")}?=`;
}

/** Undoes both. Bytes that are not UTF-8 stay one character each. */
export function readHeaderText(value: string): string {
  if (!ascii.test(value)) return decodeUtf8(value);
  if (!value.includes("=?")) return value;
  return value.replaceAll(betweenWords, "$1").replaceAll(encodedWord, (word, base64?: string, quoted?: string) => {
    const bytes = base64 === undefined ? unquote(quoted ?? "") : Buffer.from(base64, "base64").toString("latin1");
    return decodeUtf8(bytes);
  });
}

function unquote(text: string): string {
  return text
    .replaceAll("_", " ")
    .replaceAll(/=([0-9A-F]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

function decodeUtf8(latin1: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(latin1, "latin1"));
  } catch {
    return latin1;
  }
}

function checkHeaderText(text: string): void {
  if (control.test(text) || !text.isWellFormed()) {
    throw new ObjectStoreError("bad-request", "an attribute of an object must be text without control characters");
  }
}
