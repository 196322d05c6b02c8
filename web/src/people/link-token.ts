/** The token of a link from an email. It is in the URL's fragment, so that no server logs it, and is removed from the URL immediately. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { auth, type LinkKind } from "../api/auth.ts";

export function useLinkToken(): string | undefined {
  const [token, setToken] = useState(tokenInAddress);
  useEffect(() => {
    // Opening a link in a tab that already shows this page changes only the fragment.
    const readToken = () => setToken((before) => tokenInAddress() ?? before);
    addEventListener("hashchange", readToken);
    return () => removeEventListener("hashchange", readToken);
  }, []);
  useEffect(() => {
    if (token) history.replaceState(history.state, "", location.pathname);
  }, [token]);
  return token;
}

function tokenInAddress(): string | undefined {
  return new URLSearchParams(location.hash.slice(1)).get("token") ?? undefined;
}

/** Fetches what a link is for: sign-up, invitation or password reset. */
export function useLink(token: string | undefined) {
  return useQuery({
    // The token is not part of the key, because keys stay in the cache.
    queryKey: ["auth", "link", location.pathname],
    queryFn: () => auth<LinkKind>("link", { token }),
    enabled: token !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
  });
}
