import { expect, test } from "vitest";
import { parsePasswd, spawnIdentity } from "./unprivileged-user.ts";

test("the user nobody is found by name, on Linux and with the negative ids of macOS", () => {
  const linux = "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n";
  expect(parsePasswd(linux, "nobody")).toEqual({ name: "nobody", uid: 65534, gid: 65534 });
  const mac = parsePasswd("# comment\nnobody:*:-2:-2:Unprivileged User:/var/empty:/usr/bin/false\n", "nobody");
  expect(mac).toEqual({ name: "nobody", uid: 4294967294, gid: 4294967294 });
  expect(spawnIdentity(mac)).toEqual({ uid: -2, gid: -2 });
});

test("a passwd file without the user gives undefined", () => {
  expect(parsePasswd("nobody2:x:1:1::/:/bin/sh\n", "nobody")).toBeUndefined();
});
