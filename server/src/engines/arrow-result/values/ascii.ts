/** Codes of the ASCII characters that several writers use. */
export const SPACE = 0x20;
export const QUOTE = 0x22;
export const PLUS = 0x2b;
export const MINUS = 0x2d;
export const POINT = 0x2e;
export const ZERO = 0x30;
export const COLON = 0x3a;
