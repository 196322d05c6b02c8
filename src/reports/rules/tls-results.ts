/** What the result types of TLS reports mean for the owner of a receiving domain (RFC 8460 §4.3). Called by wire.ts. */

const explanations: Readonly<Record<string, string>> = {
  "starttls-not-supported": "The mail server did not offer STARTTLS. Check that the MX record leads to this service.",
  "certificate-host-mismatch": "The certificate does not have the name of the MX host. Check POSTHORN_TLS_CERT.",
  "certificate-expired": "The certificate of the mail server has expired. Renew it.",
  "certificate-not-trusted":
    "The sender does not trust the certificate's issuer. Use a certificate of a public authority.",
  "validation-failure": "The TLS session failed for a reason that the sender does not know in detail.",
  "tlsa-invalid": "The TLSA records do not match the certificate. Publish records for the new certificate first.",
  "dnssec-invalid": "The DNSSEC signatures of the domain or of the MX host are not valid. Check the zone's signatures.",
  "dane-required": "The sender requires DANE, but found no usable TLSA records.",
  "sts-policy-fetch-error": "The sender could not fetch the MTA-STS policy. Check the host mta-sts of the domain.",
  "sts-policy-invalid": "The MTA-STS policy is not valid. Check its syntax.",
  "sts-webpki-invalid": "The web server of the MTA-STS policy has no certificate that the sender trusts.",
};

/** Results of other types are counted under this one. */
export const otherResult = "other";

/** RFC 8460 §4.3 registers these types. Others are a stranger's text. */
export function knownResult(type: string): string {
  return Object.hasOwn(explanations, type) ? type : otherResult;
}

export function explainTls(type: string): string {
  return explanations[type] ?? "The sender reported a failure of a kind that is not standardized.";
}
