/**
 * Paged lists in one round trip: one row more than the page is fetched, and if it exists there is a next page. A page
 * past the end is an empty list.
 */
import { Type } from "typebox";
import { Nullable } from "./schema.ts";

export const DEFAULT_PER_PAGE = 10;
export const MAX_PER_PAGE = 100;
/** Keeps the offset an exact integer. */
const MAX_PAGE = 1_000_000_000;

/** Spread into the `query` schema of a list: `Type.Object({ ...PageQuery, … })`. */
export const PageQuery = {
  page: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MAX_PAGE, default: 1, description: "Page number, from 1", examples: [1] }),
  ),
  per_page: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_PER_PAGE,
      default: DEFAULT_PER_PAGE,
      description: "Entries per page",
      examples: [DEFAULT_PER_PAGE],
    }),
  ),
};

/** §4.6: null at either end of the list. */
export const PagingInfo = Type.Object(
  {
    previous_page: Nullable(Type.Integer()),
    next_page: Nullable(Type.Integer()),
    per_page: Type.Integer(),
  },
  { title: "PagingInfo" },
);

export interface Page {
  number: number;
  perPage: number;
  /** For the `limit` of the SQL statement: one row more than the page shows. */
  limit: number;
  offset: number;
  /** Only rows with a larger id; 0 unless a whole list is read in batches. */
  idsAfter: number;
}

/** `afterId` is that of the request; lists that no version shows as a whole omit it. */
export function pageOf(query: { page?: number; per_page?: number }, afterId?: number): Page {
  if (afterId !== undefined) return pageAt(1, MAX_PER_PAGE, afterId);
  const { page = 1, per_page: perPage = DEFAULT_PER_PAGE } = query;
  return pageAt(page, perPage, 0);
}

function pageAt(number: number, perPage: number, idsAfter: number): Page {
  return { number, perPage, limit: perPage + 1, offset: (number - 1) * perPage, idsAfter };
}

/** `rows` are those fetched with the page's limit. */
export function pagingInfo(page: Page, rows: readonly unknown[]) {
  return {
    previous_page: page.number > 1 ? page.number - 1 : null,
    next_page: rows.length > page.perPage ? page.number + 1 : null,
    per_page: page.perPage,
  };
}

/** The rows that belong to the page itself. */
export function shownRows<Row>(page: Page, rows: readonly Row[]): readonly Row[] {
  return rows.length > page.perPage ? rows.slice(0, page.perPage) : rows;
}
