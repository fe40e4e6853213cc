/**
 * A place as Hadoop writes it, which is how a metastore keeps it: `file:/a/b`, `s3a://bucket/a b/k=a%2Fb`. Nothing in it
 * is escaped: a `%` means itself. One slash between names, none at the end.
 */
export function hadoopPath(place: string): string {
  const [, root = "", path = ""] = /^([A-Za-z][A-Za-z0-9+.-]*:(?:\/\/[^/]*)?)?(.*)$/s.exec(place) ?? [];
  return `${root.replace(/\/\/$/, "")}${path.replaceAll(/\/+/g, "/").replace(/(.)\/$/s, "$1")}`;
}

/** What has this name in a folder; that of a whole bucket or file system ends with a slash already. */
export function hadoopChild(folder: string, name: string): string {
  return folder.endsWith("/") ? `${folder}${name}` : `${folder}/${name}`;
}
