import { describe, expect, test } from "vitest";
import { parseCopyOptions } from "../options/parse-options.ts";
import { endpointUrl, isProtected, partitionOf } from "./s3-endpoint.ts";

describe("an S3 endpoint in an option", () => {
  test.each([
    ["s3.example.com", null, "https://s3.example.com"],
    ["s3.example.com:9000", null, "https://s3.example.com:9000"],
    ["http://10.0.0.1:9000/", null, "http://10.0.0.1:9000"],
    ["https://s3.example.com/path", null, "https://s3.example.com/path"],
    ["minio:9000", "http://minio:9000", "http://minio:9000"],
    ["Minio:80/path/", "http://minio/path", "http://minio/path"],
    ["minio:9001", "http://minio:9000", "https://minio:9001"],
    ["https://minio:9000", "http://minio:9000", "https://minio:9000"],
    ["::1", null, "https://[::1]"],
  ])("%j of an account with %j is %s", (given, ofAccount, url) => {
    const words = ["--src", "s3://bucket/a", "--dest", "s3://bucket/b", "--s3Endpoint", given];
    const { s3Endpoint } = parseCopyOptions(words, "s3://bucket");
    expect(endpointUrl(s3Endpoint ?? "", ofAccount)).toBe(url);
  });

  test.each([
    [null, "eu-west-1", "others"],
    [null, "cn-north-1", "cn"],
    [null, "us-gov-west-1", "us-gov"],
    ["https://s3.eu-west-1.amazonaws.com", "us-east-1", "others"],
    ["https://s3-fips.dualstack.us-gov-east-1.amazonaws.com", "us-east-1", "us-gov"],
    ["https://s3.cn-north-1.amazonaws.com.cn", "us-east-1", "cn"],
    ["https://vpce-1a2b.s3.us-east-1.vpce.amazonaws.com", "us-east-1", "others"],
    ["https://s3.amazonaws.com.example.com", "us-east-1", null],
    ["http://minio:9000", "cn-north-1", null],
  ])("%j with the region %s is in the AWS partition %j", (endpoint, region, partition) => {
    expect(partitionOf(endpoint, region)).toBe(partition);
  });

  test.each([
    [null, true],
    ["https://s3.example.com", true],
    ["http://localhost:9000", true],
    ["http://[::1]:9000", true],
    ["http://127.0.0.1", true],
    ["http://10.0.0.1", false],
  ])("%j is protected: %s", (endpoint, expected) => {
    expect(isProtected(endpoint)).toBe(expected);
  });
});
