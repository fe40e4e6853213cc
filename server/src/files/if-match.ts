import { invalid } from "../lib/fault.ts";

/** The end of a sentence in the document. */
export const IF_MATCH = 'it has this ETag ("…", one only), or with * only if it exists; 412 otherwise';

const ETAG = /^(?:"([\x21\x23-\x7e]{1,1024})"|([A-Za-z0-9_.+/=-]{1,1024}))$/;

/** The header If-Match: an ETag without its quotes, or `*`. */
export function expectedEtag(sent: string | undefined): string | undefined {
  const text = sent?.trim();
  if (text === undefined || text === "*") return text;
  const [, quoted, bare] = ETAG.exec(text) ?? [];
  const etag = quoted ?? bare;
  if (etag === undefined) throw invalid("If-Match", 'must be * or one strong ETag, as in "abc"');
  return etag;
}
