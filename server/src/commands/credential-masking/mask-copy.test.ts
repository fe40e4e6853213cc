import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isExhaustive } from "../../../test/support/exhaustive.ts";
import { useServer, type AccountClient } from "../../../test/support/given.ts";
import { pauseNode } from "../../../test/support/pause-node.ts";
import { storedText } from "../../../test/support/stored-text.ts";
import { splitWords } from "../../lib/shell-words.ts";
import { openSecrets } from "./command-secrets.ts";
import { copyWithSecret } from "../../../test/support/copy-arbitrary.ts";

const given = useServer({ isIsolated: false });
const copy = { command_type: "HadoopCommand", sub_command: "s3distcp" };

pauseNode(given); // a running copy has its credentials in a private file, which the tests would find

describe("POST commands with credentials in a copy", () => {
  test.each([
    ["quoted as a whole", "'--src s3://a --encryptionKey hunter2'", "'--src s3://a --encryptionKey ********'"],
    ["in a property", "-Dfs.s3a.secret.key=hunter2 --src s3://a", "-Dfs.s3a.secret.key=******** --src s3://a"],
    ["in two words", "-D fs.s3n.awsSecretAccessKey=hunter2", "-D fs.s3n.awsSecretAccessKey=********"],
    ["in an address", "--src s3n://AKIA:hunter2@b/x --dest c", "--src s3n://********@b/x --dest c"],
  ])("seals and masks what is %s", async (_how, args, shown) => {
    const account = await given.account();
    const reply = await account.post("/commands", { ...copy, sub_command_args: args });
    expect(reply.command).toEqual({ sub_command: "s3distcp", sub_command_args: shown });
    expect(await sealedArgs(account, reply.id)).toBe(args);
  });

  test("masks fields: addresses, manifests and endpoints", async () => {
    const account = await given.account();
    const { command } = await account.post("/commands", {
      ...copy,
      src: "s3n://AKIA:hunter2@a/x",
      dest: "s3://b",
      previousManifest: "s3n://AKIA:hunter2@a/m.gz",
      s3Endpoint: "https://user:hunter2@h:9000",
    });
    expect(command.sub_command_args).toBe(
      "'--src' 's3n://********@a/x' '--dest' 's3://b' '--previousManifest' 's3n://********@a/m.gz' " +
        "'--s3Endpoint' 'https://********@h:9000'",
    );
  });

  test("masks the macros that supply them, the macros these use and the macros that use these, and no others", async () => {
    const account = await given.account();
    const body = {
      ...copy,
      sub_command_args: "--src s3://a/$day$ --encryptionKey pre$key$post",
      macros: [{ half: "'hun'" }, { day: "'2026'" }, { key: "half + 'ter2'" }, { upper: "$key$.toUpperCase()" }],
    };
    const { id, command, resolved_macros: resolved } = await account.post("/commands", body);
    expect(command.sub_command_args).toBe("--src s3://a/$day$ --encryptionKey ********");
    const mask = "********";
    expect(JSON.parse(resolved)).toEqual([{ half: mask }, { day: "2026" }, { key: mask }, { upper: mask }]);
    const { macros } = await account.get(`/commands/${id}?include_query_properties=true`);
    expect(macros).toEqual([{ half: mask }, { day: "'2026'" }, { key: mask }, { upper: mask }]);
    expect(await sealedArgs(account, id)).toBe("--src s3://a/2026 --encryptionKey prehunter2post");
  });

  test("masks a macro that supplies the option with its value, and shows where the macro is used", async () => {
    const account = await given.account();
    const macros = JSON.stringify([{ options: "'--encryptionKey hunter2'", name: "'--encryptionKey'" }]);
    const reply = await account.post("/commands", { ...copy, sub_command_args: "$options$ $name$ hunter3", macros });
    expect(reply.command.sub_command_args).toBe("$options$ $name$ ********");
    expect(reply.resolved_macros).toBe('[{"options":"********"},{"name":"--encryptionKey"}]');
  });

  test("stores no secrets where there are none", async () => {
    const account = await given.account();
    const body = { ...copy, sub_command_args: "--src $a$ --dest s3://b", macros: [{ a: "'s3://a'" }] };
    const reply = await account.post("/commands", body);
    expect(reply.command.sub_command_args).toBe(body.sub_command_args);
    expect(reply.resolved_macros).toBe('[{"a":"s3://a"}]');
    expect(await sealedArgs(account, reply.id)).toBeUndefined();
  });

  test.each([
    [{ macros: [{ key: "hunter2" }] }, /^macros\.key cannot be evaluated/],
    [{ macros: [{ key: "(() => { throw new Error('hunter2') })()" }] }, /^macros\.key cannot be evaluated/],
    [{ macros: '[{"key": hunter2}]' }, /^macros must be JSON/],
    [{ macros: [{ key: `"'hunter2"` }] }, /^sub_command_args has an unterminated single quote at character 17/],
    [{ sub_command_args: "--encryptionKey 'hunter2" }, /^sub_command_args has an unterminated single quote/],
    [
      { sub_command_args: "--encryptionKey hunter2", encryptionKey: "hunter2" },
      /^encryptionKey must not be given twice/,
    ],
    [{ targetSize: "hunter2" }, /^targetSize must be/],
    [{ encryptionKey: "hunter2".repeat(8192) }, /^encryptionKey must/],
    [
      { macros: [{ key: "'hunter2'.repeat(9000)" }], sub_command_args: "$key$".repeat(50) },
      /^sub_command_args must have at most/,
    ],
  ])("refuses %j without repeating the value", async (change, message) => {
    const account = await given.account();
    const reply = await account
      .post("/commands", { ...copy, sub_command_args: "--encryptionKey $key$", ...change })
      .refused(422, message);
    expect(reply.text).not.toContain("hunter2");
  });

  test("says why a macro of another command does not evaluate", async () => {
    const account = await given.account();
    const body = { template: "s3import", db_name: "sales", hive_table: "daily", macros: [{ a: "unknown" }] };
    await account.post("/commands", body).refused(422, /^macros\.a cannot be evaluated: 'unknown' is not defined/);
  });

  test("answers a repeated request with the masked reply", async () => {
    const account = await given.account();
    const headers = { "Idempotency-Key": "once" };
    const body = { ...copy, sub_command_args: "'--encryptionKey hunter2'" };
    const first = await account.post("/commands", body, { headers });
    const again = await account.post("/commands", body, { headers });
    expect(again).toEqual(first);
    expect(again.command.sub_command_args).toBe("'--encryptionKey ********'");
  });
});

test("no response, table or file contains a secret, however it was submitted, and a rerun still uses it", async () => {
  const account = await given.account();
  const seen: string[] = [];
  const every = fc.asyncProperty(copyWithSecret, async ({ body, parts, filled }) => {
    const submitted = await account.post("/commands", { ...copy, ...body });
    const rerun = await account.post(`/commands/${submitted.id}/rerun`);
    const viewed = await account.get(`/commands/${rerun.id}?include_query_properties=true`);
    const { commands } = await account.get("/commands?include_query_properties=true&per_page=2");
    const answers = JSON.stringify([submitted, rerun, viewed, commands]);
    for (const window of parts.flatMap(windowsOf)) expect(answers).not.toContain(window);
    for (const { id } of [submitted, rerun]) expect(await sealedArgs(account, id)).toBe(filled);
    // Throws if the quotes are not balanced. A macro can contain one quote of a pair: texts with macros are skipped.
    if (body.macros === undefined) splitWords(submitted.command.sub_command_args, "shown");
    seen.push(...parts);
  });
  const numRuns = isExhaustive ? 60 : 30;
  await fc.assert(every, { numRuns });
  const stored = await storedText(given.app.services.db.system);
  const files = filesBelow(given.dataDir).map((file) => readFileSync(file, "latin1"));
  expect(seen.length).toBeGreaterThan((numRuns * 5) / 6);
  for (const part of seen) {
    expect(stored).not.toContain(part);
    expect(stored).not.toContain(Buffer.from(part).toString("hex"));
    expect(files.find((text) => text.includes(part))).toBeUndefined();
  }
});

/** A macro may supply only a part of the secret. */
function windowsOf(part: string): string[] {
  return Array.from({ length: part.length - 4 }, (_, at) => part.slice(at, at + 5));
}

async function sealedArgs(account: AccountClient, id: number): Promise<string | undefined> {
  const { db, keys } = given.app.services;
  const [row] = await db.system.query<{ secrets: Buffer | null }>("select secrets from command where id = $1", [id]);
  const sealed = row?.secrets ?? null;
  return sealed === null ? undefined : openSecrets(keys, account.accountId, sealed).sub_command_args;
}

function filesBelow(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}
