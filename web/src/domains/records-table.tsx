/** The DNS records of a domain as one table: what to enter at the provider, and what DNS has. The domain page and the shared page show it. */
import { Fragment } from "react";
import type { DnsRecord } from "../../../src/gen/v1/domain_pb.ts";
import { Copyable, CopyButton } from "../parts/copy-button.tsx";
import { Mark } from "../parts/outcome.tsx";
import "./domains.css";
import { purposeOf } from "./labels.ts";
import { purposeName, recordMark, recordRemark, valueToPublish } from "./record-text.ts";

export function RecordsTable(props: { records: { record: DnsRecord; key: string }[]; zone: string; label: string }) {
  const { records, zone, label } = props;
  return (
    <div className="card">
      <table className="table records" aria-label={label}>
        <thead>
          <tr>
            <th scope="col">Status</th>
            <th scope="col">Purpose</th>
            <th scope="col">Type</th>
            <th scope="col">Name in {zone}</th>
            <th scope="col">Value</th>
          </tr>
        </thead>
        <tbody>
          {records.map(({ record, key }) => (
            <RecordRows key={key} record={record} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function RecordRows({ record }: { record: DnsRecord }) {
  const { text, tone } = recordMark(record);
  const purpose = purposeName(record);
  const { why, need } = purposeOf(record.recordType);
  const remark = recordRemark(record);
  return (
    <Fragment>
      <tr className={remark ? "with-remark" : undefined}>
        <td>
          <Mark tone={tone}>{text}</Mark>
        </td>
        <td className="purpose" title={why}>
          {purpose}
          {(need === "recommended" || need === "optional") && <span className="faint small"> {need}</span>}
        </td>
        <td className="mono">
          {record.type}
          {record.priority !== undefined && ` ${record.priority}`}
        </td>
        <td>
          <span className="names">
            <Copyable value={record.nameInZone} name={`the name of ${purpose}`} />
            <span className="full-name" title={record.name}>
              <span className="faint">full</span>
              <CopyButton value={record.name} name={`the full name of ${purpose}`} />
            </span>
          </span>
        </td>
        <td>
          <Copyable value={valueToPublish(record)} name={`the value of ${purpose}`} />
        </td>
      </tr>
      {remark && (
        <tr className="remark">
          <td />
          <td colSpan={4} className="wrap">
            {remark.found !== "" && (
              <>
                <span className="faint">Found </span>
                <code className="mono">{remark.found}</code>.{" "}
              </>
            )}
            {remark.text}
          </td>
        </tr>
      )}
    </Fragment>
  );
}
