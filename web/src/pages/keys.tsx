/** API keys: see them, make one, revoke one. */
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useState } from "react";
import { type Key, KeyService } from "../../../src/gen/v1/key_pb.ts";
import { CreateKey } from "../keys/create-key.tsx";
import { KeyCard } from "../keys/key-card.tsx";
import { RevokeKey } from "../keys/revoke-key.tsx";
import { Page } from "../parts/page.tsx";
import { PagedList } from "../parts/paged-list.tsx";
import { Empty } from "../parts/states.tsx";
import { WriteOnly } from "../shell/write-only.tsx";

export function KeysPage() {
  const [isCreating, creation] = useDisclosure(false);
  const [leaving, setLeaving] = useState<Key>();
  const query = useInfiniteQuery(
    KeyService.method.listKeys,
    { pageToken: "", pageSize: 50 },
    { pageParamKey: "pageToken", getNextPageParam: (page) => page.nextPageToken || undefined },
  );
  return (
    <Page
      title="API keys"
      intro="Each program that calls the API carries a key. A key belongs to this workspace; its secret is shown once, when it is made."
      actions={
        <WriteOnly>
          <Button onClick={creation.open}>Create key</Button>
        </WriteOnly>
      }
    >
      <PagedList
        query={query}
        what="the keys"
        label="Keys, newest first"
        keyOf={(key) => key.id}
        row={(key) => <KeyCard subject={key} onRevoke={() => setLeaving(key)} />}
        empty={
          <Empty
            action={
              <WriteOnly>
                <Button onClick={creation.open}>Create the first key</Button>
              </WriteOnly>
            }
          >
            This workspace has no key yet. A program needs one to send.
          </Empty>
        }
      />
      <CreateKey isOpen={isCreating} onClose={creation.close} />
      <RevokeKey subject={leaving} onClose={() => setLeaving(undefined)} />
    </Page>
  );
}
