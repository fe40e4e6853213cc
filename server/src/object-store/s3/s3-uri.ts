import { ObjectStoreError } from "../object-store-error.ts";
import { formatObjectUri, parseObjectUri, type ObjectUri } from "../object-uri.ts";

export function s3UriOf(text: string): ObjectUri {
  const uri = parseObjectUri(text);
  if (uri.scheme !== "s3") throw new ObjectStoreError("bad-uri", "the URI must begin with s3://, s3a:// or s3n://");
  return uri;
}

export function objectOf(text: string): { uri: ObjectUri; subject: string } {
  const uri = s3UriOf(text);
  if (uri.key === "") throw new ObjectStoreError("bad-uri", "the URI must name an object in the bucket");
  return { uri, subject: formatObjectUri(uri) };
}
