/**
 * Normalises a location to Hadoop's form, which metastores store: `file:/a/b`, `s3a://bucket/a b/k=a%2Fb`. Nothing is
 * escaped: a `%` is literal. Slashes are single, and there is none at the end.
 */
export function hadoopPath(location: string): string {
  const [, root = "", path = ""] = /^([A-Za-z][A-Za-z0-9+.-]*:(?:\/\/[^/]*)?)?(.*)$/s.exec(location) ?? [];
  return `${root.replace(/\/\/$/, "")}${path.replaceAll(/\/+/g, "/").replace(/(.)\/$/s, "$1")}`;
}

/** The path of a name in a folder. The root of a bucket or file system already ends with a slash. */
export function hadoopChild(folder: string, name: string): string {
  return folder.endsWith("/") ? `${folder}${name}` : `${folder}/${name}`;
}
