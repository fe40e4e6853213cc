import type { AgentLimits } from "../../object-store/guarded-agent.ts";
import { removeLeftovers } from "./clean-up.ts";
import { CopyMeter } from "./copy-progress.ts";
import type { CopyRequest } from "./copy-request.ts";
import { deleteSources } from "./delete-sources.ts";
import { checkDestination, checkStillThere, mayExist, outputUri } from "./destination.ts";
import { explainFailure } from "./explain-failure.ts";
import type { FinishedOutputs } from "./finished-outputs.ts";
import { Journal } from "./journal.ts";
import { findSources, manifestContents, openPreviousManifest } from "./copy-manifests.ts";
import { manifestSources } from "./plan/manifest-sources.ts";
import { listSources } from "./list-sources.ts";
import { CopyArgumentError } from "./options/copy-argument-error.ts";
import type { CopyOptions } from "./options/copy-options.ts";
import { parseCopyOptions } from "./options/parse-options.ts";
import type { PlanSummary } from "./plan/plan-context.ts";
import { planOutputs, type CopyPlan } from "./plan/plan-outputs.ts";
import type { PlannedOutput } from "./plan/planned-output.ts";
import type { CopyEnd, ReportLine } from "./report.ts";
import { reportCopied } from "./report-copied.ts";
import type { SortedRecords } from "./sorted-file/sorted-records.ts";
import { COPY_LIMIT_BYTES } from "./storage/s3-storage.ts";
import { Storages } from "./storage/storages.ts";
import { removeSuperseded } from "./superseded-outputs.ts";
import { runOutputs } from "./transfer/run-outputs.ts";
import { OutputTransfer, PARTS_IN_MEMORY } from "./transfer/transfer-output.ts";

export interface CopyChannels {
  /** Lines for the server (`report.ts`). */
  readonly report: (text: string) => void;
  /** Lines for the user. */
  readonly log: (line: string) => void;
  readonly signal: AbortSignal;
}

const DEFAULT_SLOTS = 64;
const MAX_SLOTS = 256;
const BATCH_FILES = 1000;
const LARGEST_BATCH = 10_000;
const MIB = 1024 * 1024;

interface CopyParts {
  readonly journal: Journal;
  readonly storages: Storages;
  readonly slots: number;
}

/** Limits of requests, which tests reduce. */
export type CopyLimits = Partial<Omit<AgentLimits, "maxConnections"> & { readonly retries: number }>;

/** Runs a copy to its end. A failure does not reject, but is part of the result. */
export async function runCopy(request: CopyRequest, channels: CopyChannels, limits: CopyLimits = {}): Promise<CopyEnd> {
  const copy = new Copy(request, channels, limits);
  try {
    await copy.run();
    return copy.end(null);
  } catch (error) {
    return copy.end(error);
  } finally {
    await copy.close();
  }
}

class Copy {
  readonly #request: CopyRequest;
  readonly #channels: CopyChannels;
  readonly #limits: CopyLimits;
  /** Aborted by the first failure, so that running transfers stop. */
  readonly #failed = new AbortController();
  readonly #signal: AbortSignal;
  readonly #meter: CopyMeter;
  #journal: Journal | undefined;
  #storages: Storages | undefined;
  /** The names and sizes at the destination after earlier attempts. */
  #found: SortedRecords | null = null;

  constructor(request: CopyRequest, channels: CopyChannels, limits: CopyLimits) {
    this.#request = request;
    this.#channels = channels;
    this.#limits = limits;
    this.#signal = AbortSignal.any([channels.signal, this.#failed.signal]);
    this.#meter = new CopyMeter(channels.report, channels.log, () => this.#retries());
  }

  async run(): Promise<void> {
    const options = parseCopyOptions(this.#request.words, this.#request.account.location);
    for (const note of options.notes) this.#channels.log(note);
    const maxMiB = Math.floor(this.#request.bufferMiB / PARTS_IN_MEMORY);
    if (options.chunkSizeMiB > maxMiB) {
      this.#channels.log(`--multipartUploadChunkSize: parts have ${maxMiB} MiB, the most that a copy's memory allows`);
    }
    const journal = (this.#journal = await Journal.open(this.#request.journalFolder));
    const slots = Math.min(options.parallelism ?? DEFAULT_SLOTS, MAX_SLOTS);
    const [request, signal, limits] = [this.#request, this.#signal, this.#limits];
    const storages = (this.#storages = new Storages({ request, options, journal, slots, signal, limits }));
    await removeLeftovers(storages, { left: journal, notes: journal }, options.dest, this.#signal);
    const { scratchFolder } = this.#request;
    this.#found = await checkDestination(options, { to: storages.to, journal, scratchFolder, signal });
    if (!journal.isComplete) {
      await this.#transfer(options, { journal, storages, slots });
      await storages.to.settle();
      await journal.noteComplete();
    } else {
      this.#channels.log("an earlier attempt has copied all files; this one copies nothing");
      this.#meter.endListing();
    }
    const finished = await journal.finishedOutputs(scratchFolder, signal);
    if (journal.isComplete && this.#found !== null) {
      await checkStillThere(finished, this.#found, { dest: options.dest, scratchFolder, signal });
    }
    if (options.deleteOnSuccess) await deleteSources(finished.sources(), storages, this.#channels.log);
    await this.#reportCopied(options.dest, finished);
  }

  async #transfer(options: CopyOptions, { journal, storages, slots }: CopyParts): Promise<void> {
    const transfer = this.#outputTransfer(options, { journal, storages, slots });
    const plan = await this.#plan(options, { journal, storages, slots });
    try {
      await runOutputs(this.#counted(plan), {
        batchSize: Math.min(options.filesPerMapper ?? BATCH_FILES, LARGEST_BATCH),
        slots,
        begin: (names) => journal.begin(names),
        run: async (output) => {
          try {
            await this.#copyOutput(output, transfer, journal, options.dest);
          } catch (error) {
            this.#failed.abort(error);
            throw error;
          }
        },
      });
      this.#logPlan(plan.summary, options);
      await removeSuperseded({
        names: () => plan.superseded(),
        journal,
        to: mayExist(options) ? null : storages.to,
        dest: options.dest,
        scratchFolder: this.#request.scratchFolder,
        signal: this.#signal,
        log: this.#channels.log,
      });
      if (options.outputManifest !== null) await this.#writeManifest(plan, options, { journal, transfer });
    } finally {
      plan.close();
    }
  }

  async #writeManifest(
    plan: CopyPlan,
    { dest, outputManifest }: CopyOptions,
    { journal, transfer }: { journal: Journal; transfer: OutputTransfer },
  ): Promise<void> {
    const { scratchFolder } = this.#request;
    const finished = await journal.finishedOutputs(scratchFolder, this.#signal);
    const parts = { finished, carriedOver: plan.carriedOver(), scratchFolder, signal: this.#signal };
    const name = outputManifest ?? "";
    await journal.beginManifest(name);
    await transfer.write(manifestContents(dest, parts), outputUri(dest, name));
    journal.noteManifest(name);
  }

  #outputTransfer(options: CopyOptions, { journal, storages, slots }: CopyParts): OutputTransfer {
    return new OutputTransfer({
      journal,
      from: () => storages.from,
      to: storages.to,
      copy: options,
      slots,
      bufferBytes: this.#request.bufferMiB * MIB,
      signal: this.#signal,
      spoolFolder: () => storages.spoolFolder(),
      onBytes: (bytes) => (this.#meter.bytes += bytes),
    });
  }

  async #plan(options: CopyOptions, { journal, storages, slots }: CopyParts): Promise<CopyPlan> {
    const read = { inSlot: runNow, onRead: () => undefined, signal: this.#signal };
    const manifest = await openPreviousManifest(options, storages, read);
    const fromManifest = options.copyFromManifest && manifest !== undefined;
    const losesWrites = storages.to.scheme === "file";
    const sources = fromManifest
      ? findSources(manifestSources(manifest, this.#request.account.location), options, { storages, slots })
      : listSources(options, storages);
    return planOutputs(sources, options, {
      scratchFolder: this.#request.scratchFolder,
      destinationScheme: storages.to.scheme,
      largestBytes: options.disableMultipartUpload && storages.to.scheme === "s3" ? COPY_LIMIT_BYTES : null,
      srcScheme: options.srcScheme,
      previousManifest: fromManifest ? undefined : manifest,
      manifestName: options.outputManifest,
      earlier:
        this.#found === null ? undefined : { outputs: journal.earlierOutputs({ losesWrites }), found: this.#found },
      signal: this.#signal,
    });
  }

  async #copyOutput(output: PlannedOutput, transfer: OutputTransfer, journal: Journal, dest: string): Promise<void> {
    const { name, bytes, single } = output;
    const done = { name, bytes, size: await transfer.run(output, outputUri(dest, name)) };
    if (single === null) await journal.noteJoined(done, output.sources());
    else journal.noteDone(done, single);
    this.#meter.files += output.sourceCount;
  }

  #logPlan({ listedFiles, matchedFiles, skippedFiles, doneOutputs }: PlanSummary, options: CopyOptions): void {
    const { log } = this.#channels;
    log(`${matchedFiles} of ${listedFiles} files matched`);
    if (matchedFiles === 0 && listedFiles > 0 && (options.srcPattern ?? options.groupBy) !== null) {
      log("a pattern must match the whole URI of a file, such as s3://bucket/folder/name: begin it with .*");
    }
    if (skippedFiles > 0) log(`${skippedFiles} files are in the previous manifest: not copied again`);
    if (doneOutputs > 0) log(`${doneOutputs} outputs were finished by an earlier attempt`);
  }

  async *#counted(plan: CopyPlan): AsyncGenerator<PlannedOutput> {
    const { summary } = plan;
    try {
      for await (const output of plan) {
        this.#signal.throwIfAborted();
        this.#meter.plan(output.sourceCount, output.bytes);
        this.#meter.countEarlier(summary.doneFiles, summary.doneBytes);
        yield output;
      }
    } catch (error) {
      this.#failed.abort(error); // stops running transfers
      throw error;
    }
    this.#meter.countEarlier(summary.doneFiles, summary.doneBytes);
    this.#meter.endListing();
  }

  async #reportCopied(dest: string, finished: FinishedOutputs): Promise<void> {
    const { scratchFolder } = this.#request;
    const report = (lines: readonly ReportLine[]): void => this.#meter.report(...lines);
    const rows = await reportCopied(finished.sources(), { dest, scratchFolder, signal: this.#signal, report });
    this.#meter.countEarlier(rows - this.#meter.files, this.#meter.earlierBytes);
  }

  end(error: unknown): CopyEnd {
    this.#meter.stop();
    if (error !== null) this.#channels.log(explainFailure(error));
    if (this.#meter.hasListed) this.#channels.log(this.#meter.summary());
    this.#meter.report({ progress: this.#meter.progress() });
    const { files, bytes, earlierFiles } = this.#meter;
    return {
      files,
      bytes,
      earlierFiles,
      retries: this.#retries(),
      failure: error === null ? null : explainFailure(error),
      isRefused: error instanceof CopyArgumentError,
      usedAccountKeys: files > 0 && this.#storages?.usesAccountKeys === true,
    };
  }

  async close(): Promise<void> {
    this.#found?.close();
    await this.#storages?.close().catch(() => undefined);
    await this.#journal?.close();
  }

  #retries(): number {
    return this.#storages?.retryCount ?? 0;
  }
}

function runNow<T>(work: () => Promise<T>): Promise<T> {
  return work();
}
