import { describe, expect, test } from "vitest";
import { quoteWord } from "../../lib/shell-words.ts";
import { secretSpans } from "./secret-spans.ts";

function shown(args: string): string {
  const spans = secretSpans(args, "sub_command_args");
  const ends = [0, ...spans.map(({ end }) => end)];
  const between = spans.map(({ start }, at) => args.slice(ends[at], start));
  return [...between, args.slice(ends.at(-1))].join("####");
}

describe("credentials in the arguments of a copy", () => {
  test.each([
    ["by name, with a blank", "--encryptionKey k --src a", "--encryptionKey #### --src a"],
    ["by name, with =", "--encryptionKey=k --src a", "--encryptionKey=#### --src a"],
    ["with one dash", "-encryptionKey k", "-encryptionKey ####"],
    ["with a dash out of a document", "–encryptionKey k", "–encryptionKey ####"],
    ["in any case", "--ENCRYPTIONKEY k", "--ENCRYPTIONKEY ####"],
    ["repeated", "--encryptionKey a --encryptionKey=b", "--encryptionKey #### --encryptionKey=####"],
    ["that look like an option", "--encryptionKey --k --src a", "--encryptionKey #### --src a"],
    ["that are empty", "--encryptionKey '' --src a", "--encryptionKey #### --src a"],
    ["whose quotes were forgotten", "--encryptionKey a b --src c", "--encryptionKey #### #### --src c"],
    ["after a = that has nothing", "--encryptionKey= k --src c", "--encryptionKey= #### --src c"],
    ["with a quoted value", "--encryptionKey='a --b c'", "--encryptionKey=####"],
    ["with a quoted name", `--encryption"Key"=k`, `--encryption"Key"=####`],
    ["quoted with their names", "'--encryptionKey=k'", "'--encryptionKey=####'"],
    ["quoted by halves", "'--encryptionKey=a'b --src c", "#### --src c"],
    ["quoted twice", `--encryptionKey="a"'b' --src c`, "--encryptionKey=#### --src c"],
    [
      "in properties",
      "-Dfs.s3a.secret.key=k -D fs.s3n.awsAccessKeyId=k",
      "-Dfs.s3a.secret.key=#### -D fs.s3n.awsAccessKeyId=####",
    ],
    ["in properties without =", "-D fs.s3a.session.token k --src a", "-D fs.s3a.session.token #### --src a"],
    ["in properties with blanks", "-D 'fs.s3a.secret.key = a b'", "-D 'fs.s3a.secret.key =####'"],
    [
      "in the value of a property",
      "-Dmap.env=A=b,AWS_SECRET_ACCESS_KEY=k --src a",
      "-Dmap.env=A=b,AWS_SECRET_ACCESS_KEY=#### --src a",
    ],
    ["in Java options", "-D map.java.opts=-Daws.secretKey=k", "-D map.java.opts=-Daws.secretKey=####"],
    ["in quoted Java options", "-D java.opts='-Daws.secretKey=k -Xmx1g'", "-D java.opts='-Daws.secretKey=#### -Xmx1g'"],
    ["in addresses", "--src s3n://AKIA:k@b/x --dest=s3a://AKIA:k%2Fl@b", "--src s3n://####@b/x --dest=s3a://####@b"],
    ["in addresses, with a slash", "--src s3n://AKIA:k/l+m@b/x", "--src s3n://####@b/x"],
    ["in addresses, with a colon that is escaped", "--src s3n://AKIA%3Ak@b", "--src s3n://####@b"],
    ["in several addresses", "-files s3n://A:k@b,s3n://A:l@c", "-files s3n://####@b,s3n://####@c"],
    ["in addresses of hosts", "--s3Endpoint https://u:p:/q@h:9000/", "--s3Endpoint https://####@h:9000/"],
    ["in addresses of databases", "-D url=jdbc:mysql://u:p@h/db", "-D url=jdbc:mysql://####@h/db"],
    ["in several of those", "-D urls=jdbc:a://h/x,jdbc:b://u:p@h", "-D urls=jdbc:a://h/x,jdbc:b://####@h"],
    ["in addresses, with an address in the password", "--src s3n://A:b://c:d@e/x", "--src s3n://####@e/x"],
    ["in queries", "--src https://h/x?a=1&X-Amz-Signature=k&b=2", "--src https://h/x?a=1&X-Amz-Signature=####&b=2"],
  ])("are found %s", (_how, args, expected) => {
    expect(shown(args)).toBe(expected);
  });

  test.each([
    ["'--src s3://a --encryptionKey k --dest s3://b'", "'--src s3://a --encryptionKey #### --dest s3://b'"],
    [`"--src s3://a --encryptionKey \\"a b\\" --dest b"`, `"--src s3://a --encryptionKey #### --dest b"`],
    [`"'--src s3n://A:k@b --encryptionKey=k'"`, `"'--src s3n://####@b --encryptionKey=####'"`],
    ["'-D fs.s3a.secret.key=a b --src c'", "'-D fs.s3a.secret.key=#### #### --src c'"],
    ["'--src a --encryptionKey' k", "'--src a --encryptionKey' ####"],
    ["'--src a' --encryptionKey 'a --b c'", "'--src a' --encryptionKey ####"],
  ])("are found in %s, which is quoted as a whole", (args, expected) => {
    expect(shown(args)).toBe(expected);
  });

  test.each([
    ["an escaped quote", String.raw`'--src it'\''s --encryptionKey k'`],
    ["blanks that are none", "--encryptionKey\u00a0k"],
    ["too many quotes", Array.from({ length: 10 }).reduce<string>(quoteWord, "--encryptionKey k")],
  ])("hide the whole word where it has %s", (_what, args) => {
    expect(shown(args)).toBe("####");
  });

  test("include the words after such a word, up to the next option", () => {
    expect(shown(`"it's --encryptionKey" k l --src a`)).toBe("#### #### #### --src a");
  });

  test.each([
    `--src s3://a/b/  --dest\ts3://c/ --srcPattern '.*\\.gz' --groupBy "x(y)"`,
    "--src s3://t/date_key=1/ --srcPattern date_key=2.* --groupBy '.*session_token=(.*)'",
    "--srcPattern=date_key=1/.* --previousManifest=s3://b/date_key=1/m.gz -Dmapreduce.job.tags=a=b,c=d",
    "-Dmapreduce.output.key.class=X -Dfs.s3a.aws.credentials.provider=org.example.Provider",
    "--src https://h/x?sig=&b=2 --dest 'https://h/x?token='",
    "--src hdfs://nn:8020/a@b --dest abfs://container@account.dfs.core.windows.net/x",
    "--srcPattern '.*it'\\''s' --src s3://a/b:c@d --s3SSEAlgorithm SSE-KMS",
    "",
  ])("are not seen in %j", (args) => {
    expect(shown(args)).toBe(args);
  });

  test.each(["a", "-", "= ", "s3://a:", "a:b://c", "a.key=b ", "a=-", "a=,b", "?a", "@:", "\\\\", "'' "])(
    "are looked for in 256 KiB of %j within a second or so",
    (part) => {
      const args = part.repeat((256 * 1024) / part.length);
      const start = performance.now();
      secretSpans(args, "sub_command_args");
      secretSpans(`'${args.replaceAll("'", "")}'`, "sub_command_args");
      expect(performance.now() - start).toBeLessThan(30_000);
    },
  );
});
