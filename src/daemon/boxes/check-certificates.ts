import { connect } from 'node:tls'
import type { NewAlert } from '../../core/alerts/index.ts'
import { type Clock, plural } from '../../core/kit/index.ts'
import { followCondition } from '../alerts/index.ts'
import type { Db } from '../db/index.ts'

export type CertificateDeps = Readonly<{ db: Db; clock: Clock }>

const dayMs = 86_400_000
/** Let's Encrypt and others renew 30 days before the end: half of that has passed without success. */
const soonMs = 14 * dayMs
const urgentMs = 3 * dayMs
const timeoutMs = 10_000
const parallel = 20

type Certificate = Readonly<{ slug: string; endsMs: number }>

/**
 * Reads the certificate of the public address of every live box, and raises an alert for each that ends soon, and another one when its end is near.
 * An address that does not answer is counted, because it may be reachable for users only; its alert stays.
 */
export async function checkCertificates(deps: CertificateDeps, signal: AbortSignal): Promise<string> {
  const rows = await deps.db.selectFrom('boxes').select(['slug', 'public_url']).where('live', '=', 1).orderBy('slug').execute()
  const addresses = rows.filter(({ public_url }) => public_url.startsWith('https:'))
  const found: Certificate[] = []
  const next = addresses[Symbol.iterator]()
  const reader = async () => {
    for (const { slug, public_url } of next) {
      if (signal.aborted) return
      const endsMs = await endOfCertificate(new URL(public_url), signal).catch(() => undefined)
      if (endsMs !== undefined) found.push({ slug, endsMs })
    }
  }
  await Promise.all(Array.from({ length: parallel }, reader))
  signal.throwIfAborted()
  const read = new Set(found.map(({ slug }) => slug))
  const silent = new Set(addresses.map(({ slug }) => slug).filter((slug) => !read.has(slug)))
  const ending = await followEnds(deps, { found, silent })
  return `read ${plural(found.length, 'certificate')}, ${ending} end soon${silent.size > 0 ? `, ${plural(silent.size, 'address does', 'addresses do')} not answer` : ''}`
}

type Read = Readonly<{ found: readonly Certificate[]; silent: ReadonlySet<string> }>

/** Returns how many end soon. */
async function followEnds(deps: CertificateDeps, { found, silent }: Read): Promise<number> {
  const nowMs = deps.clock.now().getTime()
  const ending = found.filter(({ endsMs }) => endsMs - nowMs < soonMs).toSorted((a, b) => a.endsMs - b.endsMs)
  const isUrgent = ({ endsMs }: Certificate) => endsMs - nowMs < urgentMs
  const common = { kind: 'certificate_expiring', isUnknown: (slug: string) => silent.has(slug) } as const
  const alertsOf = (some: readonly Certificate[], severity: 'warning' | 'critical') =>
    some.map((one) => ({ ...endingAlert(one, nowMs), severity }))
  const [urgent, soon] = [ending.filter(isUrgent), ending.filter((one) => !isUrgent(one))]
  await followCondition(deps, { ...common, name: 'urgent', present: alertsOf(urgent, 'critical'), because: 'the certificate was renewed' })
  const because = 'the certificate was renewed, or ends within 3 days, which is an alert of its own'
  await followCondition(deps, { ...common, name: 'soon', present: alertsOf(soon, 'warning'), because })
  return ending.length
}

/** When the certificate that the server presents ends, also an untrusted one. Rejects when none is presented. */
const endOfCertificate = ({ hostname, port }: URL, signal: AbortSignal): Promise<number> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port || 443), servername: hostname, rejectUnauthorized: false })
    const end = (error?: Error) => {
      socket.destroy()
      reject(error ?? new Error('no certificate'))
    }
    socket.setTimeout(timeoutMs, () => end(new Error('no answer')))
    signal.addEventListener('abort', () => end(), { once: true })
    socket.once('error', end)
    socket.once('secureConnect', () => {
      const endsMs = Date.parse(socket.getPeerCertificate().valid_to ?? '')
      if (Number.isNaN(endsMs)) return end()
      resolve(endsMs)
      socket.destroy()
    })
  })

function endingAlert({ slug, endsMs }: Certificate, nowMs: number): Omit<NewAlert, 'kind'> {
  const days = Math.floor((endsMs - nowMs) / dayMs)
  return {
    subject: slug,
    title: days < 0 ? `The certificate of ${slug} has ended` : `The certificate of ${slug} ends in ${plural(days, 'day')}`,
    body:
      'Once a certificate has ended, apps refuse the connection: users cannot reach the chat. Whatever renews certificates on the proxy in front of ' +
      'this box has not done so; renew it there. The next check is at 06:20.',
    command: 'tenantry crons run box-certificates',
  }
}
