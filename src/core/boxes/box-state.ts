import type { BoxRow } from './contract.ts'
import type { HealthState } from './health.ts'

/** The state of a box in one word, in every view: its health once it is set up. */
export function boxState(box: BoxRow): string {
  if (box.status !== 'ready') return box.status
  if (box.moving && box.moving.state !== 'confirming' && box.moving.state !== 'removing') return 'moving'
  if (box.heldBy?.startsWith('import:')) return 'importing'
  return box.health?.state ?? 'unknown'
}

/** How many live boxes serve their users, and which do not: `58 of 60 chats run; down: linden, ahorn; unknown: buche`. */
export function healthSentence(boxes: readonly Pick<BoxRow, 'slug' | 'health'>[]): Readonly<{ isGood: boolean; text: string }> {
  const live = boxes.flatMap(({ slug, health }) => (health ? [{ slug, state: health.state }] : []))
  const running = live.filter(({ state }) => state === 'running').length
  if (running === live.length) return { isGood: true, text: live.length === 1 ? 'the chat runs' : `all ${live.length} chats run` }
  const others = worstFirst.flatMap((state) => {
    const slugs = live.filter((box) => box.state === state).map(({ slug }) => slug)
    return slugs.length === 0 ? [] : [`${state}: ${slugs.slice(0, maxNamed).join(', ')}${more(slugs.length - maxNamed)}`]
  })
  return { isGood: false, text: [`${running} of ${live.length} chats run`, ...others].join('; ') }
}

const maxNamed = 5
const more = (left: number): string => (left > 0 ? ` and ${left} more` : '')
const worstFirst = ['down', 'degraded', 'unknown', 'maintenance'] as const satisfies readonly HealthState[]
