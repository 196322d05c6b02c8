/** Whether the recipients of an email are on the suppression list, and the button that removes one. */
import { createQueryOptions, useMutation, useTransport } from "@connectrpc/connect-query";
import { Button, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQueries } from "@tanstack/react-query";
import { type Suppression, SuppressionService } from "../../../src/gen/v1/suppression_pb.ts";
import { invalidate } from "../api/query-client.ts";
import { Confirm } from "../parts/confirm.tsx";
import { WriteOnly } from "../shell/write-only.tsx";

/** One call for each address: an email rarely has more recipients with a problem. */
const mostAddresses = 10;
const pollMs = 15_000;

/** By address: the entry on the list, or null if there is none. Addresses that were not looked up are missing. */
export function useSuppressions(addresses: readonly string[]): ReadonlyMap<string, Suppression | null> {
  const transport = useTransport();
  return useQueries({
    queries: addresses.slice(0, mostAddresses).map((address) => ({
      ...createQueryOptions(
        SuppressionService.method.listSuppressions,
        { search: address, pageSize: 100 },
        { transport },
      ),
      refetchInterval: pollMs,
      retry: false,
    })),
    combine: (results) =>
      new Map(
        results.flatMap(({ data }, n): [string, Suppression | null][] => {
          if (!data) return [];
          const address = addresses[n]!;
          return [[address, data.data.find((one) => isSame(one.address, address)) ?? null]];
        }),
      ),
  });
}

function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

export function RemoveSuppression({ address }: { address: string }) {
  const [isConfirming, confirming] = useDisclosure(false);
  const removal = useMutation(SuppressionService.method.removeSuppression, {
    onSuccess() {
      confirming.close();
      void invalidate(SuppressionService.method.listSuppressions);
    },
  });
  return (
    <WriteOnly>
      <Button
        variant="default"
        size="xs"
        aria-label={`Remove suppression of ${address}`}
        onClick={() => {
          removal.reset();
          confirming.open();
        }}
      >
        Remove suppression
      </Button>
      <Confirm
        isOpen={isConfirming}
        title="Remove this suppression?"
        confirmLabel="Remove suppression"
        cancelLabel="Keep suppression"
        isPending={removal.isPending}
        error={removal.error}
        onConfirm={() => removal.mutate({ address })}
        onClose={confirming.close}
      >
        <Text>
          Posthorn will send to <strong>{address}</strong> again. If the mailbox does not exist, or its owner does not
          want your mail, this harms your sender reputation.
        </Text>
      </Confirm>
    </WriteOnly>
  );
}
