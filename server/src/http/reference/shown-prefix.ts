/** The prefix of the definitions in the names that contain it: `svc_users`, `enable_svc_user`. */
const NEUTRAL_PREFIX = /(?<![A-Za-z0-9])svc(?=_)/g;
/** The same in the key of a query's schema. */
const NEUTRAL_SCHEMA_PREFIX = /\bSVC(?=-QUERY-SCHEMA\b)/g;

/** Shows the names of a page as clients of this deployment must write them. */
export function withShownPrefix(text: string, identifierPrefix: string): string {
  return text
    .replaceAll(NEUTRAL_PREFIX, identifierPrefix)
    .replaceAll(NEUTRAL_SCHEMA_PREFIX, identifierPrefix.toUpperCase());
}
