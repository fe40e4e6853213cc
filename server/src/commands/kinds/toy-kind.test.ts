import { expect, test } from "vitest";
import { useServer } from "../../../test/support/given.ts";
import { toyKind } from "../../../test/support/toy-kind.ts";
import { allKinds } from "./all-kinds.ts";

const given = useServer({
  commandKinds: (parts) => [toyKind, ...allKinds(parts)],
});
const toy = { command_type: "HadoopCommand", sub_command: "toy", sub_command_args: "world" };

test("a new kind needs one file and one line in the list: its commands and reruns end as done", async () => {
  const account = await given.account();
  const submitted = await account.post("/commands", toy);
  const rerun = await account.post(`/commands/${submitted.id}/rerun`);
  for (const { id } of [submitted, rerun]) {
    expect(await account.get(`/commands/${id}?wait_seconds=45`)).toMatchObject({ status: "done", progress: 100 });
    expect(await account.get(`/commands/${id}/results`)).toEqual({ inline: true, results: "hello world" });
    expect(await account.get(`/commands/${id}/jobs`)).toEqual([]);
  }
});

test("other kinds of the same command type are not affected", async () => {
  const account = await given.account();
  const { id } = await account.post("/commands", { ...toy, sub_command: "s3distcp" });
  expect(await account.get(`/commands/${id}/status_with_results?wait_seconds=45`)).toMatchObject({
    status: "error",
    error: "Argument world doesn't match.",
  });
  await account.post("/commands", { ...toy, sub_command: "distcp" }).refused(422, /^sub_command must be s3distcp/);
});
