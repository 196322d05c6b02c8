/** Decodes the character references of HTML text. html-text.ts and html-tags.ts call it. */

/** The names that occur in email. References with other names stay as they are, like in a browser that does not know them. */
const named: Readonly<Record<string, string>> = Object.fromEntries(
  `amp & lt < gt > quot " apos ' nbsp \u00a0 ensp \u2002 emsp \u2003 thinsp \u2009 shy \u00ad zwnj \u200c zwj \u200d lrm \u200e rlm \u200f
  iexcl ¡ cent ¢ pound £ curren ¤ yen ¥ brvbar ¦ sect § uml ¨ copy © ordf ª laquo « not ¬ reg ® macr ¯ deg ° plusmn ± sup1 ¹ sup2 ² sup3 ³
  acute ´ micro µ para ¶ middot · cedil ¸ ordm º raquo » frac14 ¼ frac12 ½ frac34 ¾ iquest ¿ times × divide ÷
  Agrave À Aacute Á Acirc Â Atilde Ã Auml Ä Aring Å AElig Æ Ccedil Ç Egrave È Eacute É Ecirc Ê Euml Ë Igrave Ì Iacute Í Icirc Î Iuml Ï
  ETH Ð Ntilde Ñ Ograve Ò Oacute Ó Ocirc Ô Otilde Õ Ouml Ö Oslash Ø Ugrave Ù Uacute Ú Ucirc Û Uuml Ü Yacute Ý THORN Þ szlig ß
  agrave à aacute á acirc â atilde ã auml ä aring å aelig æ ccedil ç egrave è eacute é ecirc ê euml ë igrave ì iacute í icirc î iuml ï
  eth ð ntilde ñ ograve ò oacute ó ocirc ô otilde õ ouml ö oslash ø ugrave ù uacute ú ucirc û uuml ü yacute ý thorn þ yuml ÿ
  OElig Œ oelig œ Scaron Š scaron š Yuml Ÿ ndash – mdash — lsquo ‘ rsquo ’ sbquo ‚ ldquo “ rdquo ” bdquo „ lsaquo ‹ rsaquo ›
  bull • hellip … euro € trade ™ larr ← uarr ↑ rarr → darr ↓ harr ↔ minus − le ≤ ge ≥ ne ≠ infin ∞ check ✓ star ☆ starf ★ hearts ♥ dagger † permil ‰`
    .split(/[ \n]+/)
    .flatMap((word, i, words) => (i % 2 === 0 ? [[word, words[i + 1]!]] : [])),
);

/** The characters that a browser shows for the references &#128; to &#159;, by windows-1252. The empty places are not assigned. */
const windows1252 = "€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ";

export function decodeEntities(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(
    // A name before "=" is the parameter of a URL: browsers leave `?a=1&copy=2` as it is.
    /&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([A-Za-z][A-Za-z\d]{1,9})(?![A-Za-z\d=]));?/g,
    (whole, decimal, hex, name) => {
      if (name !== undefined) return Object.hasOwn(named, name) ? named[name]! : whole;
      return characterOf(decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal));
    },
  );
}

function characterOf(code: number): string {
  if (code >= 0x80 && code <= 0x9f) return windows1252[code - 0x80]!.trim() || "\ufffd";
  if (code === 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return "\ufffd";
  return String.fromCodePoint(code);
}
