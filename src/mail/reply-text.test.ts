import assert from "node:assert/strict";
import { test } from "node:test";
import { newTextOf } from "./reply-text.ts";

const cases: [name: string, text: string, newText: string][] = [
  ["a reply above the quote", "Yes.\n\nOn Mon, 2 Nov 2026, Ann wrote:\n> Coming?\n", "Yes."],
  [
    "an introduction wrapped over two lines",
    "Yes.\n\nOn Mon, 2 Nov 2026 at 10:00, Ann\n<ann@there.test> wrote:\n> Coming?",
    "Yes.",
  ],
  ["replies between the quoted lines", "On Monday Ann wrote:\n> One?\nYes.\n> Two?\nNo.", "Yes.\nNo."],
  ["a quote without a reply", "On Monday Ann wrote:\n> One?", ""],
  ["Outlook's header block in bold", "Fine.\n\n**From:** Ann\n**Sent:** Monday\n**To:** Bob\n\nold", "Fine."],
  ["Chinese with a full-width colon", "好的。\n\n王伟 于2026年11月2日写道：\n> 来吗?", "好的。"],
  ["Chinese with an ASCII colon", "好的。\n\n王伟 于2026年11月2日写道:\n> 来吗?", "好的。"],
  ["Polish without a colon", "Tak.\n\nDnia 2 listopada 2026 Ann napisała\n> Idziesz?", "Tak."],
  ["an introduction inside a quote", "Sure.\n> On Monday Bob wrote:\n> > x", "Sure."],
  [
    "a sentence that only resembles an introduction",
    "On balance, what she wrote: fine\nand more",
    "On balance, what she wrote: fine\nand more",
  ],
  ["an empty text", "", ""],
];

for (const [name, text, newText] of cases)
  test(`new text of a reply: ${name}`, () => assert.equal(newTextOf(text), newText));
