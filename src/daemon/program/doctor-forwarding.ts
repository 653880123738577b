import { duration } from '../../core/kit/index.ts'
import { type Check, type Machine, passed, warning } from '../../node/command-line.ts'

import type { Config } from '../config/index.ts'
import { readUntrusted, type Untrusted } from '../edge/index.ts'
import { trustOf } from '../http/index.ts'

const name = 'forwarding'
const keptMs = 7 * 24 * 60 * 60_000

/** Whose word counts for who a client is: of nobody, limits and locks take all users of a proxy for one; of everybody, anyone can be anyone. */
export async function forwarding({ clock }: Pick<Machine, 'clock'>, config: Config): Promise<Check> {
  const { trustedProxies, dataDir, baseUrl } = config
  const trusts = trustOf(trustedProxies)
  const anybody = ['203.0.113.1', '2001:db8::1'].some(trusts)
  if (anybody)
    return warning(
      name,
      'the word of any address counts: every client can be another',
      'list your proxies alone in TENANTRY_TRUSTED_PROXIES',
    )
  const seen = await readUntrusted(dataDir)
  const agoMs = seen && clock.now().getTime() - Date.parse(seen.at)
  if (seen && agoMs !== undefined && agoMs < keptMs && !trusts(seen.peer)) return ignored(seen, agoMs)
  if (trustedProxies.length > 0) return passed(name, `believed from ${trustedProxies.join(', ')}`)
  if (baseUrl.startsWith('https:')) return warning(name, 'behind a TLS proxy all users count as its one address', mendOf('<its address>'))
  return passed(name, 'nobody is believed to speak for others')
}

const mendOf = (peer: string) => `if your proxy is ${peer}: TENANTRY_TRUSTED_PROXIES=${peer}`

const ignored = ({ peer, header }: Untrusted, agoMs: number): Check =>
  warning(
    name,
    `${peer} sent ${header} ${duration(Math.max(agoMs, 0))} ago and is no trusted proxy: it was ignored`,
    `${mendOf(peer)}; if it is none of yours, somebody tried to be another`,
  )
