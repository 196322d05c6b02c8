/** For code that is loaded late: true from the first time on. A dialog stays mounted after it closes, because it returns the focus then. */
import { useRef } from "react";

export function useEver(is: boolean): boolean {
  const ever = useRef(is);
  ever.current ||= is;
  return ever.current;
}
