/** The token of a link that led here. It comes in the fragment, so that it reaches no log, and leaves the address at once. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { auth, type LinkKind } from "../api/auth.ts";

export function useLinkToken(): string | undefined {
  const [token, setToken] = useState(tokenInAddress);
  useEffect(() => {
    // A link opened in the tab that shows this page already changes the fragment alone.
    const look = () => setToken((before) => tokenInAddress() ?? before);
    addEventListener("hashchange", look);
    return () => removeEventListener("hashchange", look);
  }, []);
  useEffect(() => {
    if (token) history.replaceState(history.state, "", location.pathname);
  }, [token]);
  return token;
}

function tokenInAddress(): string | undefined {
  return new URLSearchParams(location.hash.slice(1)).get("token") ?? undefined;
}

/** What a link is for. */
export function useLink(token: string | undefined) {
  return useQuery({
    // The token itself must not become part of what is kept.
    queryKey: ["auth", "link", location.pathname],
    queryFn: () => auth<LinkKind>("link", { token }),
    enabled: token !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  });
}
