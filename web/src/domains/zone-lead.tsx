/** Where to add the records: the zone, its provider, and what is special about the provider's form. */
import { Anchor } from "@mantine/core";
import type { DnsProvider } from "../../../src/gen/v1/domain_pb.ts";

export function ZoneLead({ zone, provider }: { zone: string; provider: DnsProvider | undefined }) {
  return (
    <>
      Add these records in the DNS zone <strong>{zone}</strong>
      {provider ? (
        <>
          , which is hosted at <strong>{provider.name}</strong> (
          <Anchor href={provider.dnsUrl} target="_blank" rel="noreferrer" inherit>
            open its DNS page
          </Anchor>
          ).
        </>
      ) : (
        "."
      )}
    </>
  );
}

export function Quirks({ provider }: { provider: DnsProvider | undefined }) {
  if (!provider || provider.quirks.length === 0) return null;
  return (
    <p className="quirks">
      <strong>{provider.name}:</strong> {provider.quirks.join(" ")}
    </p>
  );
}
