import type { BoxRow } from './contract.ts'
import type { HealthState } from './health.ts'

/** The state of a box in one word, in every view: its health once it is set up. */
export function boxState(box: BoxRow): string {
  if (box.status !== 'ready') return box.status
  if (box.moving && box.moving.state !== 'confirming' && box.moving.state !== 'removing') return 'moving'
  if (box.heldBy?.startsWith('import:')) return 'importing'
  return box.health?.state ?? 'unknown'
}

/**
 * How many live boxes serve their users, and which do not: `58 of 59 chats run; down: linden; not known: buche`. Chats of which nothing is known are
 * in neither number.
 */
export function healthSentence(boxes: readonly Pick<BoxRow, 'slug' | 'health'>[]): Readonly<{ isGood: boolean; text: string }> {
  const live = boxes.flatMap(({ slug, health }) => (health ? [{ slug, state: health.state }] : []))
  const count = (state: HealthState) => live.filter((box) => box.state === state).length
  const counts = {
    running: count('running'),
    degraded: count('degraded'),
    down: count('down'),
    maintenance: count('maintenance'),
    unknown: count('unknown'),
  }
  const others = worstFirst.flatMap((state) => {
    const slugs = live.filter((box) => box.state === state).map(({ slug }) => slug)
    return slugs.length === 0 ? [] : [`${otherWords[state]}: ${slugs.slice(0, maxNamed).join(', ')}${more(slugs.length - maxNamed)}`]
  })
  const chats = chatsText(counts)
  if (live.length > 0 && counts.unknown === live.length) return { isGood: false, text: `${chats}: ${others[0]?.replace(/^.*: /, '')}` }
  return { isGood: others.length === 0, text: [chats, ...others].join('; ') }
}

/** Users of a degraded box can write, so its chat runs. */
export function chatsText({ unknown, running, degraded, ...closed }: Readonly<Record<HealthState, number>>): string {
  const [run, stopped] = [running + degraded, closed.down + closed.maintenance]
  const known = run + stopped
  if (known === 0 && unknown > 0) return `whether ${unknown === 1 ? 'the chat runs' : `the ${unknown} chats run`} is not known`
  if (stopped === 0) return known === 1 ? 'the chat runs' : `all ${known} chats run`
  return `${run} of ${known} chats run`
}

const maxNamed = 5
const more = (left: number): string => (left > 0 ? ` and ${left} more` : '')
const worstFirst = ['down', 'degraded', 'unknown', 'maintenance'] as const satisfies readonly HealthState[]
const otherWords = { down: 'down', degraded: 'degraded', unknown: 'not known', maintenance: 'maintenance' } as const
