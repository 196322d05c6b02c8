#!/bin/sh
# Installs Patroni, etcd and PostgreSQL from Debian for `npm run faults -- --only Patroni`, without starting their services. Run it as root.
set -eu
export DEBIAN_FRONTEND=noninteractive
if [ -e /usr/sbin/policy-rc.d ]; then
  echo "/usr/sbin/policy-rc.d exists: remove it, or install postgresql, patroni, python3-etcd and etcd-server yourself" >&2
  exit 1
fi
trap 'rm -f /usr/sbin/policy-rc.d' EXIT
printf '#!/bin/sh\nexit 101\n' > /usr/sbin/policy-rc.d
chmod +x /usr/sbin/policy-rc.d
apt-get update -qq
apt-get install -y -qq --no-install-recommends postgresql patroni python3-etcd etcd-server
