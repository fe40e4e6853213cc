import { systemClock, type Clock } from "../../lib/clock.ts";
import type { CheckAddress } from "../../lib/guarded-lookup.ts";
import { failureOfConnection } from "../object-store-error.ts";
import { translatedBody } from "../object-body.ts";
import { DEFAULT_AGENT_LIMITS, type AgentLimits } from "../guarded-agent.ts";
import { MIN_PART_BYTES, PARTS_IN_FLIGHT } from "./body-parts.ts";
import { deleteObject, deleteObjects } from "./delete-objects.ts";
import { listFolder, listObjectPages, listObjects, listPage } from "./list-objects.ts";
import { RawClient } from "./raw-client.ts";
import { S3Client } from "./s3-client.ts";
import { rangeHeader, statOf } from "./s3-headers.ts";
import { abortUpload, completeUpload, copyPart, createUpload, openUploads, uploadPart } from "./s3-multipart.ts";
import { copyObject, headObject, readObject, streamObject, writeObject } from "./s3-objects.ts";
import type { S3Store } from "./s3-operations.ts";
import { upload, type UploadLimits } from "./s3-upload.ts";
import { objectOf, s3UriOf } from "./s3-uri.ts";
import type { S3Credentials } from "./sign-request.ts";

export interface S3StoreOptions extends Partial<AgentLimits>, Partial<UploadLimits> {
  /** `http(s)://host[:port][/path]`; null: the AWS endpoint of the region. */
  endpoint: string | null;
  region: string;
  credentials: S3Credentials;
  checkAddress: CheckAddress;
  clock?: Clock;
  /** Retries of a call after a transient failure. */
  retries?: number;
  /** Retry also if no connection can be made or the store is silent. Not for callers whose users wait. */
  retriesTimeouts?: boolean;
  /** Keys per page of a listing. */
  pageSize?: number;
}

const defaults = {
  ...DEFAULT_AGENT_LIMITS,
  partSizeBytes: MIN_PART_BYTES,
  partsInFlight: PARTS_IN_FLIGHT,
  retries: 3,
  retriesTimeouts: false,
  pageSize: 1000,
  clock: systemClock,
};

/** The service and the credentials of each store. */
const identities = new WeakMap<S3Store, string>();

/** Objects in S3 or a compatible store, in all buckets that the credentials can access. */
export function s3Store(given: S3StoreOptions): S3Store {
  const options = { ...defaults, ...given };
  const { pageSize } = options;
  const rawClient = new RawClient(options);
  const client = new S3Client({ ...options, rawClient });
  const identity = identityOf(options);
  const store: S3Store = {
    async get(text, { range, signal } = {}) {
      const { uri, subject } = objectOf(text);
      const { bucket, key } = uri;
      const headers = range === undefined ? {} : { range: rangeHeader(range) };
      const answer = await client.send({ method: "GET", bucket, key, headers, subject, signal });
      const body = translatedBody(answer.stream, (error) =>
        signal?.aborted === true ? signal.reason : failureOfConnection(subject, error).error,
      );
      try {
        return { ...statOf(answer, subject, range), body };
      } catch (error) {
        body.destroy();
        throw error;
      }
    },
    put: (text, body, putOptions = {}) => upload(client, text, body, { ...options, ...putOptions }),
    page: (text, pageOptions) => listPage(client, s3UriOf(text), pageOptions),
    removeFolder: async () => "missing",
    discard: ({ uri, id }, callOptions) => abortUpload(client, { uri, uploadId: id }, callOptions),
    list: (text, listOptions = {}) => listObjects(client, s3UriOf(text), { ...listOptions, pageSize }),
    folder: (text, { signal } = {}) => listFolder(client, s3UriOf(text), { signal, pageSize }),
    delete: (text, callOptions) => deleteObject(client, text, callOptions),
    async stat(text, { signal } = {}) {
      const { size, modifiedAt, etag } = await headObject(client, text, { signal });
      return { size, modifiedAt, etag };
    },
    close: () => Promise.resolve(rawClient.close()),
    sharesService: (other) => identities.get(other) === identity,
    read: (text, readOptions) => readObject(client, text, readOptions),
    head: (text, headOptions) => headObject(client, text, headOptions),
    write: (text, body, writeOptions) => writeObject(client, text, body, writeOptions),
    writeStream: (text, bytes, contents, writeOptions) => streamObject(client, text, { bytes, contents }, writeOptions),
    copy: (source, destination, copyOptions) => copyObject(client, source, destination, copyOptions),
    createUpload: (text, writeOptions) => createUpload(client, text, writeOptions),
    uploadPart: (created, number, body, partOptions) => uploadPart(client, created, number, body, partOptions),
    copyPart: (created, number, source, partOptions) => copyPart(client, created, number, source, partOptions),
    completeUpload: (created, parts, partOptions) => completeUpload(client, created, parts, partOptions),
    abortUpload: (created, callOptions) => abortUpload(client, created, callOptions),
    openUploads: (prefixUri, callOptions) => openUploads(client, prefixUri, callOptions),
    deleteObjects: (objects, callOptions) => deleteObjects(client, objects, callOptions),
    listPages: (prefixUri, pagesOptions) => listObjectPages(client, s3UriOf(prefixUri), { ...pagesOptions, pageSize }),
    get retryCount() {
      return client.retryCount;
    },
  };
  identities.set(store, identity);
  return store;
}

/** The region does not matter, because one region can copy from another. */
function identityOf({ endpoint, credentials }: Pick<S3StoreOptions, "endpoint" | "credentials">): string {
  const { accessKeyId, secretAccessKey, sessionToken } = credentials;
  const service = endpoint === null ? null : new URL(endpoint).href.replace(/\/+$/, "");
  return JSON.stringify([service, accessKeyId, secretAccessKey, sessionToken]);
}
