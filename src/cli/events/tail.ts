import type { EventRecord } from '../../core/events/index.ts'
import { isProblem, printable, problem } from '../../core/kit/index.ts'
import { type Context, command, count, type Style, text } from '../kit/index.ts'

export const tail = command(
  'tail',
  'Follow events as they are stored, until Ctrl-C',
  {
    tenant: text('--tenant <slug>', 'of one tenant only'),
    type: text('--type <type>', 'one type, such as space.created; a * at the end takes all that begin so'),
    last: count('--last <count>', 'begin with so many of the newest (default: 10, at most 500)', 0),
  },
  async ({ json, stdout, style, ...context }, { tenant, type, last = 10 }) => {
    const write = (record: EventRecord) => stdout.write(`${json ? JSON.stringify(record) : eventLine(record, style())}\n`)
    await followEvents(context, { tenant, type, last }, write)
  },
  () => '',
  { examples: ['tail --tenant anna-schule', "tail --type 'rollout.*' --json"] },
)

type Deps = Pick<Context, 'api' | 'clock' | 'signal' | 'url'>
type Wanted = Readonly<{ tenant: string | undefined; type: string | undefined; last: number }>

/** A daemon that restarts is waited for this long. */
const patienceMs = 15 * 60_000
const pauseMs = 2000
/** After a lost connection so much is asked for again: transactions may have been open for a while. */
const overlapMs = 60_000
const mostRemembered = 5000

/** Tells each event once, across lost connections. */
async function followEvents(
  { api, clock, signal, url }: Deps,
  { tenant, type, last }: Wanted,
  tell: (record: EventRecord) => void,
): Promise<void> {
  const filter = { ...(tenant === undefined ? {} : { tenant }), ...(type === undefined ? {} : { type }) }
  const seen = new Set<string>()
  let from: { last: number } | { since: string } = { last }
  let heardAt = clock.monotonicMs()
  while (!signal.aborted) {
    try {
      const records = await api.events.tailEvents({ query: { ...filter, ...from } }, { signal })
      heardAt = clock.monotonicMs()
      from = { since: new Date(clock.now().getTime() - overlapMs).toISOString() }
      for await (const { data } of records) {
        if (isNew(seen, data)) tell(data)
        from = { since: new Date(Date.parse(data.at) - overlapMs).toISOString() }
      }
    } catch (error) {
      if (signal.aborted) return
      if (isProblem(error) && !error.retryable) throw error
    }
    if (clock.monotonicMs() - heardAt > patienceMs) throw problem('UNREACHABLE', `${url} has been away for a quarter of an hour`)
    await clock.sleep(pauseMs, signal)
  }
}

function isNew(seen: Set<string>, { stream, seq }: EventRecord): boolean {
  const key = `${stream} ${seq}`
  if (seen.has(key)) return false
  seen.add(key)
  if (seen.size > mostRemembered) seen.delete(seen.values().next().value as string)
  return true
}

/** One line: when, whose, what, about what, who was told. */
function eventLine({ at, tenant, stream, seq, type, ids, audience }: EventRecord, { paint }: Pick<Style, 'paint'>): string {
  const whose = tenant ?? stream
  const about = Object.entries(ids).map(([name, id]) => `${name}=${id}`)
  const told = audience === 'none' ? [] : [paint.dim(`told: ${printable(audience)}`)]
  const time = paint.dim(printable(at).slice(0, 19).replace('T', ' '))
  return [time, `${printable(whose)} #${seq}`, printable(type), ...about.map(printable), ...told].join('  ')
}
