import { operation } from "../access/operation.ts";
import { StreamReply } from "../http/stream-reply.ts";
import { Fault, notFound } from "../lib/fault.ts";
import type { CallOptions, ObjectStat } from "../object-store/object-store.ts";
import type { OpenFiles, WithAccountFiles } from "./account-files.ts";
import { attachment } from "./attachment.ts";
import { askedRange, rangeIn, type AskedRange, type FoundRange } from "./byte-range.ts";
import { exactly } from "./exact-length.ts";
import { FileParams, mayUseFiles } from "./file.ts";
import { fileFault, isMissing } from "./file-fault.ts";
import { pathInUrl } from "./file-path.ts";
import { expectedEtag, IF_MATCH } from "./if-match.ts";

export const downloadFile = operation({
  id: "file_download",
  summary: "Download a file",
  description: "HEAD replies with the headers only. A request for several ranges gets the whole file.",
  tag: "Files",
  method: "GET",
  paths: { v2: "/files/:path" },
  restOfPath: true,
  access: { permission: mayUseFiles("file:read") },
  params: FileParams,
  requestHeaders: {
    Range:
      "One range of bytes, such as bytes=0-99, bytes=100- or bytes=-100: the reply is 206; 416 if there are no such bytes",
    "If-Match": `Downloads the file only if ${IF_MATCH}`,
    "If-Range": "An ETag: the range is sent only if the file has it, otherwise the whole file",
  },
  example: { params: { path: "orders.csv" } },
  streams: { "application/octet-stream": "The contents of the file" },
  replyHeaders: {
    "Content-Disposition": "attachment, with the name of the file",
    ETag: "Changes with the contents; not if the store of the account has none",
    "Last-Modified": "The time of the last change",
    "Accept-Ranges": "bytes",
    "Content-Range": "With 206: the range and the size of the file",
  },

  async handle({ params, caller, header, isHead, requireSlot, endingSignal }, services: WithAccountFiles) {
    const path = pathInUrl(params.path);
    const request = {
      path,
      ifMatch: expectedEtag(header("If-Match")),
      ifRange: header("If-Range"),
      range: askedRange(header("Range")),
      isHead,
    };
    requireSlot("stream");
    const signal = endingSignal();
    return services.accountFiles.lend(caller.accountId, (files, close) => download(files, request, { signal, close }));
  },
});

interface Download {
  readonly path: string;
  readonly ifMatch: string | undefined;
  readonly ifRange: string | undefined;
  readonly range: AskedRange | undefined;
  readonly isHead: boolean;
}

interface Ending extends CallOptions {
  readonly close: () => Promise<void>;
}

/** The conditions are checked before the contents are requested, and the store is asked for just those contents. */
async function download(files: OpenFiles, request: Download, { signal, close }: Ending): Promise<StreamReply> {
  const { path, isHead } = request;
  const uri = files.uriOf(path);
  for (let attempt = 1; ; attempt += 1) {
    const found = await files.store.stat(uri, { signal }).catch((error: unknown) => {
      throw isMissing(error) ? notFound("File", path) : error;
    });
    const range = checkedRange(found, request);
    const headers = headersOf(path, found, range);
    const status = range === undefined ? 200 : 206;
    const length = range?.length ?? found.size;
    if (isHead || length === 0) {
      await close();
      return new StreamReply("application/octet-stream", nothing(), headers, { status });
    }
    const opened = await files.store.get(uri, { range, signal });
    if (opened.etag !== found.etag || opened.size !== found.size) {
      opened.body.destroy();
      if (attempt >= MAX_ATTEMPTS) throw new Fault("conflict", "The file keeps changing. Try again later.");
      continue;
    }
    try {
      await files.noteWorks();
    } catch (error) {
      opened.body.destroy();
      throw error;
    }
    const contents = exactly(length, opened.body, { translate: fileFault, close });
    return new StreamReply("application/octet-stream", contents, headers, { status, ownsPieces: true });
  }
}

/** If the file is replaced between the two requests, they are repeated. */
const MAX_ATTEMPTS = 3;

async function* nothing(): AsyncGenerator<Buffer> {}

function checkedRange({ size, etag }: ObjectStat, { ifMatch, ifRange, range }: Download): FoundRange | undefined {
  if (ifMatch !== undefined && ifMatch !== "*" && ifMatch !== etag) {
    throw new Fault("precondition-failed", "The ETag of the file is not that in If-Match.");
  }
  if (range === undefined || (ifRange !== undefined && (etag === null || ifRange !== `"${etag}"`))) return undefined;
  const found = rangeIn(size, range);
  if (found !== undefined) return found;
  throw new Fault("range-not-satisfiable", `Range is not in the file, which has ${size} bytes.`, { sizeBytes: size });
}

function headersOf(path: string, { size, etag, modifiedAt }: ObjectStat, range: FoundRange | undefined) {
  const { offset, length } = range ?? { offset: 0, length: size };
  return {
    "Content-Disposition": attachment(path),
    "Content-Length": String(length),
    ...(etag === null ? {} : { ETag: `"${etag}"` }),
    "Last-Modified": modifiedAt.toUTCString(),
    "Accept-Ranges": "bytes",
    ...(range === undefined ? {} : { "Content-Range": `bytes ${offset}-${offset + length - 1}/${size}` }),
  };
}
