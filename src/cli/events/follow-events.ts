import type { EventRecord } from '../../core/events/index.ts'
import { isProblem, problem } from '../../core/kit/index.ts'
import type { Context } from '../kit/index.ts'

type Deps = Pick<Context, 'api' | 'clock' | 'signal' | 'url'>
type Wanted = Readonly<{ tenant: string | undefined; type: string | undefined; last: number }>

/** A daemon that restarts is waited for this long. */
const patienceMs = 15 * 60_000
const pauseMs = 2000
/** After a lost connection so much is asked for again: transactions may have been open for a while. */
const overlapMs = 60_000
const mostRemembered = 5000

/** Tells each event once, across lost connections. */
export async function followEvents(
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
