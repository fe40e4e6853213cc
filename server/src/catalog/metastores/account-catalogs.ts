import type { Queryable } from "../../db/database.ts";
import { notFound } from "../../lib/fault.ts";
import type { KeyRing } from "../../lib/key-ring.ts";
import type { Secret } from "../../lib/secret.ts";
import { newSecret, openSecret, openSecrets, sealSecret, sealSecrets, type OpenSecrets } from "./metastore-secrets.ts";
import { findCatalog, insertMetastore, replaceSecret, type SealedSecrets } from "./store/metastore.ts";

/** The metastore of an account: an external one, or one of ours with its secrets. */
export type AccountCatalog = { readonly kind: "external"; readonly uri: string } | OwnCatalog;

export interface OwnCatalog {
  readonly kind: "own";
  readonly secrets: OpenSecrets;
  readonly sealed: SealedSecrets;
}

export class AccountCatalogs {
  readonly #system: Queryable;
  readonly #keys: KeyRing;

  constructor(system: Queryable, keys: KeyRing) {
    this.#system = system;
    this.#keys = keys;
  }

  /** Creates the secrets of the account's metastore if there are none yet. */
  async find(accountId: number): Promise<AccountCatalog> {
    const found = await this.#read(accountId);
    if (found !== undefined) return found;
    const secrets = { password: newSecret(), secret: newSecret() };
    await insertMetastore(this.#system, accountId, sealSecrets(this.#keys, accountId, secrets));
    const created = await this.#read(accountId);
    if (created === undefined) throw notFound("Account", accountId);
    return created;
  }

  /** The password of the account's role in PostgreSQL. Undefined: no Spark of the account has ever used a metastore. */
  async findPassword(accountId: number): Promise<Secret | undefined> {
    const sealed = (await findCatalog(this.#system, accountId))?.sealed ?? undefined;
    return sealed && openSecret(this.#keys, accountId, "password", sealed.password);
  }

  /** For a secret that another process may have seen. */
  async renewSecret(accountId: number, known: OwnCatalog): Promise<AccountCatalog> {
    const secret = sealSecret(this.#keys, accountId, "secret", newSecret());
    await replaceSecret(this.#system, accountId, known.sealed, secret);
    return this.find(accountId);
  }

  /** Undefined: the secrets have not been created yet. */
  async #read(accountId: number): Promise<AccountCatalog | undefined> {
    const row = await findCatalog(this.#system, accountId);
    if (row === undefined) throw notFound("Account", accountId);
    const { externalUri, sealed } = row;
    if (externalUri !== null) return { kind: "external", uri: externalUri };
    return sealed === null ? undefined : { kind: "own", secrets: openSecrets(this.#keys, accountId, sealed), sealed };
  }
}
