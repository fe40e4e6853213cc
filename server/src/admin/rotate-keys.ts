import { statSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { Command } from "commander";
import type { Database } from "../db/database.ts";
import { withOperatorLock } from "../db/operator-lock.ts";
import { countSealedBefore, reseal } from "../db/reseal.ts";
import { Fault } from "../lib/fault.ts";
import { newKey, openKeyRing, readKeys, writeKeys, type KeyRing } from "../lib/key-ring.ts";
import { sealedColumns } from "../sealed-columns.ts";
import type { Cli } from "./cli.ts";
import { requireFirstAccount, withSession, type Session } from "./session.ts";
import { sendAudit } from "./store.ts";

interface Options {
  reseal?: true;
  retire?: true;
}

/**
 * Rotation without downtime. A key is in the file before values are sealed with it, and old keys stay until no value
 * needs them. A running server reads the file again when it meets an unknown key, and every few seconds (tasks.ts), so
 * it soon seals with the new key, too.
 */
export function keyRotateCommand(cli: Cli): Command {
  return new Command("key-rotate")
    .description("add a new key and reseal every stored secret with it; the server may keep running")
    .option("--reseal", "add no key; only reseal secrets of old keys with the newest one")
    .option("--retire", "remove the old keys; refused while a secret is sealed with them")
    .action((options: Options) => {
      if (options.reseal === true && options.retire === true) {
        throw new Fault("invalid", "--reseal and --retire are separate steps: use one of them.");
      }
      return withSession(cli, (session) =>
        withOperatorLock(session.store.connection, () =>
          options.retire === true ? retire(cli, session) : rotate(cli, session, options.reseal !== true),
        ),
      );
    });
}

async function rotate(cli: Cli, session: Session, addKey: boolean): Promise<void> {
  const { keyFile } = session.config;
  const accountId = await requireFirstAccount(session);
  const keys = readKeys(keyFile);
  if (addKey) writeKeys(keyFile, [...keys, newKey(keys)]);
  const ring = openKeyRing(keyFile);
  const sealed = await resealEverything(session.db, ring);
  await session.db.asSystem(async (tx) => sendAudit(tx, accountId, "key_rotate", `key/${ring.newestId}`));
  cli.out(`Key ${ring.newestId} is in use${sealed ? "" : "; the server will reseal the remaining secrets with it"}.\n`);
  if (readKeys(keyFile).length > 1) {
    cli.note(
      "The old keys are still in the file: key-rotate --retire removes them, a minute from now at the earliest.",
    );
  }
}

const PASSES_WITHOUT_PROGRESS = 50;
const PAUSE_MS = 100;

/** False if other transactions keep some rows locked; these are left to the server's own task. */
async function resealEverything({ system }: Database, keys: KeyRing): Promise<boolean> {
  let idle = 0;
  try {
    while (idle <= PASSES_WITHOUT_PROGRESS) {
      const { resealed, left } = await reseal({ system, keys, columns: sealedColumns });
      if (left === 0) return true;
      idle = resealed > 0 ? 0 : idle + 1;
      await delay(PAUSE_MS);
    }
    return false;
  } catch (cause) {
    if (cause instanceof Fault) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Fault("invalid", `A stored secret cannot be opened (${why}). No key was removed.`, { cause });
  }
}

/** Longer than a server needs to read a new key, and longer than a transaction that sealed with the old one. */
const SETTLED_MS = 60_000;

async function retire(cli: Cli, session: Session): Promise<void> {
  const { db, config } = session;
  const accountId = await requireFirstAccount(session);
  const keys = readKeys(config.keyFile);
  const newest = keys.at(-1);
  if (newest === undefined || keys.length === 1) {
    cli.out("There is no old key to remove.\n");
    return;
  }
  const waitMs = SETTLED_MS - (Date.now() - statSync(config.keyFile).mtimeMs);
  if (waitMs > 0) {
    throw new Fault(
      "conflict",
      `The newest key is too new: a server may still seal with the previous one. Try again in ${Math.ceil(waitMs / 1000)} s.`,
    );
  }
  const left = await countSealedBefore(db.system, sealedColumns, newest.id);
  if (left > 0) {
    throw new Fault(
      "conflict",
      `${left} stored secrets are still sealed with old keys: run key-rotate --reseal, then try again.`,
    );
  }
  writeKeys(config.keyFile, [newest]);
  const gone = keys.slice(0, -1).map(({ id }) => id);
  await db.asSystem(async (tx) => sendAudit(tx, accountId, "key_retire", `key/${gone.join(",")}`));
  cli.out(`Removed key ${gone.join(", ")}; key ${newest.id} stays. Earlier exports contain the keys they need.\n`);
}
