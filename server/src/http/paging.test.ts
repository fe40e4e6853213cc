import { expect, test } from "vitest";
import { pageOf, pagingInfo, shownRows } from "./paging.ts";

test("without parameters the first page has ten entries, and one row more is fetched", () => {
  expect(pageOf({})).toEqual({ number: 1, perPage: 10, limit: 11, offset: 0, idsAfter: 0 });
  expect(pageOf({ page: 3, per_page: 100 })).toEqual({ number: 3, perPage: 100, limit: 101, offset: 200, idsAfter: 0 });
});

test.each([
  ["the only page", 1, 2, { previous_page: null, next_page: null, per_page: 2 }],
  ["the first of several", 1, 3, { previous_page: null, next_page: 2, per_page: 2 }],
  ["one in the middle", 2, 3, { previous_page: 1, next_page: 3, per_page: 2 }],
  ["the last", 3, 1, { previous_page: 2, next_page: null, per_page: 2 }],
  ["one past the end", 9, 0, { previous_page: 8, next_page: null, per_page: 2 }],
])("%s links to the previous and the next page, if they exist", (_name, number, fetched, info) => {
  const page = pageOf({ page: number, per_page: 2 });
  const rows = Array.from({ length: fetched }, (_, index) => index);
  expect(pagingInfo(page, rows)).toEqual(info);
  expect(shownRows(page, rows)).toEqual(rows.slice(0, 2));
});
