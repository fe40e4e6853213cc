export const bytesPerMiB = 1024 * 1024;

/** As settings spell it, rounded: `512m`, `3.9g`. */
export function sizeText(bytes: number): string {
  if (!Number.isFinite(bytes)) return "more than can be counted";
  const miB = bytes / bytesPerMiB;
  return miB < 1024 ? `${Math.round(miB)}m` : `${(miB / 1024).toFixed(1).replace(/\.0$/, "")}g`;
}
