import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { maxHeadersBytes, maxNesting, maxParts, maxTextLines } from "./limits.ts";
import { isText, refusalOf, ShapeProblem, shapeProblem, structureOf } from "./structure.ts";

const message = (...lines: string[]) => Buffer.from(lines.join("\r\n"));
const mixed = (boundary: string) => [`Content-Type: multipart/mixed; boundary="${boundary}"`, ""];

/** The type and the body of each leaf. */
function leavesOf(raw: Buffer): string[] {
  return structureOf(raw).leaves.map(
    ({ header, start, end }) => `${header.type}: ${raw.subarray(start, end).toString().trim()}`,
  );
}

test("a message without parts is one leaf, even if it is empty or only a header", () => {
  assert.deepEqual(leavesOf(message("Subject: a", "", "Hello", "", "you")), ["text/plain: Hello\r\n\r\nyou"]);
  assert.deepEqual(leavesOf(message("Content-Type: text/html")), ["text/html: "]);
  assert.deepEqual(leavesOf(message("", "body")), ["text/plain: body"]);
  assert.deepEqual(leavesOf(Buffer.alloc(0)), ["text/plain: "]);
});

test("the preamble and the epilogue of a multipart are no parts", () => {
  const raw = message(...mixed("b"), "preamble", "--b", "", "one", "--b", "", "two", "--b--", "epilogue", "--b", "x");
  assert.deepEqual(leavesOf(raw), ["text/plain: one", "text/plain: two"]);
});

test("nested multiparts are found, and the versions of a text share their multipart/alternative", () => {
  const raw = message(
    ...mixed("outer"),
    "--outer",
    "Content-Type: multipart/alternative; boundary=inner",
    "",
    "--inner",
    "",
    "plain",
    "--inner",
    "Content-Type: multipart/related; boundary=related",
    "",
    "--related",
    "Content-Type: text/html",
    "",
    "rich",
    "--related--",
    "--inner--",
    "--outer",
    "Content-Type: image/png",
    "",
    "picture",
    "--outer--",
  );
  assert.deepEqual(leavesOf(raw), ["text/plain: plain", "text/html: rich", "image/png: picture"]);
  const [plain, rich, picture] = structureOf(raw).leaves;
  assert.ok(plain!.alternative);
  assert.equal(rich!.alternative, plain!.alternative);
  assert.equal(picture!.alternative, undefined);
});

test("a boundary line of the outer multipart ends inner parts without a closing line", () => {
  const raw = message(...mixed("outer"), "--outer", ...mixed("inner"), "--inner", "", "in", "--outer", "", "out");
  assert.deepEqual(leavesOf(raw), ["text/plain: in", "text/plain: out"]);
});

test("a boundary line inside a header ends that part", () => {
  const raw = message(...mixed("b"), "--b", "Content-Type: text/html", "--b", "", "two");
  assert.deepEqual(leavesOf(raw), ["text/html: ", "text/plain: two"]);
});

test("only a whole line is a boundary line, with blanks and any line end after it", () => {
  const inText = ["--bb", "--b-", "--b--x", "--b x", " --b", "x--b", "--B", "--"];
  const raw = message(...mixed("b"), "--b \t", "", ...inText, "--b-- ", "epilogue");
  assert.deepEqual(leavesOf(raw), [`text/plain: ${inText.join("\r\n").trim()}`]);
  const onlyLf = Buffer.from(raw.toString().replaceAll("\r\n", "\n"));
  assert.deepEqual(leavesOf(onlyLf), [`text/plain: ${inText.join("\n").trim()}`]);
});

test("of two open multiparts with the same boundary the inner one gets the line", () => {
  const raw = message(...mixed("b"), "--b", ...mixed("b"), "--b", "", "in", "--b--", "--b", "", "out", "--b--");
  assert.deepEqual(leavesOf(raw), ["text/plain: in", "text/plain: out"]);
});

test("a multipart whose boundary is not declared or never appears has no parts", () => {
  assert.deepEqual(leavesOf(message("Content-Type: multipart/mixed", "", "--b", "", "one", "--b--")), []);
  assert.deepEqual(leavesOf(message(...mixed("b"), "--c", "", "one", "--c--")), []);
});

test("parts, nesting and headers are refused one above their limits", () => {
  const parts = (count: number) => message(...mixed("b"), ...Array<string>(count).fill("--b\r\n\r\nx"));
  assert.equal(structureOf(parts(maxParts)).leaves.length, maxParts);
  assert.throws(() => structureOf(parts(maxParts + 1)), new ShapeProblem(`more than ${maxParts} parts`));

  const nested = (depth: number) =>
    message(...Array.from({ length: depth }, (_, i) => [...mixed(`b${i}.`), `--b${i}.`]).flat(), "", "x");
  assert.deepEqual(leavesOf(nested(maxNesting)), ["text/plain: x"]);
  assert.throws(() => structureOf(nested(maxNesting + 1)), /nested more than 50 levels deep/);

  const head = mixed("b")[0]!;
  // Line ends do not count.
  const header = (octets: number) => message(head, "", "--b", "X".repeat(octets - head.length), "", "x");
  assert.deepEqual(leavesOf(header(maxHeadersBytes)), ["text/plain: x"]);
  assert.throws(() => structureOf(header(maxHeadersBytes + 1)), /more than \d+ octets/);
});

test("the lines of headers, texts, preambles and epilogues count, and those of attachments do not", () => {
  const lines = (count: number) => Array<string>(count).fill("x");
  const raw = (type: string) =>
    message(...mixed("b"), ...lines(2), "--b", `Content-Type: ${type}`, "", ...lines(10), "--b--", ...lines(3), "");
  // 2 of the header, 2 of the preamble, 2 boundary lines, 2 of the part's header and 3 of the epilogue.
  assert.equal(structureOf(raw("image/png"), 11).leaves.length, 1);
  assert.throws(() => structureOf(raw("image/png"), 10), new ShapeProblem("more than 10 lines"));
  assert.equal(structureOf(raw("text/html"), 21).leaves.length, 1);
  assert.throws(() => structureOf(raw("text/html"), 20), new ShapeProblem("more than 20 lines"));
});

test("texts are plain text and HTML that are not attached", () => {
  const isTextPart = (...header: string[]) => isText(structureOf(message(...header, "", "x")).header);
  assert.equal(isTextPart(), true);
  assert.equal(isTextPart("Content-Type: TEXT/HTML"), true);
  assert.equal(isTextPart("Content-Type: text/html", "Content-Disposition: inline; filename=a.html"), true);
  assert.equal(isTextPart("Content-Disposition: attachment"), false);
  assert.equal(isTextPart("Content-Type: text/calendar"), false);
});

test("the refusal is an SMTP reply that names the limit", () => {
  assert.equal(shapeProblem(message("Subject: a", "", "b")), undefined);
  assert.match(shapeProblem(message(`X: ${"x".repeat(70_000)}`, "", "b"))!, /^554 5\.6\.0 the header has/);
  const long = message("Subject: a", "", "\n".repeat(maxTextLines));
  assert.equal(shapeProblem(long), refusalOf(new ShapeProblem(`more than ${maxTextLines} lines`)));
});

type Tree = { text: string } | { parts: Tree[] };
const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.record({ text: fc.stringMatching(/^[a-z-]{0,20}$/) }),
    fc.record({ parts: fc.array(tie("tree"), { maxLength: 4 }) }),
  ),
}));

/** `closed`: with the closing line of each multipart, which some senders leave out. */
function write(tree: Tree, closed: boolean, level = 0): string {
  if ("text" in tree) return `\r\n${tree.text}\r\n`;
  const parts = tree.parts.map((part) => `--=${level}\r\n${write(part, closed, level + 1)}`);
  return `${mixed(`=${level}`).join("\r\n")}\r\n${parts.join("")}${closed ? `--=${level}--\r\n` : ""}`;
}

const textsIn = (tree: Tree): string[] => ("text" in tree ? [tree.text] : tree.parts.flatMap(textsIn));

test("the leaves of any tree of parts are found in order, with and without closing lines", () => {
  fc.assert(
    fc.property(tree, fc.boolean(), (tree, closed) => {
      assert.deepEqual(
        leavesOf(Buffer.from(write(tree, closed))),
        textsIn(tree).map((text) => `text/plain: ${text}`),
      );
    }),
  );
});

test("for any bytes, leaves are in order, inside the message, and do not overlap", () => {
  const piece = fc.oneof(
    fc.constantFrom(...mixed("b"), ...mixed("c"), "--b", "--c", "--b--", "--c--", "\r\n", "\n", "\r", "\n--", "--"),
    fc.uint8Array({ maxLength: 5 }).map((bytes) => Buffer.from(bytes).toString("latin1")),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      const raw = Buffer.from(pieces.join(""), "latin1");
      let last = 0;
      for (const { start, end } of structureOf(raw).leaves) {
        assert.ok(last <= start && start <= end && end <= raw.length, `${last} ${start} ${end}`);
        last = end;
      }
    }),
    { numRuns: 500 },
  );
});
