import type { Static } from "typebox";
import { operation, type Admitted, type WithDatabase } from "../access/operation.ts";
import { requireFeature } from "../access/caller.ts";
import { OBJECT_PERMISSIONS, submitRule } from "../access/policy/object-permissions.ts";
import type { AccountStorage, RefreshEngine } from "../accounts/contract.ts";
import type { MacroSandbox } from "../engines/macro-sandbox/macro-sandbox.ts";
import type { Queryable } from "../db/database.ts";
import type { ReadScope } from "../access/policy/read-scope.ts";
import type { ClusterLabels, WithClusterLabels } from "../clusters/contract.ts";
import { Fault } from "../lib/fault.ts";
import type { KeyRing } from "../lib/key-ring.ts";
import type { WithAccountDisk } from "./account-disk/account-disk.ts";
import { Command, commandObject, type WithCommandView } from "./command.ts";
import type { WithCommandEvents } from "./queue/command-events.ts";
import { sealSecrets } from "./credential-masking/command-secrets.ts";
import { maskSubmission } from "./credential-masking/mask-copy.ts";
import type { CommandKind, WithCommandKinds } from "./kinds/command-kinds.ts";
import {
  fillMacros,
  givenMacrosJson,
  namesMacro,
  resolvedMacrosOf,
  type MacroValues,
  evaluateMacros,
  parseMacros,
} from "./submission/macros.ts";
import { checkMayRunPrograms, type WithProgramIsolation } from "./execution/program-isolation.ts";
import { laneOf } from "./queue/claim-plan.ts";
import type { WithMemoryNeed } from "./queue/memory-rules.ts";
import { readScript } from "./read-script.ts";
import {
  hasLabel,
  insertCommand,
  isTargetChanged,
  reserveCommand,
  type NewCommand,
  type ReservedCommand,
} from "./store/submission.ts";
import { SubmissionBody, type SubmissionInput, checkCommandName, checkTags } from "./submission/body.ts";
import {
  checkEngine,
  type Source,
  type Submitter,
  ARGUMENTS_BYTES,
  checkLength,
  inlineLimit,
  scriptLimit,
} from "./submission/plan.ts";
import { unknownApp } from "./submission/spark.ts";

/** JSON escapes can make a text six times larger; the text itself has its own limits. */
export const SUBMISSION_BODY = {
  bytes: 2 * 1024 * 1024,
  withFeature: { feature: "large_inline_content", bytes: 32 * 1024 * 1024 },
} as const;
const DEFAULT_LABEL = "default";
/** A further attempt is needed only if the label is moved or removed, or the app deleted, between two statements. */
const MAX_ATTEMPTS = 3;

export interface SubmissionServices
  extends
    WithDatabase,
    WithCommandView,
    WithCommandEvents,
    WithCommandKinds,
    WithProgramIsolation,
    WithAccountDisk,
    WithMemoryNeed,
    WithClusterLabels {
  keys: KeyRing;
  macroSandbox: MacroSandbox;
  accountStorage: AccountStorage;
  /** The account's `refresh_engine`. */
  refreshEngineOf: (accountId: number) => Promise<RefreshEngine>;
}

/** §4.2–4.5. Everything that can be refused is refused before the one transaction that stores the command. */
export const submitCommand = operation({
  id: "command_submit",
  summary: "Submit a command",
  description: "A Spark command, an S3DistCp copy, a Hive query or a table refresh, by command_type and template.",
  tag: "Commands",
  method: "POST",
  paths: { "v1.2": "/commands" },
  access: {
    permission: OBJECT_PERMISSIONS.cluster.submit,
    largeBody: SUBMISSION_BODY,
    authorises: ["cluster"],
  },
  body: SubmissionBody,
  example: { body: { command_type: "SparkCommand", sql: "select 1 as one", name: "first" } },
  reply: Command,

  async handle({ body, caller, reader, requestId, change, authorise, readableOf }, services: SubmissionServices) {
    const { kind, command } = await newCommand(body, { ...caller, requestId }, services);
    const reply = await storeCommand({ kind, command }, { caller, reader, change, authorise, readableOf }, services);
    services.commandEvents.wake();
    return reply;
  },
});

/**
 * Sends the insert, its audit row and the commit together. Therefore the cluster and the app are read and checked
 * first, and again if the label was moved or removed or the app was deleted in between.
 */
async function storeCommand(
  { kind, command }: { kind: CommandKind; command: NewCommand },
  {
    caller,
    reader,
    change,
    authorise,
    readableOf,
  }: Pick<Admitted, "caller" | "reader" | "change" | "authorise" | "readableOf">,
  services: SubmissionServices,
): Promise<Static<typeof Command>> {
  const { accountId } = caller;
  for (let attempt = 1; ; attempt += 1) {
    const reserved = await reserveCommand(services.db.sharedForSubmissions, accountId, command);
    if (reserved === undefined) {
      throw await missingTarget(reader, command, readableOf("cluster"), services.clusterLabels);
    }
    if (kind.needsCluster) await authoriseSubmission(reserved, { caller, authorise });
    checkEngine(reserved.engineType, kind);
    services.memoryNeed.check(kind, { ...command, ...reserved, accountId }, reserved.engineType);
    try {
      return await change(async (tx, audit) => {
        insertCommand(tx, command, reserved);
        audit.object = `command/${reserved.id}`;
        return submitted(command, reserved, accountId, services);
      });
    } catch (error) {
      if (!isTargetChanged(error)) throw error;
      if (attempt === MAX_ATTEMPTS) throw targetChanged(error);
    }
  }
}

/** Throws the audited refusal unless the caller may run commands on the cluster. */
export async function authoriseSubmission(
  { clusterId, clusterOwnerId }: Pick<ReservedCommand, "clusterId" | "clusterOwnerId">,
  { caller, authorise }: Pick<Admitted, "caller" | "authorise">,
  reader?: Queryable,
): Promise<void> {
  const { action, row } = submitRule(caller.features);
  await authorise({ type: "cluster", id: clusterId, ownerId: clusterOwnerId }, action, row, reader);
}

function targetChanged(cause: unknown): Fault {
  const text =
    "The label was moved or removed, or the app was deleted, while the command was being stored. " +
    "Submit the command again.";
  return new Fault("conflict", text, { cause, retryAfterSeconds: 1 });
}

/** Says why a command could not be stored: its cluster or its app is missing. */
export async function missingTarget(
  reader: Queryable,
  { label, appId }: Pick<NewCommand, "label" | "appId">,
  scope: ReadScope,
  labels: ClusterLabels,
): Promise<Fault> {
  if (appId !== null && (await hasLabel(reader, label))) return unknownApp(appId);
  return labels.unknown(reader, { field: "label", reference: label, scope });
}

type SubmittingCaller = Submitter & Pick<Admitted["caller"], "userId" | "requestId">;

async function newCommand(
  body: SubmissionInput,
  caller: SubmittingCaller,
  services: SubmissionServices,
): Promise<{ kind: CommandKind; command: NewCommand }> {
  services.accountDisk.check(caller.accountId);
  const { kind, plan } = await services.commandKinds.plan(body, () => services.refreshEngineOf(caller.accountId));
  const name = checkCommandName(body.name);
  const tags = checkTags(body.tags);
  const macros = parseMacros(body.macros);
  if (plan.source?.kind === "inline") checkInline(caller, plan.source);
  if (kind.runsUsersCode) await checkMayRunPrograms(services.isolation, caller.accountId, plan.commandType);

  const mayHoldSecrets = plan.secretField !== null;
  const values = await evaluateMacros(services.macroSandbox, caller.accountId, macros, mayHoldSecrets);
  for (const [field, text] of Object.entries(plan.macroTexts)) fillMacros(text, values, field, ARGUMENTS_BYTES);
  const source = plan.source === null ? null : await sourceText(plan.source, values, caller, services.accountStorage);
  kind.checkWords?.(plan, values, source?.resolved ?? null);
  const resolvedMacros = resolvedMacrosOf(values);
  const planned = { id: 0, accountId: caller.accountId, clusterId: 0, pool: null, kind: kind.name, ...plan };
  const statedMemoryMiB = kind.memory.stated?.miB({ ...planned, resolvedMacros }, source?.resolved ?? null) ?? 0;
  const masked = maskSubmission(plan.command, plan.secretField, { given: macros, values });
  const command = {
    userId: caller.userId,
    label: body.label ?? DEFAULT_LABEL,
    kind: kind.name,
    commandType: plan.commandType,
    command: masked.command,
    secrets: masked.secrets === null ? null : sealSecrets(services.keys, caller.accountId, masked.secrets),
    options: plan.options,
    name,
    template: plan.template,
    pool: body.pool ?? null,
    appId: plan.appId,
    lane: laneOf(kind, plan.appId, statedMemoryMiB),
    statedMemoryMiB,
    timeoutSeconds: body.timeout ?? null,
    macros: givenMacrosJson(masked.macros),
    resolvedMacros: resolvedMacrosOf(masked.values),
    canNotify: body.can_notify ?? false,
    requestId: caller.requestId,
    retry: plan.retry,
    retryDelayMinutes: plan.retryDelayMinutes,
    tags,
    source,
  };
  return { kind, command };
}

function checkInline(submitter: Submitter, { field, text, language }: Extract<Source, { kind: "inline" }>): void {
  checkLength(submitter, field, Buffer.byteLength(text), inlineLimit(submitter, language));
}

async function sourceText(
  source: Source,
  values: MacroValues,
  submitter: Submitter,
  storage: AccountStorage,
): Promise<NewCommand["source"]> {
  const { language } = source;
  const isScript = source.kind === "script";
  const limit = isScript ? scriptLimit(submitter, language) : inlineLimit(submitter, language);
  const text = isScript ? await readScript(storage, submitter, source.uri, limit) : source.text;
  if (isScript && namesMacro(text, values)) requireFeature(submitter, "script_macros", "script_location with macros");
  const resolved = fillMacros(text, values, isScript ? "script_location" : source.field, limit.bytes);
  return { original: resolved === text ? null : text, resolved };
}

/** Not read back from the database: a program may have megabytes, and all fields are known. */
function submitted(
  command: NewCommand,
  { id, clusterId, createdAt }: ReservedCommand,
  accountId: number,
  { commandView }: WithCommandView,
): Static<typeof Command> {
  return commandObject(
    {
      ...command,
      id,
      clusterId,
      createdAt,
      accountId,
      commandSource: "API",
      status: "waiting",
      progress: 0,
      startTime: null,
      endTime: null,
      pid: null,
      qlog: null,
      numResultDir: 0,
    },
    commandView,
  );
}
