/** The keys that work on every page: Ctrl-K and `/` search, `?` lists the keys, and `g` with a letter opens a section. */
import { useRouter } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { groups } from "./sections.tsx";

/** How long a letter may follow `g`. */
const chordMs = 1500;

export type GlobalKeys = { onSearch(): void; onHelp(): void };

export function useGlobalKeys({ onSearch, onHelp }: GlobalKeys): void {
  const router = useRouter();
  const begunAt = useRef(Number.NEGATIVE_INFINITY);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        onSearch();
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const follows = performance.now() - begunAt.current < chordMs;
      begunAt.current = event.key === "g" ? performance.now() : Number.NEGATIVE_INFINITY;
      const section = follows && allSections.find(({ letter }) => letter === event.key);
      if (section) void router.navigate({ to: section.to });
      else if (event.key === "/") onSearch();
      else if (event.key === "?") onHelp();
      else return;
      event.preventDefault();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [router, onSearch, onHelp]);
}

const allSections = groups.flatMap(({ links }) => [...links]);

/** Letters belong to the field that has the focus, and to an open dialog. */
function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    target.closest("input, textarea, select, [contenteditable], [role=dialog]") !== null
  );
}
