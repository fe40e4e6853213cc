/** Features that operators enable per account; all are off by default (decisions §2). */
export const features = [
  "ip_whitelisting",
  "aggressive_downscaling",
  "data_store_catalogs",
  "large_scripts",
  "large_inline_content",
  "script_macros",
  "closed_clusters",
] as const;

export type Feature = (typeof features)[number];

export function isFeature(name: string): name is Feature {
  return (features as readonly string[]).includes(name); // widened: `includes` of a tuple takes only its own members
}
