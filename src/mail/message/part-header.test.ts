import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createPartHeader, type PartHeader } from "./part-header.ts";

function read(lines: readonly string[], parentType?: string): PartHeader {
  const reader = createPartHeader(parentType);
  for (const line of lines) reader.line(Buffer.from(line, "latin1"));
  return reader.finish();
}

test("a part without a header is plain text, or a message inside a digest", () => {
  const { textOf, ...facts } = read([]);
  assert.deepEqual(facts, {
    headers: [],
    type: "text/plain",
    multipart: undefined,
    boundary: undefined,
    encoding: "identity",
    isAttachment: false,
    filename: "",
    contentId: "",
  });
  assert.equal(textOf(Buffer.from("grün")), "grün");
  assert.equal(read([], "digest").type, "message/rfc822");
  assert.equal(read(["Content-Type: text/html"], "digest").type, "text/html");
  assert.equal(read([], "mixed").type, "text/plain");
});

test("the type is in lower case, without comments, and the first of two fields counts", () => {
  assert.equal(read(["CONTENT-TYPE: Text/HTML; Charset=UTF-8 (a comment)"]).type, "text/html");
  assert.equal(read(["Content-Type: text/plain", "Content-Type: multipart/mixed; boundary=b"]).boundary, undefined);
  for (const [line, type] of [
    ["Content-Type: text", "text"],
    ["Content-Type:", ""],
    ["Content-Type: /;;;=", "/"],
  ] as const)
    assert.equal(read([line]).type, type, line);
});

test("only a multipart has a boundary, and an empty one is none", () => {
  const mixed = read(["Content-Type: multipart/Mixed;", '\tboundary="a b (c)"; x=y']);
  assert.deepEqual([mixed.multipart, mixed.boundary?.toString()], ["mixed", "a b (c)"]);
  for (const value of ["multipart/mixed", 'multipart/mixed; boundary=""', "text/plain; boundary=b"])
    assert.equal(read([`Content-Type: ${value}`]).boundary, undefined, value);
});

test("an unknown transfer encoding leaves the body as it is", () => {
  for (const [value, encoding] of [
    ["BASE64", "base64"],
    ["Quoted-Printable (a comment)", "quoted-printable"],
    ["8bit", "identity"],
    ["x-uuencode", "identity"],
    ["", "identity"],
  ] as const)
    assert.equal(read([`Content-Transfer-Encoding: ${value}`]).encoding, encoding, value);
});

test("a file name comes from the disposition, else from the type, and is decoded", () => {
  for (const [lines, filename] of [
    [["Content-Disposition: attachment; filename=a.txt", "Content-Type: text/plain; name=b.txt"], "a.txt"],
    [["Content-Type: image/png; name=b.png"], "b.png"],
    [["Content-Disposition: inline; filename*=utf-8''%e2%82%ac.txt"], "€.txt"],
    [["Content-Type: a/b;", " name*0*=utf-8''J%C3%BC;", " name*1*=rgen.pdf"], "Jürgen.pdf"],
    [['Content-Disposition: attachment; filename="=?utf-8?b?w7xiZXI=?=.txt"'], "über.txt"],
    [["Content-Disposition: attachment"], ""],
  ] as const)
    assert.equal(read(lines).filename, filename, lines.join());
  assert.equal(read(["Content-Disposition: ATTACHMENT"]).isAttachment, true);
  assert.equal(read(["Content-Disposition: inline; filename=attachment"]).isAttachment, false);
});

test("fields keep their order, and a line without a colon or a name does not stop the reading", () => {
  const { headers, contentId } = read([": no name", "no colon", " folded", "Content-ID: <a@b.test>", "X :y"]);
  assert.deepEqual(
    headers.map(({ key, value }) => [key, value]),
    [
      ["", "no name"],
      ["no colon folded", ""],
      ["content-id", "<a@b.test>"],
      ["x", "y"],
    ],
  );
  assert.equal(contentId, "<a@b.test>");
});

test("text is decoded by its charset, and an unknown or missing charset is no error", () => {
  for (const [type, bytes, text] of [
    ["text/plain; charset=iso-8859-1", [0xfc], "ü"],
    ["text/plain; charset=Windows-1252", [0x80], "€"],
    ["text/plain; charset=koi8-r", [0xc1], "а"],
    ["text/plain; charset=utf-16le", [0x68, 0, 0xe9, 0], "hé"],
    ["text/plain; charset=iso-2022-jp", Buffer.from('\x1b$B$"\x1b(B'), "あ"],
    ["text/plain; charset=", [0xc3, 0xbc], "ü"],
    ["text/plain; charset=no-such-charset", [0xfc, 0x41], "üA"],
    ["text/plain", [0xff], "\ufffd"],
  ] as const)
    assert.equal(read([`Content-Type: ${type}`]).textOf(Uint8Array.from(bytes)), text, type);
});

test("lines of flowed text are joined, except for the separator of a signature", () => {
  const textOf = (parameters: string) =>
    read([`Content-Type: text/plain; format=flowed${parameters}`]).textOf(Buffer.from("a \nb\n-- \nAnn\n"));
  assert.equal(textOf(""), "a b\n-- \nAnn\n");
  assert.equal(textOf("; delsp=yes"), "ab\n-- \nAnn\n");
});

test("folding at any of its blanks does not change what a header says", () => {
  const fields = [
    "Content-Type: multipart/mixed ; charset=utf-8 ; boundary=cut",
    "Content-Disposition: attachment ; x=y ; filename=a.txt",
    "Content-Transfer-Encoding: base64",
  ];
  const { multipart, boundary, isAttachment, filename, encoding } = read(fields);
  assert.deepEqual(
    [multipart, boundary?.toString(), isAttachment, filename, encoding],
    ["mixed", "cut", true, "a.txt", "base64"],
  );
  const folds = fc
    .infiniteStream(fc.boolean())
    .map((isFolded) =>
      fields.flatMap((field) => field.replace(/ /g, (blank) => (isFolded.next().value ? "\n " : blank)).split("\n")),
    );
  fc.assert(
    fc.property(folds, (lines) => {
      const folded = read(lines);
      assert.deepEqual(
        [folded.multipart, folded.boundary, folded.isAttachment, folded.filename, folded.encoding],
        [multipart, boundary, isAttachment, filename, encoding],
      );
    }),
  );
});

test("no header and no body make the reader fail", () => {
  const piece = fc.oneof(
    fc.constantFrom(
      "Content-Type: ",
      "Content-Disposition: ",
      "text/plain",
      "; charset=",
      "; name*0*=",
      "''%",
      "=?utf-8?b?",
      '"',
      "(",
      "\\",
      " ",
    ),
    fc.string({ maxLength: 8 }),
  );
  const line = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join("").replace(/[\r\n]/g, ""));
  fc.assert(
    fc.property(fc.array(line, { maxLength: 8 }), fc.uint8Array({ maxLength: 50 }), (lines, body) => {
      const header = read(lines);
      assert.equal(typeof header.textOf(body), "string");
      assert.equal(typeof header.filename, "string");
    }),
  );
});
