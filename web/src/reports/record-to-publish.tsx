/** A TXT record to publish, with its name as the DNS provider expects it. */
import type { Domain } from "../../../src/gen/v1/domain_pb.ts";
import "../domains/domains.css";
import { zoneOf } from "../domains/summary.ts";
import { Copyable, CopyButton } from "../parts/copy-button.tsx";
import { nameInZone } from "./progress.ts";

export function RecordToPublish(props: { domain: Domain; name: string; value: string; purpose: string }) {
  const { domain, name, value, purpose } = props;
  const zone = zoneOf(domain);
  return (
    <dl className="record" aria-label={`Record to publish: ${purpose}`}>
      <div>
        <dt>Type</dt>
        <dd className="mono">TXT</dd>
      </div>
      <div>
        <dt>Name in {zone}</dt>
        <dd className="names">
          <Copyable value={nameInZone(name, zone)} name={`the name of ${purpose}`} />
          <span className="full-name" title={name}>
            <span className="faint">full</span>
            <CopyButton value={name} name={`the full name of ${purpose}`} />
          </span>
        </dd>
      </div>
      <div>
        <dt>Value</dt>
        <dd>
          <Copyable value={value} name={`the value of ${purpose}`} />
        </dd>
      </div>
    </dl>
  );
}
