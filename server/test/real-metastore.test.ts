/**
 * The tests of `npm test` that need a real metastore and do not break it share one, because its start takes seconds of
 * CPU time. They are in `real-metastore/`, and run in the order below: some compare whole tables of the metastore, or list all of its
 * databases, and must not see data of the other tests.
 */
import { beforeAll, describe } from "vitest";
import { testExternalMetastore } from "./real-metastore/external-metastore.ts";
import { testHiveClient } from "./real-metastore/hive-client.ts";
import { testManyPartitions } from "./real-metastore/many-partitions.ts";
import { testPartitions } from "./real-metastore/partitions.ts";
import { createSales } from "./real-metastore/sales.ts";
import { testTableCatalog } from "./real-metastore/table-catalog.ts";
import { SET_UP_MS } from "./support/connect-server.ts";
import { sparkIsMissing } from "./support/spark-missing.ts";
import { useMetastore } from "./support/use-metastore.ts";

// Skipped if this machine has no Java or Python; sparkIsMissing prints the reason.
describe.skipIf(sparkIsMissing)("a real metastore", () => {
  const metastore = useMetastore();

  // Needs a metastore without partitions.
  describe("the partitions of a table", () => {
    testPartitions(metastore);
  });

  // Lists all databases exactly.
  describe("with many tables", () => {
    beforeAll(() => createSales(metastore), SET_UP_MS);

    describe("a catalog of tables", () => {
      testTableCatalog(metastore);
    });
    describe("a client", () => {
      testHiveClient(metastore);
    });
  });

  describe("an account with an external metastore", () => {
    testExternalMetastore(metastore);
  });

  // Adds rows that the tests above would have to compare.
  describe("many partitions", () => {
    testManyPartitions(metastore);
  });
});
