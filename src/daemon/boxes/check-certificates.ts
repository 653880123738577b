import { connect } from 'node:tls'
import { firstOf, type NewAlert } from '../../core/alerts/index.ts'
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
 * Reads the certificate of the public address of every live box, and raises one alert for those that end soon. An address that does not answer
 * is counted: it may be reachable for users only.
 */
export async function checkCertificates(deps: CertificateDeps, signal: AbortSignal): Promise<string> {
  const { db, clock } = deps
  const rows = await db.selectFrom('boxes').select(['slug', 'public_url']).where('live', '=', 1).orderBy('slug').execute()
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
  const nowMs = clock.now().getTime()
  const ending = found.filter(({ endsMs }) => endsMs - nowMs < soonMs).toSorted((a, b) => a.endsMs - b.endsMs)
  const present = ending.length === 0 ? [] : [endingAlert(ending, nowMs)]
  await followCondition(deps, {
    kind: 'certificate_expiring',
    name: 'public',
    present,
    because: 'every certificate that was read is valid for 14 days',
  })
  const silent = addresses.length - found.length
  return `read ${plural(found.length, 'certificate')}, ${ending.length} end soon${silent > 0 ? `, ${plural(silent, 'address does', 'addresses do')} not answer` : ''}`
}

/** When the certificate that the server presents ends, also of one that no authority signed. Rejects when none is presented. */
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

function endingAlert(ending: readonly Certificate[], nowMs: number): Omit<NewAlert, 'kind'> {
  const [first] = ending
  const daysOf = ({ endsMs }: Certificate) => Math.floor((endsMs - nowMs) / dayMs)
  const words = ending.map((one) => `${one.slug} ${daysOf(one) < 0 ? '(ended)' : `(${plural(daysOf(one), 'day')})`}`)
  return {
    subject: 'certificates',
    severity: first && first.endsMs - nowMs < urgentMs ? 'critical' : 'warning',
    title: ending.length === 1 ? `The certificate of ${first?.slug} ends soon` : `The certificates of ${ending.length} boxes end soon`,
    body:
      `Left: ${firstOf(words, 20)}.\n` +
      'Once a certificate has ended, apps refuse the connection: users cannot reach the chat. Whatever renews certificates on the proxy in front of ' +
      'these boxes has not done so; renew them there. The next check is at 06:20.',
    command: 'tenantry crons run box-certificates',
  }
}
