/**
 * The placeholder in the names of the definitions, such as `svc_users` and `enable_svc_user`, for the prefix of the
 * deployment.
 */
const NEUTRAL_PREFIX = /(?<![A-Za-z0-9])svc(?=_)/g;
/** The same in the key of a query's schema. */
const NEUTRAL_SCHEMA_PREFIX = /\bSVC(?=-QUERY-SCHEMA\b)/g;

/** Shows the names of a page as clients of this deployment must write them. */
export function withShownPrefix(text: string, identifierPrefix: string): string {
  return text
    .replaceAll(NEUTRAL_PREFIX, identifierPrefix)
    .replaceAll(NEUTRAL_SCHEMA_PREFIX, identifierPrefix.toUpperCase());
}
