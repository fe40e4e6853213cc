import { describe, expect, test } from "vitest";
import { actualRegion, BucketRegions } from "./bucket-regions.ts";

const answer = { status: 301, headers: {}, region: null, endpoint: null };

describe("a bucket in another region", () => {
  test.each([
    null,
    "https://s3.us-east-1.amazonaws.com",
    "https://s3.amazonaws.com",
    "https://s3-us-east-1.amazonaws.com",
  ])("is reached at the address of that region if the endpoint is %s", (endpoint) => {
    const regions = new BucketRegions({ endpoint, region: "us-east-1" });
    const used = regions.endpointOf("bucket");
    expect(regions.move("bucket", used, "eu-west-1")).toBe(true);
    expect(regions.endpointOf("bucket")).toMatchObject({
      origin: "https://bucket.s3.eu-west-1.amazonaws.com",
      region: "eu-west-1",
    });
    expect(regions.endpointOf("other")).toMatchObject({ region: "us-east-1" });
  });

  test.each([
    "https://store.example",
    "https://s3-fips.us-east-1.amazonaws.com",
    "https://vpce-1.s3.us-east-1.vpce.amazonaws.com",
    "https://s3.us-east-1.amazonaws.com.example",
  ])("is reached at %s, because that was chosen on purpose", (endpoint) => {
    const regions = new BucketRegions({ endpoint, region: "us-east-1" });
    expect(regions.move("bucket", regions.endpointOf("bucket"), "eu-west-1")).toBe(true);
    expect(regions.endpointOf("bucket")).toMatchObject({ origin: endpoint, region: "eu-west-1" });
  });

  test("is moved once, and requests that were under way follow", () => {
    const regions = new BucketRegions({ endpoint: null, region: "us-east-1" });
    const used = regions.endpointOf("bucket");
    expect(regions.move("bucket", used, "us-east-1")).toBe(false);
    expect(regions.move("bucket", used, "eu-west-1")).toBe(true);
    expect(regions.move("bucket", used, "eu-west-1")).toBe(true);
    expect(regions.move("bucket", regions.endpointOf("bucket"), "us-east-1")).toBe(false);
    expect(regions.endpointOf("bucket").region).toBe("eu-west-1");
  });
});

test.each([
  [{ headers: { "x-amz-bucket-region": "eu-west-1" } }, "eu-west-1"],
  [{ status: 400, region: "eu-west-1" }, "eu-west-1"],
  [{ endpoint: "bucket.s3.eu-west-1.amazonaws.com" }, "eu-west-1"],
  [{ endpoint: "bucket.s3-eu-west-1.amazonaws.com" }, "eu-west-1"],
  [{ endpoint: "s3.cn-north-1.amazonaws.com.cn" }, "cn-north-1"],
  [{ endpoint: "bucket.s3.eu-west-1.amazonaws.com.example" }, null],
  [{ endpoint: "169.254.169.254" }, null],
  [{ region: "eu-west-1.example.com/" }, null],
  [{ status: 403, headers: { "x-amz-bucket-region": "eu-west-1" } }, null],
  [{}, null],
])("the response %o names the region %s", (given, region) => {
  expect(actualRegion({ ...answer, ...given })).toBe(region);
});
