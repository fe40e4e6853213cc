/**
 * The keys of an account: encrypted at rest, masked in every reply. A client that sends back the masked value, or an
 * empty text, changes nothing.
 */
import { sealContext, type SealedColumn } from "../db/sealed-column.ts";
import { invalid } from "../lib/fault.ts";
import type { KeyRing } from "../lib/key-ring.ts";
import { Secret, secretMask } from "../lib/secret.ts";
import type { AccountInput } from "./account-fields.ts";

export const CREDENTIALS = ["storageAccessKey", "storageSecretKey", "computeAccessKey", "computeSecretKey"] as const;
export type Credential = (typeof CREDENTIALS)[number];

export type GivenCredentials = ReadonlyMap<Credential, Secret>;
export type SealedCredentials = Record<Credential, Buffer | null>;

const COLUMNS: Record<Credential, SealedColumn> = {
  storageAccessKey: { table: "account", column: "storage_access_key", accountColumn: "id" },
  storageSecretKey: { table: "account", column: "storage_secret_key", accountColumn: "id" },
  computeAccessKey: { table: "account", column: "compute_access_key", accountColumn: "id" },
  computeSecretKey: { table: "account", column: "compute_secret_key", accountColumn: "id" },
};
export const credentialColumns: readonly SealedColumn[] = Object.values(COLUMNS);

/** Both spellings are accepted in every version (§4.12). */
export function givenCredentials(input: AccountInput): GivenCredentials {
  const texts: Record<Credential, string | undefined> = {
    storageAccessKey: oneOf({
      acc_key: unmasked(input.acc_key),
      storage_access_key: unmasked(input.storage_access_key),
    }),
    storageSecretKey: oneOf({ secret: input.secret, storage_secret_key: input.storage_secret_key }),
    computeAccessKey: oneOf({ compute_access_key: unmasked(input.compute_access_key) }),
    computeSecretKey: oneOf({ compute_secret_key: input.compute_secret_key }),
  };
  const given = new Map<Credential, Secret>();
  for (const name of CREDENTIALS) {
    const text = texts[name];
    if (text !== undefined) given.set(name, new Secret(text));
  }
  return given;
}

export function sealCredentials(
  given: GivenCredentials,
  keys: KeyRing,
  account: { id: number } & Partial<SealedCredentials>,
): SealedCredentials {
  const sealed = (name: Credential): Buffer | null => {
    const secret = given.get(name);
    if (secret === undefined) return account[name] ?? null;
    return keys.seal(Buffer.from(secret.reveal()), sealContext(COLUMNS[name], account.id));
  };
  return {
    storageAccessKey: sealed("storageAccessKey"),
    storageSecretKey: sealed("storageSecretKey"),
    computeAccessKey: sealed("computeAccessKey"),
    computeSecretKey: sealed("computeSecretKey"),
  };
}

export function openCredential(
  keys: KeyRing,
  account: { id: number } & SealedCredentials,
  name: Credential,
): Secret | undefined {
  const sealed = account[name];
  if (sealed === null) return undefined;
  return new Secret(keys.open(sealed, sealContext(COLUMNS[name], account.id)).toString("utf8"));
}

/** `AKIA****WXYZ`; a short key is masked completely, because eight characters would be most of it. */
export function shownAccessKey(
  keys: KeyRing,
  account: { id: number } & SealedCredentials,
  name: "storageAccessKey" | "computeAccessKey",
): string {
  const key = openCredential(keys, account, name)?.reveal();
  if (key === undefined) return "";
  return key.length < 12 ? secretMask : `${key.slice(0, 4)}****${key.slice(-4)}`;
}

export function shownSecretKey(sealed: Buffer | null): string {
  return sealed === null ? "" : secretMask;
}

const SHOWN_ACCESS_KEY = /^[^]{4}\*{4}[^]{4}$/;

/** A masked access key, of the current or an earlier key, counts as absent. */
function unmasked(accessKey: string | undefined): string | undefined {
  return accessKey !== undefined && SHOWN_ACCESS_KEY.test(accessKey) ? undefined : accessKey;
}

/** Empty texts and the mask count as absent; two spellings of one key must agree. */
function oneOf(spellings: Record<string, string | undefined>): string | undefined {
  const given = Object.entries(spellings).filter(
    ([, text]) => text !== undefined && text !== "" && text !== secretMask,
  );
  const [[name, text] = [], [otherName, otherText] = []] = given;
  if (name !== undefined && otherName !== undefined && text !== otherText) {
    throw invalid(name, `must be the same as ${otherName} if both are given`);
  }
  return text;
}
