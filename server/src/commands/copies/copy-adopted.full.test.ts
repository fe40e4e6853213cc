import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { operationOf } from "../../../test/support/faulty-copies.ts";
import { useNodes } from "../../../test/support/use-nodes.ts";
import { waitForCommandEnd } from "../../../test/support/wait-for-command-end.ts";
import { faultyRelay } from "../../../test/seaweedfs/relay.ts";
import { storageSettings, useSeaweedFs } from "../../../test/seaweedfs/seaweedfs.ts";
import { s3Store } from "../../object-store/s3/s3-store.ts";

const MIB = 1024 * 1024;
const PATIENCE = { timeout: 60_000 };
const s3 = useSeaweedFs();
const nodes = useNodes(["only"], () => ({ HEADGATE_ALLOWED_NETWORKS: "127.0.0.0/8" }));

test("a server that is killed and restarted during an upload adopts the copy, and nothing is copied twice", async () => {
  const gate = Promise.withResolvers<void>();
  const relay = await faultyRelay(s3.endpoint, (request) =>
    operationOf(request) === "PUT partNumber uploadId" ? { kind: "hold", until: gate.promise } : undefined,
  );
  const store = s3Store({ ...s3, endpoint: s3.endpoint, checkAddress: () => null });
  const dest = `s3://${await s3.bucket()}/out`;
  const { accountId } = nodes.account;
  const folder = join(nodes.folder, "only/accounts", String(accountId), "storage/in");
  mkdirSync(folder, { recursive: true });
  const large = randomBytes(11 * MIB);
  writeFileSync(join(folder, "large"), large);
  writeFileSync(join(folder, "small"), "small");
  const partsOf = (): number => relay.requests.filter((request) => request.url.includes("partNumber=")).length;
  try {
    await nodes.at("only").put("/api/v2/accounts", { account: storageSettings(s3.credentials, relay.endpoint) });
    const { id } = await nodes.at("only").post("/commands", {
      command_type: "HadoopCommand",
      sub_command: "s3distcp",
      sub_command_args: `--src file://${folder} --dest ${dest} --multipartUploadChunkSize 5`,
    });
    await expect.poll(partsOf, PATIENCE).toBe(3);
    await nodes.process("only").crash();
    await nodes.start("only");
    await expect.poll(() => nodes.at("only").get(`/commands/${id}`), PATIENCE).toMatchObject({ status: "running" });
    gate.resolve();
    expect(await waitForCommandEnd(nodes.at("only"), id)).toMatchObject({ status: "done" });
    expect(await nodes.db.system.query("select from command_attempt where command_id = $1", [id])).toHaveLength(1);
    const { text } = await nodes.at("only").get(`/commands/${id}/results?format=json`).reply();
    expect(JSON.parse(text)).toMatchObject([{ bytes: large.length }, { bytes: 5 }]);
    expect(partsOf()).toBe(3);
    expect((await store.read(`${dest}/large`)).bytes.equals(large)).toBe(true);
    expect(await Array.fromAsync(store.openUploads(`${dest}/`))).toEqual([]);
  } finally {
    gate.resolve();
    await relay.close();
    await store.close();
  }
});
