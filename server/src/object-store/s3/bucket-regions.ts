import type { ResponseHeaders } from "./response-head.ts";
import { bucketAddress, type BucketAddress, type S3Endpoint } from "./s3-address.ts";

/** Where the requests for a bucket go, and the region for which they are signed. */
export interface BucketEndpoint extends BucketAddress {
  readonly region: string;
}

/** An error response, which may say that the request went to the wrong region. */
export interface WrongRegion {
  readonly status: number;
  readonly headers: ResponseHeaders;
  /** From the error document. */
  readonly region: string | null;
  readonly endpoint: string | null;
}

const regionName = /^[a-z0-9-]{1,32}$/;
/** The plain public addresses. Others, such as private and FIPS ones, were chosen on purpose: we stay there. */
const providerHost = /^s3([.-][a-z]{2}(-[a-z]+)+-\d)?\.amazonaws\.com(\.cn)?$/;
const regionOfHost = /(?:^|\.)s3[.-]([a-z]{2}(?:-[a-z]+)+-\d)\.amazonaws\.com(?:\.cn)?$/;

/**
 * Remembers the region of each bucket. A bucket starts in the configured region; if the store names another one, that is
 * used from then on. This happens once per bucket, so that two regions that name each other are an error and not a loop.
 * The address is always built from the region, never taken from the response.
 */
export class BucketRegions {
  readonly #endpoint: S3Endpoint;
  readonly #isProvider: boolean;
  readonly #endpoints = new Map<string, BucketEndpoint>();
  readonly #moved = new Set<string>();

  constructor(endpoint: S3Endpoint) {
    this.#endpoint = endpoint;
    this.#isProvider = endpoint.endpoint === null || providerHost.test(new URL(endpoint.endpoint).hostname);
  }

  endpointOf(bucket: string): BucketEndpoint {
    const known = this.#endpoints.get(bucket);
    if (known !== undefined) return known;
    const bucketEndpoint = { ...bucketAddress(this.#endpoint, bucket), region: this.#endpoint.region };
    this.#endpoints.set(bucket, bucketEndpoint);
    return bucketEndpoint;
  }

  /** Returns whether the request should be sent again to the endpoint that the bucket has now. */
  move(bucket: string, used: BucketEndpoint, region: string): boolean {
    const current = this.endpointOf(bucket);
    if (current.region !== used.region) return true; // another request has moved it meanwhile
    if (region === used.region || this.#moved.has(bucket)) return false;
    this.#moved.add(bucket);
    const endpoint = this.#isProvider ? null : this.#endpoint.endpoint;
    this.#endpoints.set(bucket, { ...bucketAddress({ endpoint, region }, bucket), region });
    return true;
  }
}

/** The region that the store names if the request went to another one. */
export function actualRegion({ status, headers, region, endpoint }: WrongRegion): string | null {
  if (status !== 400 && (status < 300 || status >= 400)) return null;
  const named = headers["x-amz-bucket-region"] ?? region ?? regionOfHost.exec(endpoint ?? "")?.[1];
  return named !== undefined && regionName.test(named) ? named : null;
}
