import assert from "node:assert/strict";
import { test } from "node:test";
import { newTextOf } from "./reply-text.ts";

const cases: [name: string, text: string, wanted: string][] = [
  ["an answer above", "Yes.\n\nOn Mon, 2 Nov 2026, Ann wrote:\n> Coming?\n", "Yes."],
  [
    "an introduction over two lines",
    "Yes.\n\nOn Mon, 2 Nov 2026 at 10:00, Ann\n<ann@there.test> wrote:\n> Coming?",
    "Yes.",
  ],
  ["answers between the lines", "On Monday Ann wrote:\n> One?\nYes.\n> Two?\nNo.", "Yes.\nNo."],
  ["a quotation without an answer", "On Monday Ann wrote:\n> One?", ""],
  ["Outlook's block in bold", "Fine.\n\n**From:** Ann\n**Sent:** Monday\n**To:** Bob\n\nold", "Fine."],
  ["Chinese with its own colon", "好的。\n\n王伟 于2026年11月2日写道：\n> 来吗?", "好的。"],
  ["Chinese with ours", "好的。\n\n王伟 于2026年11月2日写道:\n> 来吗?", "好的。"],
  ["Polish without a colon", "Tak.\n\nDnia 2 listopada 2026 Ann napisała\n> Idziesz?", "Tak."],
  ["an introduction inside a quotation", "Sure.\n> On Monday Bob wrote:\n> > x", "Sure."],
  [
    "words that only look like one",
    "On balance, what she wrote: fine\nand more",
    "On balance, what she wrote: fine\nand more",
  ],
  ["nothing", "", ""],
];

for (const [name, text, wanted] of cases) test(name, () => assert.equal(newTextOf(text), wanted));
