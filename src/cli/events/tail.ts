import type { EventRecord } from '../../core/events/index.ts'
import { isProblem, printable, problem } from '../../core/kit/index.ts'
import { type Context, command, count, flag, type Style, text } from '../kit/index.ts'

export const tail = command('tail', 'Follow stored events until Ctrl-C', {
  options: {
    tenant: text('--tenant <slug>', 'only events of this tenant'),
    type: text('--type <type>', 'event type, such as space.created; a trailing * matches a prefix'),
    last: count('--last <count>', 'number of earlier events to show first (default 10, max 500)', 0),
    follow: flag('--no-follow', 'print the earlier events and exit'),
  },
  run: async ({ json, stdout, style, ...context }, { tenant, type, last = 10, follow }) => {
    const write = (record: EventRecord) => stdout.write(`${json ? JSON.stringify(record) : eventLine(record, style())}\n`)
    const input = { last, ...(tenant === undefined ? {} : { tenant }), ...(type === undefined ? {} : { type }) }
    if (follow) return followEvents(context, input, write)
    const earlier = await context.api.events.tailEvents({ query: { ...input, follow: 'false' } }, { signal: context.signal })
    for await (const { data } of earlier) write(data)
  },
  view: () => '',
  examples: ['tail --tenant anna-schule', "tail --type 'rollout.*' --json", "tail --type 'snapshot.*' --last 1 --no-follow"],
})

type Deps = Pick<Context, 'api' | 'clock' | 'signal' | 'url'>
type Filter = Readonly<{ tenant?: string; type?: string; last: number }>

/** Max wait for a daemon that restarts. */
const maxOfflineMs = 15 * 60_000
const retryMs = 2000
/** Overlap requested after a lost connection: a transaction may commit events with an earlier time. */
const overlapMs = 60_000
const maxRemembered = 5000

/** Prints each event once, across lost connections. */
async function followEvents(
  { api, clock, signal, url }: Deps,
  { last, ...filter }: Filter,
  print: (record: EventRecord) => void,
): Promise<void> {
  const seen = new Set<string>()
  let from: { last: number } | { since: string } = { last }
  let connectedAt = clock.monotonicMs()
  while (!signal.aborted) {
    try {
      const records = await api.events.tailEvents({ query: { ...filter, ...from } }, { signal })
      connectedAt = clock.monotonicMs()
      from = { since: new Date(clock.now().getTime() - overlapMs).toISOString() }
      for await (const { data } of records) {
        if (isNew(seen, data)) print(data)
        from = { since: new Date(Date.parse(data.at) - overlapMs).toISOString() }
      }
    } catch (error) {
      if (signal.aborted) return
      if (isProblem(error) && !error.retryable) throw error
    }
    if (clock.monotonicMs() - connectedAt > maxOfflineMs) throw problem('UNREACHABLE', `${url} has not answered for 15 minutes`)
    await clock.sleep(retryMs, signal)
  }
}

function isNew(seen: Set<string>, { stream, seq }: EventRecord): boolean {
  const key = `${stream} ${seq}`
  if (seen.has(key)) return false
  seen.add(key)
  if (seen.size > maxRemembered) seen.delete(seen.values().next().value as string)
  return true
}

/** One line: time, stream, type, box, status and step of a rollout, ids, audience. The id of a rollout is its stream. */
function eventLine({ at, tenant, stream, seq, type, ids, audience, ...progress }: EventRecord, { paint }: Pick<Style, 'paint'>): string {
  const whose = tenant ?? stream
  const { box, status, step } = progress
  const about = [
    ...(box === undefined ? [] : [`box=${box}`]),
    ...(status === undefined ? [] : [`status=${status}`]),
    ...(step === undefined ? [] : [`step=${step}`]),
    ...Object.entries(ids).flatMap(([name, id]) => (stream === `rollout:${id}` ? [] : [`${name}=${id}`])),
  ]
  const recipients = audience === 'none' ? [] : [paint.dim(`audience: ${printable(audience)}`)]
  const time = paint.dim(printable(at).slice(0, 19).replace('T', ' '))
  return [time, `${printable(whose)} #${seq}`, printable(type), ...about.map(printable), ...recipients].join('  ')
}
