import { expect, test } from "vitest";
import { useServer } from "../../../test/support/given.ts";
import { NOTHING_CONTRIBUTED } from "../../engines/spark-home/contribution.ts";
import { findR } from "../../engines/spark-home/find-r.ts";
import { sparkDriver } from "./spark-driver.ts";

const home = {
  folder: "/spark",
  version: "4.1.3",
  java: { path: "/java/bin/java", home: "/java", build: "17" },
  python: { path: "/usr/bin/python3", version: "3.11" },
  javaArguments: "/launch/java.args",
  classPath: [],
  driverPython: "/launch/wrappers/python",
  driverR: "/launch/wrappers/R",
  archive: undefined,
  readOnlyFolders: [],
};

/** On a machine without R, whatever this one has. */
const given = useServer({
  driver: sparkDriver(
    { current: () => ({ state: "ready", detail: "", home }) },
    () => Promise.resolve(NOTHING_CONTRIBUTED),
    (folder) => findR(folder, []),
  ),
});

test("an R program on a node without R ends as an error that says what to install, and is not tried again", async () => {
  const account = await given.account();
  const body = { command_type: "SparkCommand", language: "R", program: "cat(1)", retry: 1 };
  const { id } = await account.post("/commands", body);
  await expect.poll(() => account.get(`/commands/${id}`), { timeout: 20_000 }).toMatchObject({ status: "error" });
  const { error_log: log } = await account.get(`/commands/${id}/error_logs`);
  expect(log).toMatch(/R is not installed: (run .*reticulate|install R with)/);
  expect((await account.get(`/commands/${id}/attempts`)).attempts).toHaveLength(1);
});
