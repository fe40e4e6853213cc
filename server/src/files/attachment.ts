/** The header Content-Disposition of a download: a name for old clients, and the exact one in percent-encoding. */
export function attachment(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const plain = name.replaceAll(/[^\x20-\x7e]|["\\%/]/g, "_");
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded(name)}`;
}

/** RFC 8187 allows fewer characters than encodeURIComponent leaves. */
function encoded(name: string): string {
  return encodeURIComponent(name).replaceAll(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}
