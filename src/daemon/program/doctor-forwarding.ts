import { duration } from '../../core/kit/index.ts'
import { type Check, type Machine, passed, warning } from '../../node/command-line.ts'

import type { Config } from '../config/index.ts'
import { readUntrusted, type Untrusted } from '../edge/index.ts'
import { trustOf } from '../http/index.ts'

const name = 'forwarding'
const reportedForMs = 7 * 24 * 60 * 60_000

/** Checks the trusted proxies: with none, all users of a proxy share its address; with all, any client can forge its address. */
export async function forwarding({ clock }: Pick<Machine, 'clock'>, config: Config): Promise<Check> {
  const { trustedProxies, dataDir, baseUrl } = config
  const trusts = trustOf(trustedProxies)
  const trustsAny = ['203.0.113.1', '2001:db8::1'].some(trusts)
  if (trustsAny)
    return warning(
      name,
      'every address is a trusted proxy; clients can forge their address',
      'list only your proxies in TENANTRY_TRUSTED_PROXIES',
    )
  const seen = await readUntrusted(dataDir)
  const agoMs = seen && clock.now().getTime() - Date.parse(seen.at)
  if (seen && agoMs !== undefined && agoMs < reportedForMs && !trusts(seen.peer)) return ignored(seen, agoMs)
  if (trustedProxies.length > 0) return passed(name, `trusted proxies: ${trustedProxies.join(', ')}`)
  if (baseUrl.startsWith('https:'))
    return warning(name, 'no trusted proxies configured; behind a TLS proxy all users share its address', fixFor('<its address>'))
  return passed(name, 'no trusted proxies configured')
}

const fixFor = (peer: string) => `if your proxy is ${peer}: TENANTRY_TRUSTED_PROXIES=${peer}`

const ignored = ({ peer, header }: Untrusted, agoMs: number): Check =>
  warning(
    name,
    `${peer} sent ${header} ${duration(Math.max(agoMs, 0))} ago but is not a trusted proxy; the header was ignored`,
    `${fixFor(peer)}; otherwise a client tried to forge its address`,
  )
