/** DNS providers by the names of their name servers: where a person edits records there, and what their forms do. Called by wire.ts. */
import { canonicalName } from "../../dns/record.ts";

export type DnsProvider = {
  id: string;
  name: string;
  /** The page where the zone's records are edited. */
  dnsUrl: string;
  /** Sentences about the provider's form. */
  quirks: string[];
};

type KnownProvider = Omit<DnsProvider, "dnsUrl"> & {
  /** The end of the name servers' names. */
  servers: RegExp;
  /** `{zone}` stands for the zone. */
  url: string;
};

const appends = "The zone is added to the name automatically: enter the name without it.";
const proxy = 'Set new records to "DNS only": the proxy (orange cloud) breaks DKIM.';
const unquoted = "Paste TXT values without quotation marks.";
const quoted = "Put TXT values in quotation marks.";
const splits = "Split a TXT value longer than 255 characters into several quoted strings.";
const dot = "End CNAME and MX values with a dot: otherwise the zone is added to the value.";
const mxField = "An MX record has a field of its own for the priority: do not repeat it in the value.";
const mxInValue = "Enter an MX value with its priority in front, such as 10 mail.example.com.";
const atForApex = "Enter @ for the zone itself.";
const emptyForApex = "Leave the name empty for the zone itself.";

const known: readonly KnownProvider[] = [
  {
    id: "cloudflare",
    name: "Cloudflare",
    servers: /\.ns\.cloudflare\.com$/,
    url: "https://dash.cloudflare.com/?to=/:account/{zone}/dns/records",
    quirks: [proxy, appends, unquoted],
  },
  {
    id: "route53",
    name: "Amazon Route 53",
    servers: /\.awsdns-\d+\.(com|net|org|co\.uk)$/,
    url: "https://console.aws.amazon.com/route53/v2/hostedzones",
    quirks: [appends, quoted, splits, mxInValue],
  },
  {
    id: "godaddy",
    name: "GoDaddy",
    servers: /\.domaincontrol\.com$/,
    url: "https://dcc.godaddy.com/control/dnsmanagement?domainName={zone}",
    quirks: [appends, atForApex, unquoted],
  },
  {
    id: "namecheap",
    name: "Namecheap",
    servers: /\.registrar-servers\.com$/,
    url: "https://ap.www.namecheap.com/Domains/DomainControlPanel/{zone}/advancedns",
    quirks: [appends, atForApex, 'MX records are under "Mail settings": choose "Custom MX" first.'],
  },
  {
    id: "hetzner",
    name: "Hetzner",
    servers: /\.hetzner\.(com|de)$|\.(first|second)-ns\.(com|de)$/,
    url: "https://console.hetzner.com/",
    quirks: [appends, dot, quoted],
  },
  {
    id: "ovh",
    name: "OVHcloud",
    servers: /\.(ovh\.(net|ca)|anycast\.me)$/,
    url: "https://www.ovh.com/manager/#/web/domain/{zone}/zone",
    quirks: [appends, dot],
  },
  {
    id: "gandi",
    name: "Gandi",
    servers: /\.gandi\.net$/,
    url: "https://admin.gandi.net/domain/",
    quirks: [appends, dot, atForApex],
  },
  {
    id: "google",
    name: "Google Cloud DNS or Squarespace",
    servers: /\.(googledomains\.com|squarespacedns\.com)$/,
    url: "https://account.squarespace.com/domains",
    quirks: ["For Google Cloud DNS, open the zone in the Google Cloud console instead.", appends, splits],
  },
  {
    id: "digitalocean",
    name: "DigitalOcean",
    servers: /\.digitalocean\.com$/,
    url: "https://cloud.digitalocean.com/networking/domains/{zone}",
    quirks: [appends, atForApex, dot],
  },
  {
    id: "azure",
    name: "Azure DNS",
    servers: /\.azure-dns\.(com|net|org|info)$/,
    url: "https://portal.azure.com/#browse/Microsoft.Network%2FdnsZones",
    quirks: [appends, unquoted, mxField],
  },
  {
    id: "ionos",
    name: "IONOS",
    servers: /\.ui-dns\.(com|de|biz|org)$/,
    url: "https://my.ionos.com/domain-dns-settings/{zone}",
    quirks: [appends, atForApex, unquoted],
  },
  {
    id: "netlify",
    name: "Netlify or NS1",
    servers: /\.nsone\.net$/,
    url: "https://app.netlify.com/teams/-/dns",
    quirks: ["For NS1, open the zone in the NS1 portal instead.", appends],
  },
  {
    id: "vercel",
    name: "Vercel",
    servers: /\.vercel-dns(-\d+)?\.com$/,
    url: "https://vercel.com/dashboard/domains",
    quirks: [appends, emptyForApex],
  },
  {
    id: "dnsimple",
    name: "DNSimple",
    servers: /\.dnsimple(-edge)?\.(com|net|org|io)$/,
    url: "https://dnsimple.com/dashboard",
    quirks: [appends, emptyForApex, unquoted],
  },
  {
    id: "porkbun",
    name: "Porkbun",
    servers: /\.porkbun\.com$/,
    url: "https://porkbun.com/account/domainsSpeedy",
    quirks: [appends, emptyForApex, unquoted],
  },
  {
    id: "name-com",
    name: "Name.com",
    servers: /\.name\.com$/,
    url: "https://www.name.com/account/domain/details/{zone}#dns",
    quirks: [appends, emptyForApex],
  },
  {
    id: "njalla",
    name: "Njalla",
    servers: /\.njalla\.(no|in|fo)$/,
    url: "https://njal.la/domains/{zone}/",
    quirks: [appends, atForApex],
  },
  {
    id: "bunny",
    name: "Bunny DNS",
    servers: /\.bunny\.net$/,
    url: "https://dash.bunny.net/dns",
    quirks: [appends, emptyForApex],
  },
  {
    id: "linode",
    name: "Linode (Akamai)",
    servers: /\.linode\.com$/,
    url: "https://cloud.linode.com/domains",
    quirks: [appends, emptyForApex, unquoted],
  },
  {
    id: "desec",
    name: "deSEC",
    servers: /\.desec\.(io|org)$/,
    url: "https://desec.io/domains/{zone}",
    quirks: [appends, emptyForApex, dot, quoted],
  },
];

export const providerIds: readonly string[] = known.map(({ id }) => id);

/** The provider of most of the name servers. Undefined: none is known. */
export function providerOf(zone: string, nameServers: readonly string[]): DnsProvider | undefined {
  const names = nameServers.map((name) => `.${canonicalName(name)}`);
  const counts = known.map((one) => names.filter((name) => one.servers.test(name)).length);
  const most = Math.max(...counts);
  const found = most > 0 ? known[counts.indexOf(most)] : undefined;
  if (found === undefined) return undefined;
  const { id, name, quirks } = found;
  return { id, name, quirks, dnsUrl: found.url.replace("{zone}", encodeURIComponent(zone)) };
}
