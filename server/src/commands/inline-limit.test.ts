import { expect, test } from "vitest";
import { useServer } from "../../test/support/given.ts";
import { givenQuery, textRows } from "../../test/support/queried-rows.ts";

const given = useServer({ settings: { HEADGATE_INLINE_RESULT_LIMIT: "1m" } });

/** Rows of a KiB, line ends included. */
const rows = (count: number, ...last: string[]) =>
  textRows([...Array.from({ length: count }, () => "x".repeat(1022)), ...last]);

test("HEADGATE_INLINE_RESULT_LIMIT is the size from which results are not inline", async () => {
  const account = await given.account();
  const below = await givenQuery(given, account, rows(1023, "x".repeat(1021)));
  expect((await account.get(`/commands/${below.id}/results`)).results).toHaveLength(1024 * 1024 - 1);
  const { id } = await givenQuery(given, account, rows(1024));
  expect(await account.get(`/commands/${id}/results`)).toMatchObject({ inline: false });
  expect(await account.get(`/commands/${id}/status_with_results`)).toMatchObject({ inline: false, results: null });
});
