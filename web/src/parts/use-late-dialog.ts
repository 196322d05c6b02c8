/** For a dialog whose code is loaded when it first opens. */
import { useEffect, useRef } from "react";

/** True from the first opening on: the dialog stays mounted while it closes. Returns the focus to the element that had it before. Mantine
 * does not do so for a dialog that is mounted open. */
export function useLateDialog(isOpen: boolean): boolean {
  const ever = useRef(false);
  const wasOpen = useRef(false);
  const opener = useRef<Element>(null);
  // While rendering: the dialog takes the focus before effects run.
  if (isOpen && !wasOpen.current) opener.current = document.activeElement;
  ever.current ||= isOpen;
  wasOpen.current = isOpen;
  useEffect(() => {
    if (isOpen || !(opener.current instanceof HTMLElement)) return;
    const before = opener.current;
    opener.current = null;
    // The next page may already have the focus.
    if (document.activeElement === document.body || document.activeElement?.closest("[role=dialog]")) before.focus();
  }, [isOpen]);
  return ever.current;
}
