export const bytesPerMiB = 1024 * 1024;

/** A size as written in settings, rounded: `512m`, `3.9g`. */
export function sizeText(bytes: number): string {
  if (!Number.isFinite(bytes)) return "an unknown size";
  const miB = bytes / bytesPerMiB;
  return miB < 1024 ? `${Math.round(miB)}m` : `${(miB / 1024).toFixed(1).replace(/\.0$/, "")}g`;
}
