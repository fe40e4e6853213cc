import { describe, expect, test } from "vitest";
import { readFolderName } from "./partition-folder.ts";

const day = { name: "day", type: "date" };
const city = { name: "city", type: "string" };
const n = { name: "n", type: "int" };
const hidden = { name: "_from", type: "string" };

describe("a folder is a partition", () => {
  test.each([
    ["day=2026-11-15", day, "2026-11-15"],
    ["DAY=2026-11-15", day, "2026-11-15"],
    ["d%61y=2026-11-15", day, "2026-11-15"],
    ["n=07", n, "07"],
    ["n=__HIVE_DEFAULT_PARTITION__", n, "__HIVE_DEFAULT_PARTITION__"],
    ["city=a%2Fb%3ac", city, "a/b:c"],
    ["city=K%C3%B6ln", city, "KÃ¶ln"],
    ["city=Köln", city, "Köln"],
    ["city=100%", city, "100%"],
    ["city=%zz%4", city, "%zz%4"],
    ["city=a=b", city, "a=b"],
    ["city= ", city, " "],
    ["_from=x", hidden, "x"],
  ])("%s", (name, column, value) => {
    expect(readFolderName(name, column)).toEqual({ kind: "partition", value });
  });
});

test.each(["_temporary", "_SUCCESS", ".hive-staging_1", ".day=2026-11-15", "_"])("%s is hidden", (name) => {
  expect(readFolderName(name, day)).toEqual({ kind: "hidden" });
});

describe("a folder is not a partition", () => {
  test.each([
    ["backup", day, "its name is not of the form day=value"],
    ["2026-11-15", day, "its name is not of the form day=value"],
    ["city=x", day, "expected day=value at this level"],
    ["=x", day, "expected day=value at this level"],
    ["_day=2026-11-15", day, "expected day=value at this level"],
    ["day=2026-13-45", day, "its value is not a valid date"],
    ["n=abc", n, "its value is not a valid int"],
    ["city=", city, "it has no value; rows without a value belong to city=__HIVE_DEFAULT_PARTITION__"],
  ])("%s", (name, column, why) => {
    expect(readFolderName(name, column)).toEqual({ kind: "invalid", why });
  });
});
