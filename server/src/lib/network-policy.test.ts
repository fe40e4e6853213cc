import { describe, expect, test } from "vitest";
import { addressRefusal, hostRefusal } from "./network-policy.ts";

/** IPv6 addresses that embed 169.254.169.254. */
const formsOfMetadata = [
  "::169.254.169.254",
  "::a9fe:a9fe",
  "0:0:0:0:0:0:169.254.169.254",
  "::ffff:a9fe:a9fe",
  "::FFFF:0:169.254.169.254",
  "::ffff:0:a9fe:a9fe",
  "64:ff9b::169.254.169.254",
  "64:ff9b:1::a9fe:a9fe",
  "64:ff9b:1:a9fe:a9:fe00::",
  "64:ff9b:1:a9:fe:a9fe::",
  "64:ff9b:1:0:a9:fea9:fe00::",
  "2002:a9fe:a9fe::",
  "2002:a9fe:a9fe:1::5",
  "2001:0:a9fe:a9fe::f7f7:f7f7",
  "2001:0:808:808::5601:5601",
  "2606:4700::5efe:169.254.169.254",
  "2606:4700::200:5efe:a9fe:a9fe",
];

const EVERYTHING = ["0.0.0.0/0", "::/0"];

describe("an address given by a user", () => {
  test.each(["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"])(
    "%s is public and allowed",
    (address) => {
      expect(addressRefusal(address, [])).toBeUndefined();
    },
  );

  test.each([
    "127.0.0.1",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "240.0.0.1",
    "::1",
    "fd12::1",
    "::ffff:10.0.0.1",
    "64:ff9b::a00:1",
    "2002:a00:1::",
    "2002:808:808::1",
    "2001:0:808:808::f7f7:f7f7",
    "64:ff9b:1::808:808",
    "::8.8.8.8",
    "::808:808",
    "::ffff:0:8.8.8.8",
    "::127.0.0.1",
    "::7f00:1",
    "::a00:1",
    "2606:4700::5efe:10.0.0.1",
  ])("%s is allowed only inside an allowed network", (address) => {
    expect(addressRefusal(address, [])).toMatch(/HEADGATE_ALLOWED_NETWORKS/);
    expect(addressRefusal(address, EVERYTHING)).toBeUndefined();
  });

  test.each([
    "169.254.169.254",
    "169.254.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    ...formsOfMetadata,
    "fe80::1",
    "fd00:ec2::254",
    "fd20:ce::254",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "0.0.0.0",
    "::",
    "224.0.0.1",
    "ff02::1",
    "255.255.255.255",
  ])("%s is never allowed, whatever the allow-list says", (address) => {
    expect(addressRefusal(address, EVERYTHING)).toMatch(/link-local, metadata/);
  });

  test.each(["", "example.com", "127.1", "010.0.0.1", "fe80::1%eth0"])("%j is not an address", (address) => {
    expect(addressRefusal(address, EVERYTHING)).toBe("must be an IP address");
  });

  test("an address that embeds another is allowed only if both are", () => {
    expect(addressRefusal("2002:a00:1::", ["2002::/16"])).toMatch(/HEADGATE_ALLOWED_NETWORKS/);
    expect(addressRefusal("2002:a00:1::", ["10.0.0.0/8"])).toMatch(/HEADGATE_ALLOWED_NETWORKS/);
    expect(addressRefusal("2002:a00:1::", ["2002::/16", "10.0.0.0/8"])).toBeUndefined();
    expect(addressRefusal("64:ff9b:1::808:808", ["64:ff9b:1::/48"])).toBeUndefined();
  });

  test("the allow-list accepts networks and single addresses of both families", () => {
    expect(addressRefusal("10.1.2.3", ["10.1.0.0/16"])).toBeUndefined();
    expect(addressRefusal("10.2.2.3", ["10.1.0.0/16", "fd00::/8"])).toBeDefined();
    expect(addressRefusal("10.2.2.3", ["10.2.2.3"])).toBeUndefined();
    expect(addressRefusal("fd00::7", ["fd00::/8"])).toBeUndefined();
    expect(addressRefusal("fd00::8", ["fd00::7"])).toBeDefined();
  });
});

describe("a host before it is resolved", () => {
  test.each(["localhost", "LOCALHOST", "localhost.", "a.localhost", "[::1]", "127.0.0.1", "10.0.0.1"])(
    "%s is checked as the address it means",
    (host) => {
      expect(hostRefusal(host, [])).toBeDefined();
      expect(hostRefusal(host, EVERYTHING)).toBeUndefined();
    },
  );

  test.each([...formsOfMetadata, "169.254.169.254.", "fe80::1%eth0", "fe80::1%25eth0"])(
    "%s is refused, also in brackets, whatever the allow-list says",
    (host) => {
      expect(hostRefusal(host, EVERYTHING)).toBeDefined();
      expect(hostRefusal(`[${host}]`, EVERYTHING)).toBeDefined();
    },
  );

  test("a name is checked after it is resolved", () => {
    expect(hostRefusal("s3.example.com", [])).toBeUndefined();
    expect(hostRefusal("notlocalhost", [])).toBeUndefined();
  });
});
