/** Says where passkeys work, on a page whose address cannot use them. */
import { Anchor, Code, Text } from "@mantine/core";
import { canUsePasskeys } from "../api/passkey.ts";

export function PasskeyHint({ origin, path }: { origin: string | null | undefined; path: string }) {
  if (canUsePasskeys(origin) || origin === undefined) return null;
  if (origin === location.origin)
    return (
      <Text size="sm" c="dimmed">
        This browser does not support passkeys.
      </Text>
    );
  return (
    <Text size="sm" c="dimmed" className="wrap">
      {origin === null ? (
        <>
          Passkeys need a host name and https: the operator sets <Code>POSTHORN_PUBLIC_URL</Code>.
        </>
      ) : (
        <>
          Passkeys need a host name. To use one, open <Anchor href={`${origin}${path}`}>{origin}</Anchor>.
        </>
      )}
    </Text>
  );
}
