/**
 * Checks access in this order: the token (401), the rate limits (429), the address and the membership's state (403),
 * the permission (403, or 404 on operator routes). If an object's policy decides, the permission is checked after the
 * object is found. Refusals of known callers are audited.
 */
import type { Database, Tx } from "../db/database.ts";
import {
  ANONYMOUS_TERMS,
  ORDINARY_BODY_BYTES,
  QUERY_BODY_BYTES,
  type BodyTerms,
  type Arrival,
  type Gate,
} from "../http/gate.ts";
import { Fault, noSuchOperation } from "../lib/fault.ts";
import type { Clock } from "../lib/clock.ts";
import type { KeyRing } from "../lib/key-ring.ts";
import type { Log } from "../lib/log.ts";
import { authenticate, touchLastLogin, type Authenticated, type IdempotencyScope } from "./store.ts";
import type { Denials } from "./audit/denials.ts";
import { recordAudit } from "./audit/store.ts";
import type { Caller } from "./caller.ts";
import {
  checkIdempotencyKey,
  idempotencyPath,
  idempotentReply,
  keptReply,
  type IdempotentReply,
} from "./idempotency.ts";
import type { Limits } from "./limits.ts";
import type { Admitted, AuditNote, Change, OperationAccess, Visitor } from "./operation.ts";
import {
  missingPermissionOf,
  readScopeOf,
  readScopeOfType,
  refusalOfSearch,
  policySourcesOf,
} from "./object-access.ts";
import { authorise, refusalText, type PolicyContext } from "./policy/authorise.ts";
import type { PolicySource } from "./policy/policy.ts";
import type { ReadScope } from "./policy/read-scope.ts";
import { isWellFormedToken } from "./token.ts";
import { normalAddress } from "./whitelist/ip-address.ts";

export interface GateOptions {
  db: Database;
  keys: KeyRing;
  denials: Denials;
  limits: Limits;
  clock: Clock;
  log: Log;
}

/** Null: the operation is public and the caller unknown. */
export type Admission = {
  caller: Caller;
  /** When access was checked, in milliseconds. */
  checkedAt: number;
  /** Known once the body is read; an idempotent reply belongs to it. */
  bodySha256: Buffer;
  /** Undefined: no objects with policies are involved. */
  context: PolicyContext | undefined;
  /** Undefined: the operation has no `access.lists`. */
  readScope: ReadScope | undefined;
} | null;

const LAST_LOGIN_STALE_MS = 10 * 60_000;
/** The gate checks access again if the body or the wait for its turn took longer. */
const ADMISSION_STALE_MS = 1000;
const NO_BODY = Buffer.alloc(0);
const NO_TOKEN = "The token is missing: send it as X-AUTH-TOKEN, or as Authorization: Bearer.";

export function accessGate({
  db,
  keys,
  denials,
  limits,
  clock,
  log,
}: GateOptions): Gate<OperationAccess, Admission, Admitted> {
  async function identify(
    { token, requestId, address: given }: Arrival,
    sources: readonly PolicySource[],
  ): Promise<Authenticated> {
    if (token === undefined || token === "") throw new Fault("unauthenticated", NO_TOKEN);
    const address = normalAddress(given);
    const known = isWellFormedToken(token)
      ? await authenticate(db.shared, token, { address, requestId }, sources)
      : undefined;
    if (known !== undefined) return known;
    limits.takeBadToken(address);
    throw new Fault("unauthenticated", "The token in X-AUTH-TOKEN or Authorization is not valid.");
  }

  function noteLogin({ caller, lastLogin }: Authenticated): void {
    const now = clock.now();
    if (lastLogin !== null && now.getTime() - lastLogin.getTime() < LAST_LOGIN_STALE_MS) return;
    touchLastLogin(db.system, caller.membershipId, now).catch((error: unknown) => {
      log.warn({ err: error }, "last login time could not be stored");
    });
  }

  function deny(operationId: string, caller: Caller, message: string): Fault {
    denials.add(caller, operationId);
    return new Fault("forbidden", message);
  }

  return {
    async admit(endpoint, arrival) {
      if (endpoint.access.permission === "public") return null;
      const checkedAt = clock.now().getTime();
      const known = await identify(arrival, policySourcesOf(endpoint.access));
      limits.takeRequest(known.caller.tokenId);
      const admission = await checkAdmission({ db, deny }, endpoint, known, { arrival, checkedAt });
      noteLogin(known);
      return admission;
    },

    async renew(endpoint, admission, arrival) {
      const now = clock.now().getTime();
      if (admission === null || now - admission.checkedAt < ADMISSION_STALE_MS) return admission;
      return checkAdmission({ db, deny }, endpoint, await identify(arrival, policySourcesOf(endpoint.access)), {
        arrival,
        checkedAt: now,
      });
    },

    enter(endpoint, admission, arrival) {
      const visitor: Visitor = { address: normalAddress(arrival.address), requestId: arrival.requestId };
      // Handlers of public operations (`publicOperation`) take no caller.
      if (admission === null) return visitor as Admitted;
      const scope = endpoint.method === "POST" ? scopeOf(admission.caller, arrival) : undefined;
      const kept = scope === undefined ? undefined : () => idempotentReply(keys, scope, admission.bodySha256);
      return { ...visitor, ...admittedTo({ db, deny }, endpoint.id, admission, kept) };
    },

    checksPolicies: ({ access }) => access.object !== undefined || access.authorises !== undefined,

    async authorise({ id, access }, admission, search) {
      if (admission === null || access.object === undefined) return;
      const { caller, context } = admission;
      const asking = { reader: db.accountReader(caller.accountId), caller, context: requireContext(id, context) };
      const refusal = await refusalOfSearch(asking, access, search);
      if (refusal !== undefined) throw deny(id, caller, refusal);
    },

    bodyTerms: ({ access, method }, admission) =>
      admission === null ? ANONYMOUS_TERMS : termsOf(access, method === "GET", admission.caller),

    async replay(admission, arrival, bodySha256) {
      const scope = admission === null ? undefined : scopeOf(admission.caller, arrival);
      if (admission === null || scope === undefined) return undefined;
      checkIdempotencyKey(scope.key);
      admission.bodySha256 = bodySha256;
      return keptReply(db, keys, scope, bodySha256);
    },

    owners: (admission) =>
      admission === null ? [] : [`user ${admission.caller.userId}`, `account ${admission.caller.accountId}`],

    describe: (admission) =>
      admission === null ? {} : { accountId: admission.caller.accountId, userId: admission.caller.userId },
  };
}

interface CheckedEndpoint {
  readonly id: string;
  readonly access: OperationAccess;
}

type Deny = (operationId: string, caller: Caller, message: string) => Fault;

/** Everything that does not depend on an object. */
async function checkAdmission(
  { db, deny }: { db: Database; deny: Deny },
  { id, access }: CheckedEndpoint,
  known: Authenticated,
  { arrival, checkedAt }: { arrival: Arrival; checkedAt: number },
): Promise<Admission> {
  const { caller, context } = known;
  if (access.permission === "operator" && known.state === "active" && known.addressAllowed && !caller.isOperator) {
    throw noSuchOperation(arrival.method, arrival.sentUrl);
  }
  const unusable = refusalOf(known);
  if (unusable !== undefined) throw deny(id, caller, unusable);
  const refusal = missingPermissionOf(access, caller);
  const readScope = await readScopeOf(db.shared, access, known, refusal === undefined);
  if (refusal !== undefined && access.object === undefined && readScope === undefined) throw deny(id, caller, refusal);
  return { caller, checkedAt, bodySha256: NO_BODY, context, readScope };
}

/** `kept` is called once the body is known. */
function admittedTo(
  { db, deny }: { db: Database; deny: Deny },
  operationId: string,
  { caller, context, readScope }: NonNullable<Admission>,
  kept: (() => IdempotentReply) | undefined,
): Omit<Admitted, keyof Visitor> {
  const reader =
    readScope?.isFiltered === true ? db.genericPlanReader(caller.accountId) : db.accountReader(caller.accountId);
  return {
    caller,
    reader,
    patientReader: () => db.patientReader(caller.accountId),
    change: (work, scope) => changeFor(db, caller, operationId, kept?.())(work, scope),
    deny: (message) => deny(operationId, caller, message),
    authorise: async (object, action, row, given = reader) => {
      const asking = { caller, context: requireContext(operationId, context) };
      const decision = await authorise(given, asking, { object, action, row });
      if (!decision.isAllowed) throw deny(operationId, caller, refusalText(decision, caller, row));
    },
    readable: () => {
      if (readScope === undefined) throw new Error(`${operationId} calls readable() without access.lists`);
      return readScope;
    },
    readableOf: (type) => readScopeOfType(type, caller, requireContext(operationId, context)),
  };
}

function changeFor(db: Database, caller: Caller, operationId: string, kept: IdempotentReply | undefined): Change {
  return (work, scope = "account") => {
    const run = async (tx: Tx): ReturnType<typeof work> => {
      await kept?.claim(tx);
      const note: AuditNote = { object: null };
      const reply = await work(tx, note);
      recordAudit(tx, caller, operationId, note.object, note.detail);
      kept?.keep(tx, reply);
      return reply;
    };
    switch (scope) {
      case "account":
        return db.asAccount(caller.accountId, run);
      case "system":
        return db.asSystem(run);
    }
  };
}

function termsOf({ largeBody }: OperationAccess, isGet: boolean, { accountId, features }: Caller): BodyTerms {
  const owner = `account ${accountId}`;
  if (isGet) return { limitBytes: QUERY_BODY_BYTES, owner };
  if (largeBody === undefined) return { limitBytes: ORDINARY_BODY_BYTES, owner };
  const { bytes, values, withFeature } = largeBody;
  const ordinary = { limitBytes: bytes, owner, ...(values === undefined ? {} : { maxValues: values }) };
  if (withFeature === undefined) return ordinary;
  const { feature } = withFeature;
  if (features.has(feature)) return { ...ordinary, limitBytes: withFeature.bytes };
  return { ...ordinary, hint: `an operator can enable the feature ${feature}, which allows more.` };
}

function refusalOf({ state, addressAllowed }: Authenticated): string | undefined {
  if (!addressAllowed) return "Your address is not whitelisted for this account.";
  switch (state) {
    case "pending":
      return "Your user is waiting for approval: an administrator of the account must enable it.";
    case "disabled":
      return "Your user is disabled in this account: an administrator of the account can enable it.";
    case "active":
      return undefined;
  }
}

function requireContext(operationId: string, context: PolicyContext | undefined): PolicyContext {
  if (context === undefined) throw new Error(`${operationId} must have access.object or access.authorises`);
  return context;
}

function scopeOf(caller: Caller, { method, path, idempotencyKey }: Arrival): IdempotencyScope | undefined {
  if (idempotencyKey === undefined) return undefined;
  return { caller, method, path: idempotencyPath(path), key: idempotencyKey };
}
