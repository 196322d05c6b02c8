/** Where a menu opens: below its button, or above it if there is little space below. */

type Box = { left: number; right: number; top: number; bottom: number };

const gapPx = 6;
const marginPx = 8;
/** A menu with less space scrolls within itself, unless there is more space above. */
const enoughPx = 240;

/** The styles of the menu, which has a fixed position. */
export function placeBelow(button: Box, isAtEnd: boolean, view: { width: number; height: number }) {
  const below = view.height - button.bottom - gapPx - marginPx;
  const above = button.top - gapPx - marginPx;
  const isAbove = below < enoughPx && above > below;
  const side = isAtEnd
    ? { left: "auto", right: `${Math.max(marginPx, view.width - button.right)}px` }
    : { left: `${Math.max(marginPx, button.left)}px`, right: "auto" };
  return {
    ...side,
    top: isAbove ? "auto" : `${button.bottom + gapPx}px`,
    bottom: isAbove ? `${view.height - button.top + gapPx}px` : "auto",
    maxHeight: `${isAbove ? above : below}px`,
  };
}
