import { describe, expect, test } from "vitest";
import { engineObject, parseEngine, type EngineInput } from "./engine.ts";
import { checkResolvedHosts } from "./resolved-hosts.ts";

const rules = { allowedNetworks: ["10.1.0.0/16"], hadoopConfs: new Map([["prod", "/etc/hadoop/prod"]]) };
const kubernetes = { type: "kubernetes", api_server: "https://k8s.example.com", image: "r/spark:4", namespace: "a" };

describe("an engine", () => {
  test.each<EngineInput>([
    { type: "local" },
    { type: "standalone", master_url: "spark://one.example.com:7077,two.example.com:7077" },
    { type: "standalone", master_url: "spark://10.1.2.3:7077" },
    { type: "yarn", hadoop_conf: "prod" },
    {
      type: "kubernetes",
      api_server: "https://k8s.example.com:6443/prefix",
      image: "registry.example.com/spark@sha256:0a1b",
      namespace: "team-a",
    },
    { type: "connect", url: "sc://connect.example.com:15002" },
    { type: "connect", url: "sc://connect.example.com:15002/;use_ssl=true" },
  ])("is returned as it was given: %j", (input) => {
    expect(engineObject(parseEngine(input, rules), false)).toEqual(input);
  });

  test.each([
    [{ type: "standalone" }, /^engine\.master_url is required/],
    [{ type: "standalone", master_url: "" }, /^engine\.master_url is required/],
    [{ type: "standalone", master_url: "local[4]" }, /^engine\.master_url must be of the form/],
    [{ type: "standalone", master_url: "k8s://https://x" }, /^engine\.master_url must be of the form/],
    [{ type: "standalone", master_url: "spark://host" }, /^engine\.master_url must name a host and a port/],
    [{ type: "standalone", master_url: "spark://user@host:7077" }, /^engine\.master_url must name a host/],
    [
      { type: "standalone", master_url: "spark://good.example.com:1,127.0.0.1:1" },
      /^engine\.master_url must not be in/,
    ],
    [{ type: "standalone", master_url: "spark://2130706433:7077" }, /^engine\.master_url must not be in/],
    [{ type: "standalone", master_url: "spark://169.254.169.254:80" }, /^engine\.master_url must not be a link-local/],
    [{ type: "yarn" }, /^engine\.hadoop_conf is required/],
    [{ type: "yarn", hadoop_conf: "/etc/hadoop/prod" }, /^engine\.hadoop_conf must be the name of/],
    [{ type: "yarn", hadoop_conf: "dev" }, /^engine\.hadoop_conf must be the name of/],
    [{ ...kubernetes, api_server: "k8s://x" }, /^engine\.api_server must be an http/],
    [{ ...kubernetes, api_server: "https://u:p@x.example.com" }, /^engine\.api_server must be an http/],
    [{ ...kubernetes, api_server: "https://10.2.0.1" }, /^engine\.api_server must not be in/],
    [{ ...kubernetes, image: "a b" }, /^engine\.image/],
    [{ ...kubernetes, image: "--privileged" }, /^engine\.image/],
    [{ ...kubernetes, namespace: "Team_A" }, /^engine\.namespace/],
    [{ type: "connect" }, /^engine\.url is required/],
    [{ type: "connect", url: "sc://x.example.com:1/;token=t" }, /^engine\.url must be of the form/],
    [{ type: "connect", url: "http://x.example.com:1" }, /^engine\.url must be of the form/],
    [{ type: "connect", url: "sc://localhost:15002" }, /^engine\.url must not be in/],
    [{ type: "connect", url: "sc://[::1]:15002" }, /^engine\.url must not be in/],
    [{ type: "local", master_url: "spark://x.example.com:7077" }, /^engine\.master_url must not be given/],
    [{ type: "yarn", hadoop_conf: "prod", token: "t" }, /^engine\.token must not be given/],
  ] as [EngineInput, RegExp][])("is refused with the name of the field: %j", (input, message) => {
    expect(() => parseEngine(input, rules)).toThrow(message);
  });
});

describe("when an engine is used", () => {
  const resolve = (host: string): Promise<string[]> =>
    Promise.resolve(host === "good.example.com" ? ["93.184.216.34", "10.1.0.9"] : ["93.184.216.34", "127.0.0.1"]);
  const engineOf = (host: string) => parseEngine({ type: "connect", url: `sc://${host}:15002` }, rules);

  test("all addresses of its host must be allowed", async () => {
    const { allowedNetworks } = rules;
    expect(await checkResolvedHosts(engineOf("good.example.com"), allowedNetworks, resolve)).toEqual([
      "93.184.216.34",
      "10.1.0.9",
    ]);
    await expect(checkResolvedHosts(engineOf("rebound.example.com"), allowedNetworks, resolve)).rejects.toThrow(
      /^engine uses the host rebound\.example\.com, which must not be in/,
    );
  });

  test.each(["::a9fe:a9fe", "64:ff9b:1::a9fe:a9fe", "2002:a9fe:a9fe::", "2606:4700::5efe:a9fe:a9fe"])(
    "a host with the address %s, which embeds a metadata address, is refused",
    async (address) => {
      const found = checkResolvedHosts(engineOf("rebound.example.com"), ["::/0"], () => Promise.resolve([address]));
      await expect(found).rejects.toThrow(
        /^engine uses the host rebound\.example\.com, which must not be a link-local/,
      );
    },
  );

  test("an engine that is configured on this machine has no addresses to check", async () => {
    expect(await checkResolvedHosts({ type: "local" }, [], resolve)).toEqual([]);
    expect(await checkResolvedHosts({ type: "yarn", hadoopConf: "prod" }, [], resolve)).toEqual([]);
  });
});
