import { isIPv4 } from "node:net";

/**
 * The rule for names of S3 buckets. Unlike S3's current rule, it allows upper-case letters and underscores, which old
 * buckets and compatible stores have. Returns the broken rule ("must …"), or undefined if the name is valid.
 */
export function bucketNameRule(bucket: string): string | undefined {
  if (bucket.length < 3 || bucket.length > 63) return "must name a bucket of 3 to 63 characters";
  if (!/^[A-Za-z0-9._-]+$/.test(bucket)) return "must name a bucket of letters, digits, '.', '_' and '-'";
  if (!/^[A-Za-z0-9].*[A-Za-z0-9]$/.test(bucket)) {
    return "must name a bucket that begins and ends with a letter or a digit";
  }
  if (bucket.includes("..")) return "must name a bucket without two dots in a row";
  if (isIPv4(bucket)) return "must name a bucket that is not an IP address";
  return undefined;
}
